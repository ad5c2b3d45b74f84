// The way through the singular values: what counts as zero is said, not guessed.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor a{{1.0, 1.0}, {1.00001, 1.00001}};
  const auto [u, s, vh] = wp::linalg::svd(a);
  std::cout << "singular values: " << s << '\n';
  std::cout << "rank, relative threshold of rounding: " << wp::linalg::matrix_rank(a) << '\n';
  std::cout << "rank, absolute threshold 1e-10:       " << wp::linalg::matrix_rank(a, {.atol = 1e-10}) << '\n';

  const auto [inverse, diagnosis] = wp::linalg::diagnosed::pinv(a, {.atol = 1e-10});
  std::cout << inverse << '\n' << diagnosis << '\n';
  // A A⁺ A = A, whatever the rank.
  std::cout << "largest error of A A⁺ A: " << wp::max(wp::abs(wp::matmul(wp::matmul(a, inverse), a) - a)) << '\n';
}
