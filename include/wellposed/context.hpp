// What surrounds a computation on this thread: scope names, check level, step, and who is told about findings.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wellposed/error.hpp"

namespace [[gnu::visibility("default")]] wp {

// off: nothing is looked for. escape: an Inf or NaN that an op makes is noted, and raised where it leaves the
// computation. warn: warns where it is made and where it leaves. raise: raises where it is made.
enum class CheckLevel : std::uint8_t { off, escape, warn, raise };
CheckLevel parse_check_level(std::string_view text);
std::string_view name(CheckLevel level) noexcept;

class Observer;       // ops/dispatch.hpp
class SummaryWriter;  // wellposed/summary.hpp
struct ScopeName;     // an interned path; lives as long as the process

// The op that runs, and the line that asked for it.
struct Running {
  const char* op = nullptr;
  const Place* place = nullptr;
};

// Somebody who sees every op; the innermost is first in the list.
struct Listener {
  Observer* observer;
  Listener* outer;
};

struct Context {
  const ScopeName* scope = nullptr;
  std::int64_t step = -1;
  CheckLevel level = CheckLevel::escape;
  bool allow_nonfinite = false;
  bool saw_nonfinite = false;  // set by every op whose loop meets a result that is not finite
  Listener* listeners = nullptr;
  const Running* running = nullptr;
  SummaryWriter* summaries = nullptr;  // the innermost writer
  bool untold = false;                 // findings are of calls that nobody made: a derivative's, at other values
  const Running* rule = nullptr;  // the op whose derivative is computed: its line is the line of every op of the rule
};
// This thread's context; the thread pool hands the caller's to its workers.
Context& context() noexcept;

namespace detail {
// Puts back what one field of the context was when it was made.
template <auto Field>
class [[nodiscard]] Restore {
 public:
  Restore() : saved_(context().*Field) {}
  ~Restore() { context().*Field = saved_; }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  std::remove_reference_t<decltype(context().*Field)> saved_;
};
}  // namespace detail

// Sets the check level until the returned object dies:  auto quiet = wp::checks("off");
class [[nodiscard]] checks : detail::Restore<&Context::level> {
 public:
  explicit checks(CheckLevel level) { context().level = level; }
  explicit checks(std::string_view level) : checks(parse_check_level(level)) {}
};

// Names what is computed while it lives. Nested scopes join: "train/layer2".
class [[nodiscard]] scope : detail::Restore<&Context::scope> {
 public:
  explicit scope(std::string_view name);
};
std::string current_scope();

// Inf and NaN made while it lives are meant: they are not noted.
class [[nodiscard]] allow_nonfinite : detail::Restore<&Context::allow_nonfinite> {
 public:
  allow_nonfinite() { context().allow_nonfinite = true; }
};

// Steps number the findings; set_step(n) at the head of a training step.
void set_step(std::int64_t step) noexcept;

// Hands this thread's context to another:  Attach here(parent) as the first line of the thread's function, with
// `const Context parent = wp::context();` taken in the parent. Observers must outlive it.
class [[nodiscard]] Attach {
 public:
  explicit Attach(const Context& parent) : own_(context()) { context() = parent; }
  ~Attach() { context() = own_; }
  Attach(const Attach&) = delete;
  Attach& operator=(const Attach&) = delete;

 private:
  Context own_;
};

// Warnings and recorded findings go to the handler (default: stderr, once per place). Returns the handler before.
using FindingHandler = std::function<void(const Finding&)>;
FindingHandler on_finding(FindingHandler handler);
// The most recent findings of the process (at most 1000), oldest first; clear_findings() forgets them.
std::vector<Finding> findings();
void clear_findings();
// Records a finding and tells the handler.
void report(const Finding& finding);

}  // namespace gnu::visibility("default")]]wp
