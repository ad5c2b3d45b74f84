// Regularisation: λ given, or found from the matrix. It never goes through AᵀA, which would square the condition.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor a{{1.0, 1.0}, {1.00001, 1.00001}};
  std::cout << "λ = 1e-6:\n" << wp::linalg::inv(a, {.ridge = 1e-6}) << '\n';

  const auto [found, diagnosis] = wp::linalg::diagnosed::inv(a, {.ridge = "auto"});
  std::cout << "λ = auto:\n" << found << '\n' << diagnosis << '\n';
  const wp::Tensor difference = wp::max(wp::abs(found - wp::linalg::pinv(a)));
  std::cout << "away from the pseudo-inverse by " << difference << '\n';
}
