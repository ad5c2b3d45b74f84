#include "linalg/condition_number.hpp"

#include <algorithm>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "linalg/bounds.hpp"
#include "linalg/judgement.hpp"
#include "linalg/quad.hpp"
#include "linalg/spectral.hpp"

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

#define WP_INSTANTIATE(T)                                                                 \
  template ConditionNumber condition_number(std::int64_t, std::int64_t, kernels::View<T>, \
                                            const std::vector<double>&, double);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
