// Procrustes: the rotation that brings one cloud of points onto another, found by descent through the polar factor.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const auto key = 7;
  const wp::Tensor points = wp::random::normal({200, 3}, key, 0);
  const wp::Tensor turn = wp::linalg::qr(wp::random::normal({3, 3}, key, 1000)).Q;
  const wp::Tensor seen = wp::matmul(points, turn) + 0.01 * wp::random::normal({200, 3}, key, 2000);

  wp::Tensor m = wp::eye(3);  // all singular values are equal: the worst point to start from
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    wp::GradientTape tape;
    tape.watch(m);
    const auto [u, s, vh] = wp::linalg::svd(m);
    const wp::Tensor rotation = wp::matmul(u, vh);
    const wp::Tensor error = wp::mean(wp::square(wp::matmul(points, rotation) - seen));
    loss = error.item<double>();
    m = m - tape.gradient(error, m);
  }
  const auto best = wp::linalg::svd(wp::matmul(wp::matrix_transpose(points), seen));  // in closed form
  const wp::Tensor exact = wp::mean(wp::square(wp::matmul(points, wp::matmul(best.U, best.Vh)) - seen));
  const double ratio = loss / exact.item<double>();
  std::cout << "mean square error " << (ratio < 1.0001 ? "is that" : "is not that") << " of the best rotation: "
            << "about " << wp::round(exact * 1e6).item<double>() << "e-6\n";
}
