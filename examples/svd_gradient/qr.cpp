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

  // So it is where singular values repeat, and where R has zeros on its diagonal: without full rank Q is one of many,
  // but the sum does not see it.
  const wp::Tensor tied{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}}, flat{{1.0, 2.0}, {2.0, 4.0}};
  for (const wp::Tensor& x : {tied, flat, wp::zeros({2, 2})}) {
    tape.reset();
    tape.watch(x);
    const auto f = wp::linalg::qr(x);
    const wp::Tensor off = wp::max(wp::abs(tape.gradient(wp::sum(f.R * f.R), x) - 2 * x));
    std::cout << "rank " << wp::linalg::matrix_rank(x).item<std::int64_t>() << " of " << x.shape()[0] << ": "
              << (off.item<double>() < 1e-14 ? "2 A" : "not 2 A") << '\n';
  }
}
