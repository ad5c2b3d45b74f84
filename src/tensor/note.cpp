#include "tensor/note.hpp"

#include <cmath>

#include "base/text.hpp"
#include "kernels/convert.hpp"
#include "kernels/scan.hpp"
#include "kernels/types.hpp"

namespace wp {

Dims unravel(std::int64_t element, const Dims& shape) {
  Dims index(shape.size(), 0);
  for (std::size_t k = shape.size(); k-- > 0;) {
    index[k] = element % shape[k];
    element /= shape[k];
  }
  return index;
}

std::int64_t offset_of(const Tensor& t, std::int64_t element) noexcept {
  if (t.is_contiguous()) return element;
  std::int64_t offset = 0;
  for (std::size_t k = t.shape().size(); k-- > 0;) {
    offset += element % t.shape()[k] * t.strides()[k];
    element /= t.shape()[k];
  }
  return offset;
}

complex128 value_at(const Tensor& t, std::int64_t element) noexcept {
  complex128 v;
  kernels::convert(&v, c128, t.node()->data + offset_of(t, element) * static_cast<std::int64_t>(size_of(t.dtype())),
                   t.dtype(), 1, 1);
  return v;
}

bool nonfinite_at(const Tensor& t, std::int64_t element) noexcept {
  if (!is_floating(t.dtype())) return false;
  const complex128 v = value_at(t, element);
  return !std::isfinite(v.real()) || !std::isfinite(v.imag());
}
bool nan_at(const Tensor& t, std::int64_t element) noexcept {
  if (!is_floating(t.dtype())) return false;
  const complex128 v = value_at(t, element);
  return std::isnan(v.real()) || std::isnan(v.imag());
}

std::int64_t next_nonfinite(const Tensor& t, std::int64_t from) {
  if (!is_floating(t.dtype())) return -1;
  if (t.is_contiguous()) return kernels::first_nonfinite(t.dtype(), t.node()->data, from, t.size());
  for (std::int64_t e = from; e < t.size(); ++e)
    if (nonfinite_at(t, e)) return e;
  return -1;
}

std::string entry_text(std::string_view name, const Tensor& t, std::int64_t element) {
  return say(name, t.ndim() ? say(unravel(element, t.shape())) : std::string(), " = ", text_at(t, element));
}

std::string text_at(const Tensor& t, std::int64_t element) {
  const char* at = t.node()->data + offset_of(t, element) * static_cast<std::int64_t>(size_of(t.dtype()));
  return kernels::with_type(t.dtype(), [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    const T v = *reinterpret_cast<const T*>(at);
    if constexpr (std::is_same_v<T, Half>)
      return say(kernels::half_value(v.bits));
    else if constexpr (std::is_same_v<T, BFloat16>)
      return say(kernels::bfloat16_value(v.bits));
    else
      return say(v);
  });
}

namespace {

struct Leaving {
  std::int64_t first = -1, count = 0;
  const Origin* origin = nullptr;  // null: given
};

Leaving find(const Tensor& t, Counts counts) {
  const Note* note = t.node()->note.get();
  Leaving found;
  for (std::int64_t e = 0; e < t.size(); ++e) {
    const bool bad = nonfinite_at(t, e);
    const Origin* origin = note ? note->of(e, bad) : nullptr;
    if (!origin && !(bad && counts == Counts::made_and_given)) continue;
    if (found.count++ == 0) {
      found.first = e;
      found.origin = origin;
    }
  }
  return found;
}

}  // namespace

void escape(const Tensor& t, std::string_view sink, Counts counts, Place place, const Whole* whole) {
  const CheckLevel level = context().level;
  if (level == CheckLevel::off || (!t.node()->note && counts == Counts::made)) return;
  if (!t.node()->note && (!is_floating(t.dtype()) ||
                          (t.is_contiguous() && !kernels::any_nonfinite(t.dtype(), t.node()->data, t.size()))))
    return;
  const Leaving found = find(t, counts);
  if (found.count == 0) return;
  Finding f;
  if (found.origin) f = found.origin->finding;  // operands, advice, dtype and shape of the op that made it
  f.code = "WP-ESC-001";
  f.severity = level == CheckLevel::warn ? Severity::warning : Severity::error;
  f.count = found.count;
  f.element = whole ? whole->index(found.first) : unravel(found.first, t.shape());
  const std::string value = text_at(t, found.first);
  std::string where =
      t.ndim() ? say(" at element ", f.element, " of ", whole ? whole->shape : t.shape()) : std::string();
  if (found.count > 1 && !whole) where += say(" (", found.count, " of ", t.size(), " elements)");
  f.op = sink;
  if (found.origin) {
    const Finding& o = found.origin->finding;
    f.message = say(value, where, " leaves the computation.\n  Source: ", o.op, ": ", o.message);
    if (o.place.known()) f.message += " (" + o.place.text() + (o.scope.empty() ? "" : ", scope " + o.scope) + ")";
  } else {
    f.message = say(value, where, " was given to the computation (no op made it).");
    f.advice = "Look at the data or parameters that came in.";
    f.dtype = name(t.dtype());
    f.shape = say(t.shape());
  }
  f.place = place;
  f.scope = current_scope();
  f.step = context().step;
  if (level == CheckLevel::warn)
    report(f);
  else
    throw NonFiniteError(std::move(f), std::make_shared<const Subject>(Subject{t, found.first}));
}

}  // namespace wp
