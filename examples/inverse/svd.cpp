// The way through the singular values: what counts as zero is said, not guessed.
#include <cstdio>
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor a{{1.0, 1.0}, {1.00001, 1.00001}};
  const auto [u, s, vh] = wp::linalg::svd(a);
  const double most = s.at(0).item<double>(), least = s.at(1).item<double>();
  const double relative = 2 * wp::finfo(wp::f64).eps * most;
  const auto answer = [](bool yes) { return yes ? "yes" : "no"; };
  std::printf("singular values: %.5f, and one of rounding: below 2 eps σ₁ = %.1e %s, below 1e-10 %s\n", most,
              relative, answer(least < relative), answer(least < 1e-10));
  std::cout << "rank, relative threshold of rounding: " << wp::linalg::matrix_rank(a) << '\n';
  std::cout << "rank, absolute threshold 1e-10:       " << wp::linalg::matrix_rank(a, {.atol = 1e-10}) << '\n';

  const auto [inverse, diagnosis] = wp::linalg::diagnosed::pinv(a, {.atol = 1e-10});
  std::cout << inverse << '\n' << diagnosis << '\n';
  // A A⁺ A = A, whatever the rank.
  const wp::Tensor error = wp::max(wp::abs(wp::matmul(wp::matmul(a, inverse), a) - a));
  std::printf("A A⁺ A = A to 15 digits: %s\n", answer(error.item<double>() < 1e-15));
}
