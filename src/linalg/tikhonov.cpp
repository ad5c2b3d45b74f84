#include "linalg/tikhonov.hpp"

#include <cmath>

#include "base/text.hpp"
#include "kernels/each_float.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "kernels/residual.hpp"
#include "linalg/augmented.hpp"
#include "linalg/explain.hpp"
#include "linalg/filters.hpp"
#include "linalg/judgement.hpp"
#include "linalg/movement.hpp"

namespace wp::linalg {
namespace {

template <class T>
Extent extent_of(std::int64_t rows, kernels::View<T> a, std::int64_t column) {
  Extent out;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::complex<double> v(a.data[i * a.rows + column * a.columns]);
    out.length += static_cast<Long>(v.real()) * v.real() + static_cast<Long>(v.imag()) * v.imag();
    out.largest = std::max<Long>({out.largest, std::fabs(v.real()), std::fabs(v.imag())});
  }
  out.length = std::sqrt(out.length);
  return out;
}

}  // namespace

template <class T>
double tikhonov_solution(std::int64_t m, std::int64_t n, std::int64_t k, kernels::View<T> a, const Spectral<T>& svd,
                         double ridge, kernels::View<T> b, kernels::MutableView<T> x) {
  constexpr double u = kUnit<T>;
  svd.apply(svd.tikhonov(ridge), k, b, x);
  const std::vector<double>& sigma = svd.sigma();
  if (sigma.empty() || sigma[0] == 0 || k == 0) return u;
  std::vector<T> rest(static_cast<std::size_t>(m * k));
  kernels::residual<T>(m, n, k, a, x, {nullptr, 1, 1}, b, rest.data(), nullptr);
  const double epsilon = backward_error_of_values(std::max(m, n), u);
  const auto error_by = [&](const Movement& moves) {
    Long worst = u;
    for (std::int64_t j = 0; j < k; ++j) {
      const Extent answer = extent_of<T>(n, x, j), left = extent_of<T>(m, {rest.data(), k, 1}, j),
                   right = extent_of<T>(m, b, j);
      if (right.largest == 0) continue;
      const Long moved = moves(epsilon, u, answer, left, right);
      if (!(moved < answer.largest) && fits_nothing<T>(m, n, a, b, j)) {
        for (std::int64_t i = 0; i < n; ++i) x.data[i * x.rows + j * x.columns] = T(0);
        continue;
      }
      worst = std::max(worst, relative_to_largest(moved, answer));
    }
    return static_cast<double>(std::min(worst, Long(1)));
  };
  const double error = error_by(Movement(sigma, sigma.size(), ridge, n > m, false));
  const std::int64_t kept = svd.rank(least_filtered(sigma, u));
  const bool full = kept == n;
  if (error <= kGoodEnough || full || std::max(m, n) > kExact || kernels::exact_rank<T>(m, n, a) != kept)
    return error;
  return std::min(error, error_by(Movement(sigma, static_cast<std::size_t>(kept), ridge, false, true)));
}

template <class T>
void conclude_ridge(Verdict& v, double error, double min_digits) {
  v.forward_error = error;
  v.digits = digits_of(error, kUnit<T>);
  if (v.status > Status::ill_conditioned) return;
  v.status = std::min(status_of(v.digits, min_digits, kUnit<T>), Status::ill_conditioned);
  if (v.status == Status::ok) return;
  v.reason = say("is ill-conditioned even with λ = ", few_digits(v.ridge), ": ",
                 v.digits >= 1 ? say("about ", std::lround(std::floor(v.digits))) : std::string("no"),
                 " digits of the answer can be vouched for.");
}

#define WP_INSTANTIATE(T)                                                                                           \
  template double tikhonov_solution(std::int64_t, std::int64_t, std::int64_t, kernels::View<T>, const Spectral<T>&, \
                                    double, kernels::View<T>, kernels::MutableView<T>);                             \
  template void conclude_ridge<T>(Verdict&, double, double);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
