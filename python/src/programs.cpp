#include "programs.hpp"

#include <mutex>

#include "base/interrupt.hpp"

namespace wp::python {

const Planned& Programs::of(std::string_view program, std::size_t tensors) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto at = known_.find(program); at != known_.end()) return at->second;
  }
  Planned plan{nullptr, {}};
  {
    const nb::gil_scoped_acquire lock;
    const nb::object told = plan_(nb::str(program.data(), program.size()));
    if (!told.is_none())
      if (auto made = plan_of(nb::object(told[0]).ptr(), nb::object(told[1]).ptr(), tensors)) plan = std::move(*made);
  }
  const std::unique_lock lock(mutex_);
  return known_.emplace(std::string(program), std::move(plan)).first->second;
}

void tell_findings_unlocked() {
  if (!findings_wait && !others_wait.load(std::memory_order_relaxed)) [[likely]]
    return;
  const nb::gil_scoped_acquire lock;
  tell_findings();
}

std::string words_of_exception() {
  try {
    throw;
  } catch (nb::python_error& e) {
    const nb::gil_scoped_acquire lock;
    return nb::cast<std::string>(nb::str(e.value()));
  } catch (const std::exception& e) {
    return e.what();
  } catch (const Interrupted&) {
    return "interrupted.";
  }
}

}  // namespace wp::python
