#include "wellposed/assertions.hpp"

#include <cmath>

#include "base/text.hpp"
#include "linalg/rules.hpp"
#include "tensor/note.hpp"
#include "trace/window.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

// `about`: the element that blame begins with, if no one element is wrong.
[[noreturn]] void fail(std::string_view code, std::string_view function, const Tensor& x, std::string message,
                       std::string advice, Place place, std::int64_t element = -1, std::int64_t count = 0,
                       std::int64_t about = -1) {
  Finding f = misuse(code, function, std::move(message), std::move(advice));
  f.dtype = name(x.dtype());
  f.shape = say(x.shape());
  f.place = place;
  f.step = context().step;
  f.count = count;
  if (element >= 0) f.element = unravel(element, x.shape());
  if (element >= 0) about = element;
  throw AssertionError(std::move(f), about >= 0 ? std::make_shared<const Subject>(Subject{x, about}) : nullptr);
}

struct Wrong {
  std::int64_t first = -1, count = 0;
};
template <class Good>
Wrong wrong(const Tensor& x, const Good& good) {
  Wrong w;
  for (std::int64_t e = 0; e < x.size(); ++e)
    if (!good(e) && w.count++ == 0) w.first = e;
  return w;
}

// "; 12 of 600 elements are, from −3 to 9"
std::string extent(const Tensor& x, const Wrong& w) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (std::int64_t e = 0; e < x.size(); ++e) {
    const double v = value_at(x, e).real();
    low = std::fmin(low, v);
    high = std::fmax(high, v);
  }
  return say(" (", w.count, " of ", plural(x.size(), "element"), "; values from ", low, " to ", high, ")");
}

void need_defined(const Tensor& x, std::string_view function, std::string_view name) {
  if (!x.defined()) raise<ArgumentError>("WP-ARG-002", function, say(name, " is undefined."));
}

void check_range(const Tensor& x, double low, double high, std::string_view name, std::string_view code,
                 std::string_view function, Place place) {
  need_defined(x, function, name);
  if (is_complex(x.dtype()))
    raise<DtypeError>("WP-DTY-003", function, say(name, " must be real; it is ", x.dtype(), "."));
  if (x.size() == 0) return;
  {
    const trace::Aside aside;
    const double least = value_at(min(x), 0).real(), most = value_at(max(x), 0).real();
    if (least >= low && most <= high) return;
  }
  const Wrong w = wrong(x, [&](std::int64_t e) {
    const double v = value_at(x, e).real();
    return v >= low && v <= high;
  });
  if (w.count)
    fail(code, function, x,
         say(entry_text(name, x, w.first), " is outside of [", low, ", ", high, "]", extent(x, w), "."),
         "Look at where it comes from (blame), or clip the values if they are only off by rounding.", place, w.first,
         w.count);
}

}  // namespace

Tensor assert_finite(const Tensor& x, std::string_view name, std::source_location where) {
  need_defined(x, "assert_finite", name);
  escape(x, say("assert_finite(", name, ")"), Counts::made_and_given, where);
  return x;
}

Tensor assert_shape(const Tensor& x, const Dims& shape, std::string_view name, std::source_location where) {
  need_defined(x, "assert_shape", name);
  bool good = shape.size() == x.shape().size();
  for (std::size_t k = 0; good && k < shape.size(); ++k) good = shape[k] == -1 || shape[k] == x.shape()[k];
  if (!good)
    fail("WP-AST-001", "assert_shape", x, say(name, " must have the shape ", shape, "; it has ", x.shape(), "."),
         "-1 stands for any length.", where);
  return x;
}

Tensor assert_dims_at_most(const Tensor& x, const Dims& most, std::string_view name, std::source_location where) {
  need_defined(x, "assert_dims_at_most", name);
  bool good = most.size() == x.shape().size();
  for (std::size_t k = 0; good && k < most.size(); ++k) good = x.shape()[k] <= most[k];
  if (!good)
    fail("WP-AST-001", "assert_dims_at_most", x,
         say(name, " may have at most the lengths ", most, "; it has ", x.shape(), "."),
         most.size() == x.shape().size() ? "Take smaller batches, or cut it: x[:n]."
                                         : "There must be as many lengths as axes.",
         where);
  return x;
}

Tensor assert_range(const Tensor& x, double low, double high, std::string_view name, std::source_location where) {
  check_range(x, low, high, name, "WP-AST-002", "assert_range", where);
  return x;
}

