// Inverting a matrix that has no inverse: wellposed refuses, and says why.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor a{{1.0, 1.0}, {1.00001, 1.00001}};
  try {
    std::cout << wp::linalg::inv(a) << '\n';
  } catch (const wp::SingularMatrix& error) {
    std::cout << error.what() << "\n\n";
    const wp::linalg::Member& found = error.diagnosis()[0];
    std::cout << "exactly singular: " << (found.exactly_singular ? "yes" : "no") << ", rank " << found.rank << '\n';
    std::cout << "null vector: " << found.null_vector << "\n\n";
  }
  // A matrix that only looks as if it had none.
  const wp::Tensor b{{1.0, 1.0}, {1.00001, 1.00002}};
  const auto [inverse, diagnosis] = wp::linalg::diagnosed::inv(b);
  std::cout << inverse << '\n' << diagnosis << '\n';
}
