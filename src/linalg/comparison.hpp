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
// none. `weights` as for refine.
// Triangular systems are often solved far more accurately than their condition says (Higham 2002, §8.2):
// |x − x̂| ≤ M(S)⁻¹ |b − S x̂|, where the comparison matrix M has the moduli of S's diagonal and −|sᵢⱼ| beside it.
// Nothing cancels in substitution with M, so the bound holds whatever the condition is.
template <class T>
double triangular_error(bool upper, std::int64_t n, std::int64_t columns, kernels::View<T> s, kernels::View<T> b,
                        kernels::View<T> x, const std::vector<int>& weights) {
  using Real = typename kernels::RealOf<T>::type;
  kernels::Buffer<T> r(n * columns);
  kernels::Buffer<Real> sizes(n * columns);
  kernels::residual<T>(n, n, columns, s, x, {}, b, r.data(), sizes.data());
  // The residual's own error; 4 covers the modulus of complex numbers and the rounding of the bound itself.
  const double m = static_cast<double>(2 * kernels::RealOf<T>::parts * (n + 1) + kernels::kResidualTerms);
  const double gamma = m * m * kUnit<T> * kUnit<T>;
  kernels::Buffer<double> moduli(n * n), bound(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      moduli.data()[i * n + j] = std::abs(Sum<T>(s.data[i * s.rows + j * s.columns]));
  double worst = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    double largest = 0, most = 0;
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t i = upper ? n - 1 - step : step, e = i * columns + c;
      const double* const row = moduli.data() + i * n;
      double sum = 4 * size_of_number(r.data()[e]) + gamma * static_cast<double>(sizes.data()[e]);
      for (std::int64_t j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) sum += row[j] * bound.data()[j];
      bound.data()[i] = sum / row[i];
      if (!std::isfinite(bound.data()[i])) return HUGE_VAL;
      const int weight = weights.empty() ? 0 : weights[static_cast<std::size_t>(i)];
      most = std::max(most, std::ldexp(bound.data()[i], weight));
      largest = std::max(largest, std::ldexp(size_of_number(x.data[i * x.rows + c * x.columns]), weight));
    }
    if (most > 0) worst = std::max(worst, std::isfinite(most) && largest > 0 ? most / largest : HUGE_VAL);
  }
  return worst;
}

}  // namespace wp::linalg
