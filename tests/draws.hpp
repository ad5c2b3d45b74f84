// How well draws follow a distribution. Keys in the tests are fixed: a test that passes once passes always.
// Thresholds are those that a right sampler exceeds for about one key in 1000.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "wellposed/random.hpp"

namespace wp::random {

inline constexpr std::int64_t kMany = 1000000;

inline std::vector<double> values(const Tensor& t) {
  return t.to_vector<double>();
}

// √n · sup |F_n − F| (Kolmogorov): beyond 1.95 with probability 0.001. Ties at the dtype's resolution are allowed
// for.
inline double kolmogorov(std::vector<double> x, const std::function<double(double)>& cdf) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(x[i]);
    if (i == 0 || x[i] != x[i - 1]) most = std::max(most, f - static_cast<double>(i) / n);
    if (i + 1 == x.size() || x[i] != x[i + 1]) most = std::max(most, static_cast<double>(i + 1) / n - f);
  }
  return most * std::sqrt(n);
}
inline constexpr double kKolmogorov = 1.95;

// (χ² − degrees) / √(2 degrees): beyond about 3.7 with probability 0.001 (Wilson & Hilferty: less for many degrees).
inline double chi_square(const std::vector<double>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    sum += (seen[i] - expected[i]) * (seen[i] - expected[i]) / expected[i];
  const auto degrees = static_cast<double>(seen.size() - 1);
  return (sum - degrees) / std::sqrt(2 * degrees);
}
inline constexpr double kChiSquare = 4.3;

// (mean − expected) in standard errors.
inline double mean_error(const std::vector<double>& x, double mean, double variance) {
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  const auto n = static_cast<double>(x.size());
  return (sum / n - mean) / std::sqrt(variance / n);
}
inline double power_mean_error(std::vector<double> x, int power, double mean, double variance) {
  for (double& v : x) v = std::pow(v, power);
  return mean_error(x, mean, variance);
}
inline constexpr double kSigmas = 3.3;

inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.node()->data, b.node()->data, a.nbytes()) == 0;
}

}  // namespace wp::random
