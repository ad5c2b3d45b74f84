// What becomes of singular values in pseudo-inverses and Tikhonov's solutions.
#pragma once
#include <cmath>
#include <vector>

namespace wp::linalg {

// 2^e/σ where σ > threshold, else 0.
inline std::vector<double> truncated(const std::vector<double>& sigma, double threshold, int e = 0) {
  std::vector<double> out;
  for (const double s : sigma) out.push_back(s > threshold ? 1 / std::ldexp(s, -e) : 0);
  return out;
}
// σ/(σ² + λ), without overflow of the squares. Values that are rounding beside the largest are none: λ may be so
// small that σ/λ is not. u: the unit round-off that they were computed with.
inline double least_filtered(const std::vector<double>& sigma, double u = 0x1p-53) {
  return sigma.empty() ? 0 : static_cast<double>(sigma.size()) * u * sigma[0];
}
inline std::vector<double> tikhonov(const std::vector<double>& sigma, double ridge, double u = 0x1p-53) {
  std::vector<double> out;
  const double root = std::sqrt(ridge), least = least_filtered(sigma, u);
  for (const double s : sigma) {
    const double h = std::hypot(s, root);
    out.push_back(h > 0 && s > least ? s / h / h : 0);
  }
  return out;
}
// The effective degrees of freedom Σ σ²/(σ² + λ).
inline double freedom(const std::vector<double>& sigma, double ridge) {
  const std::vector<double> filter = tikhonov(sigma, ridge);
  double sum = 0;
  for (std::size_t i = 0; i < filter.size(); ++i) sum += filter[i] * sigma[i];
  return sum;
}

}  // namespace wp::linalg
