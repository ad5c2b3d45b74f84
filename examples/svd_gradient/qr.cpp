// The way through QR: not an approximation of the SVD, but a function with a gradient of its own.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor a{{1.0, 2.0}, {3.0, 4.0}};
  wp::GradientTape tape({.persistent = true});
  tape.watch(a);
  const auto [q, r] = wp::linalg::qr(a);
  const wp::Tensor loss = wp::sum(wp::abs(wp::linalg::diagonal(r)));
  std::cout << "sum of |diag R| = " << loss << ", its gradient:\n" << tape.gradient(loss, a) << '\n';
  // ΣR² = ‖A‖², whose gradient is 2 A.
  std::cout << "gradient of the sum of R²:\n" << tape.gradient(wp::sum(r * r), a) << '\n';

  const wp::Tensor flat{{1.0, 2.0}, {2.0, 4.0}};  // no full rank: R has a zero on its diagonal
  tape.reset();
  tape.watch(flat);
  const auto f = wp::linalg::qr(flat);
  std::cout << "without full rank, still 2 A:\n" << tape.gradient(wp::sum(f.R * f.R), flat) << '\n';
}