Tensor assert_spd(const Tensor& x, std::string_view name, std::source_location where) {
  need_defined(x, "assert_spd", name);
  if (x.ndim() < 2 || x.shape().back() != x.shape()[x.shape().size() - 2])
    fail("WP-AST-001", "assert_spd", x, say(name, " must be square matrices; it has the shape ", x.shape(), "."), "",
         where);
  assert_finite(x, name, where);
  const trace::Aside aside;
  const std::int64_t n = x.shape().back();
  const double rounding = 8 * static_cast<double>(n) * (is_floating(x.dtype()) ? finfo(x.dtype()).eps : 0);
  const bool exact = value_at(all(equal(x, linalg::adjoint(x))), 0).real() != 0;
  const Wrong skew = exact ? Wrong() : wrong(x, [&](std::int64_t e) {
    Dims mirror = unravel(e, x.shape());
    std::swap(mirror[mirror.size() - 1], mirror[mirror.size() - 2]);
    std::int64_t other = 0;
    for (std::size_t k = 0; k < mirror.size(); ++k) other = other * x.shape()[k] + mirror[k];
    const complex128 a = value_at(x, e), b = std::conj(value_at(x, other));
    const std::int64_t block = e - e % (n * n), i = mirror[mirror.size() - 1], j = mirror[mirror.size() - 2];
    const double scale =
        std::sqrt(std::abs(value_at(x, block + i * n + i)) * std::abs(value_at(x, block + j * n + j)));
    return std::abs(a - b) <= rounding * std::fmax(scale, std::abs(a));
  });
  if (skew.count)
    fail("WP-AST-003", "assert_spd", x,
         say(name, " is not symmetric: ", entry_text(name, x, skew.first), " differs from its mirror image (",
             skew.count, " elements do)."),
         "Use (A + matrix_transpose(A)) / 2 if the difference means nothing.", where, skew.first, skew.count);
  const linalg::Diagnosed<Tensor> tried = linalg::diagnosed::cholesky(x);
  for (std::int64_t m = 0; m < tried.diagnosis.size(); ++m)
    if (tried.diagnosis[m].status != linalg::Status::ok &&
        tried.diagnosis[m].status != linalg::Status::ill_conditioned)
      fail("WP-AST-003", "assert_spd", x,
           say(name, tried.diagnosis.size() > 1 ? say(": matrix ", m, " of ", tried.diagnosis.size()) : std::string(),
               " ", tried.diagnosis[m].message),
           "nearest_spd(A) gives the nearest matrix that is.", where);
  return x;
}

namespace {

// The first element of the line of x that a sum along the axis was taken of.
std::int64_t first_of(const Tensor& x, const Tensor& sums, std::int64_t axis, std::int64_t sum) {
  const Dims at = unravel(sum, sums.shape());
  const auto along = static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis);
  std::int64_t e = 0;
  for (std::size_t k = 0; k < x.shape().size(); ++k)
    e = e * x.shape()[k] + (k < along ? at[k] : k == along ? 0 : at[k - 1]);
  return e;
}

}  // namespace

Tensor assert_probability(const Tensor& x, std::int64_t axis, std::string_view name, std::source_location where) {
  need_defined(x, "assert_probability", name);
  if (axis < -x.ndim() || axis >= x.ndim())
    raise_at<IndexError>(where, "WP-IDX-001", "assert_probability",
                         x.ndim() ? say(name, " has no axis ", axis, "; its shape is ", x.shape(), ".")
                                  : say(name, " is one number: there is no axis to sum along."));
  check_range(x, 0, 1, name, "WP-AST-004", "assert_probability", where);
  const trace::Aside aside;
  const Tensor sums = sum(astype(x, f64), {.axis = Dims{axis}});
  const std::int64_t n = x.size() / std::max<std::int64_t>(sums.size(), 1);
  const double rounding = 4 * static_cast<double>(n + 1) * (is_floating(x.dtype()) ? finfo(x.dtype()).eps : 0);
  const Wrong w = wrong(sums, [&](std::int64_t e) { return std::fabs(value_at(sums, e).real() - 1) <= rounding; });
  if (w.count)
    fail("WP-AST-004", "assert_probability", x,
         say("probabilities must sum to 1 along axis ", axis, "; ", entry_text(say("sum of ", name), sums, w.first),
             " (", w.count, " of ", plural(sums.size(), "sum"), " are off)."),
         "softmax gives probabilities; or divide by the sum.", where, -1, w.count,
         x.size() ? first_of(x, sums, axis, w.first) : -1);
  return x;
}

Tensor assert_that(const Tensor& x, const std::function<Tensor(const Tensor&)>& holds, std::string_view rule,
                   std::string_view name, std::source_location where) {
  need_defined(x, "assert_that", name);
  const Tensor answer = [&] {
    const trace::Aside aside;
    return holds(x);
  }();
  const bool each = answer.shape() == x.shape();
  if (answer.dtype() != boolean || !(each || answer.size() == 1))
    raise<ArgumentError>("WP-ARG-001", "assert_that",
                         say("the predicate must give a bool for every element, or one for all; it gave ",
                             answer.dtype(), " ", answer.shape(), "."));
  const Wrong w = wrong(answer, [&](std::int64_t e) { return value_at(answer, e).real() != 0; });
  if (w.count)
    fail("WP-AST-005", "assert_that", x,
         each ? say(rule, ": ", entry_text(name, x, w.first), " does not hold", extent(x, w), ".")
              : say(rule, ": does not hold for ", name, "."),
         "", where, each ? w.first : -1, w.count);
  return x;
}

}  // namespace wp
