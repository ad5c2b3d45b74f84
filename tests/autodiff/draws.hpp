// Matrices for tests of derivatives, and how far two are apart.
#pragma once
#include <algorithm>
#include <random>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace wp {

inline Tensor normal(const Dims& shape, unsigned seed) {
  std::mt19937_64 g(seed);
  std::normal_distribution<double> d;
  std::int64_t n = 1;
  for (const std::int64_t k : shape) n *= k;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = d(g);
  return Tensor::from(v, shape);
}

}  // namespace wp
