#include "linalg/condition_number.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "linalg/bounds.hpp"
#include "linalg/explain.hpp"
#include "linalg/judgement.hpp"
#include "linalg/quad.hpp"
#include "linalg/spectral.hpp"
#include "linalg/stack.hpp"

namespace wp::linalg {

template <class T>
ConditionNumber condition_number(std::int64_t m, std::int64_t n, kernels::View<T> a, const std::vector<double>& sigma,
                                 double enough) {
  const double rounding = growth_of_errors(std::max(m, n)) * kUnit<T>;
  ConditionNumber out{sigma[0] / sigma.back(), 0};
  out.error = std::min(1.0, rounding * out.mantissa);
  if (!(out.error > enough) || m != n) return out;
  const std::optional<QuadInverse<T>> inverse = quad_inverse<T>(n, a);
  if (!inverse) return out;
  const Spectral<T> svd(n, n, {inverse->x.data(), n, 1}, Parts::values);
  if (svd.status() != Status::ok) return out;
  return {sigma[0] * svd.scaled_sigma()[0], std::min(1.0, rounding + inverse->error),
          -kernels::prescale_exponent<T>(n, n, a) - inverse->power -
              kernels::prescale_exponent<T>(n, n, {inverse->x.data(), n, 1}),
          true};
}

template <class T>
double conclude_condition(const ConditionNumber& found, std::int64_t longest, DType dtype, Verdict& v) {
  v.forward_error = found.error;
  if (found.by_elimination) v.method = Method::quad_lu;
  v.digits = digits_of(v.forward_error, kUnit<T>);
  if (v.forward_error >= 1) {
    v.status = Status::ill_conditioned;
    v.reason = say("has a condition of ", few_digits(1 / (growth_of_errors(longest) * kUnit<T>)),
                   " or more: no digit of its least singular value is sure beside the largest.");
  } else if (found.value() > largest_number(dtype)) {
    v.status = Status::overflow;
    v.reason = say("has a condition beyond the range of ", dtype, ", and not infinite: its logarithm to base 10 is ",
                   few_digits(found.log10()), ".");
  }
  return found.value();
}

#define WP_INSTANTIATE(T)                                                                 \
  template ConditionNumber condition_number(std::int64_t, std::int64_t, kernels::View<T>, \
                                            const std::vector<double>&, double);          \
  template double conclude_condition<T>(const ConditionNumber&, std::int64_t, DType, Verdict&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
