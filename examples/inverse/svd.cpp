// The way through the singular values: what counts as zero is said, not guessed.
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor a{{1.0, 1.0}, {1.00001, 1.00001}};
  const auto [u, s, vh] = wp::linalg::svd(a);
  std::cout << "singular values: " << s << '\n';
  const double most = s.at(0).item<double>(), least = s.at(1).item<double>();
  std::printf(
      "the least one, %.0e or less, is below the relative threshold 2 eps σ₁ = %.1e and the absolute one, 1e-10\n",
      std::max(least, 1e-16), 2 * wp::finfo(wp::f64).eps * most);
  std::cout << "rank, relative threshold of rounding: " << wp::linalg::matrix_rank(a) << '\n';
  std::cout << "rank, absolute threshold 1e-10:       " << wp::linalg::matrix_rank(a, {.atol = 1e-10}) << '\n';

  const auto [inverse, diagnosis] = wp::linalg::diagnosed::pinv(a, {.atol = 1e-10});
  std::cout << inverse << '\n' << diagnosis << '\n';
  // A A⁺ A = A, whatever the rank.
  std::cout << "largest error of A A⁺ A: " << wp::max(wp::abs(wp::matmul(wp::matmul(a, inverse), a) - a)) << '\n';
}
