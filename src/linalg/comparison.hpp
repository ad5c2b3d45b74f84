// Proved errors of triangular systems.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/residual.hpp"
#include "linalg/judgement.hpp"
#include "linalg/refine.hpp"

namespace wp::linalg {

// A bound of the largest error of X in S X = B, relative to the largest element of each column; infinite if there is
// none. `weights` as for refine, and residual(r, sizes). solve(bound): bound ← M(S)⁻¹ bound, row-major n × columns.
// Triangular systems are often solved far more accurately than their condition says (Higham 2002, §8.2):
// |x − x̂| ≤ M(S)⁻¹ |b − S x̂|, where the comparison matrix M has the moduli of S's diagonal and −|sᵢⱼ| beside it.
// Nothing cancels in substitution with M, so the bound holds whatever the condition is.
template <class T, class Residual, class Solve>
double triangular_error(std::int64_t n, std::int64_t columns, kernels::View<T> x, const std::vector<int>& weights,
                        Residual&& residual, Solve&& solve) {
  using Real = typename kernels::RealOf<T>::type;
  kernels::Buffer<T> r(n * columns);
  kernels::Buffer<Real> sizes(n * columns);
  residual(r.data(), sizes.data());
  // The residual's own error; 4 covers the modulus of complex numbers and the rounding of the bound itself.
  const double m = static_cast<double>(2 * kernels::RealOf<T>::parts * (n + 1) + kernels::kResidualTerms);
  const double gamma = m * m * kUnit<T> * kUnit<T>;
  kernels::Buffer<double> bound(n * columns);
  for (std::int64_t e = 0; e < n * columns; ++e)
    bound.data()[e] = 4 * size_of_number(r.data()[e]) + gamma * static_cast<double>(sizes.data()[e]);
  solve(bound.data());
  double worst = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    double largest = 0, most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double off = bound.data()[i * columns + c];
      if (!std::isfinite(off)) return HUGE_VAL;
      const int weight = weights.empty() ? 0 : weights[static_cast<std::size_t>(i)];
      most = std::max(most, std::ldexp(off, weight));
      largest = std::max(largest, std::ldexp(size_of_number(x.data[i * x.rows + c * x.columns]), weight));
    }
    if (most > 0) worst = std::max(worst, std::isfinite(most) && largest > 0 ? most / largest : HUGE_VAL);
  }
  return worst;
}

// The same with S in one place.
template <class T>
double triangular_error(bool upper, std::int64_t n, std::int64_t columns, kernels::View<T> s, kernels::View<T> b,
                        kernels::View<T> x, const std::vector<int>& weights) {
  using Real = typename kernels::RealOf<T>::type;
  return triangular_error<T>(
      n, columns, x, weights, [&](T* r, Real* sizes) { kernels::residual<T>(n, n, columns, s, x, {}, b, r, sizes); },
      [&](double* bound) {
        kernels::Buffer<double> moduli(n * n);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            moduli.data()[i * n + j] = std::abs(Sum<T>(s.data[i * s.rows + j * s.columns]));
        for (std::int64_t c = 0; c < columns; ++c)
          for (std::int64_t step = 0; step < n; ++step) {
            const std::int64_t i = upper ? n - 1 - step : step;
            const double* const row = moduli.data() + i * n;
            double sum = bound[i * columns + c];
            for (std::int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) sum += row[j] * bound[j * columns + c];
            bound[i * columns + c] = sum / row[i];
          }
      });
}

// Where rcond gives up, what is proved does not.
template <class T>
void take_proved_error(Verdict& v, double error, double min_digits) {
  const double digits = digits_of(std::max(error, kUnit<T>), kUnit<T>);
  if (digits < 1) return;
  v.forward_error = std::max(error, kUnit<T>);
  v.digits = digits;
  v.status = status_of(digits, min_digits, kUnit<T>);
}

}  // namespace wp::linalg
