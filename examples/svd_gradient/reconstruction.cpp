// A loss of U, S and V together: smooth wherever their product is.
#include <iostream>

#include "wellposed/wellposed.hpp"

wp::Tensor rebuilt(const wp::Tensor& a) {
  const auto [u, s, vh] = wp::linalg::svd(a, {.full_matrices = false});
  return wp::matmul(u * wp::expand_dims(s, {.axis = -2}), vh);
}
wp::Tensor gradient(const wp::Tensor& a, const wp::Tensor& target) {
  wp::GradientTape tape;
  tape.watch(a);
  return tape.gradient(wp::sum(wp::square(rebuilt(a) - target)), a);
}
// |A - U S Vᴴ|² is 0 for every A: so is its gradient, whatever way A takes into it.
double gradient_of_nothing(const wp::Tensor& a) {
  wp::GradientTape tape;
  tape.watch(a);
  return wp::max(wp::abs(tape.gradient(wp::sum(wp::square(a - rebuilt(a))), a))).item<double>();
}

int main() {
  const wp::Tensor t{{1.0, 0.0, 0.0}, {0.5, 1.0, 0.0}, {0.0, 0.5, 1.0}};
  const wp::Tensor ones = wp::ones({3, 3});
  const wp::Tensor tied{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}};
  for (const wp::Tensor& a : {tied, ones, wp::zeros({3, 3})}) {
    const wp::Tensor g = gradient(a, t), exact = 2 * (a - t);
    std::cout << "singular values " << wp::linalg::svdvals(a) << ": gradient\n"
              << wp::round(g * 1e8) / 1e8 + 0.0 << "\nlargest error against 2 (A - T): "
              << (wp::max(wp::abs(g - exact)).item<double>() < 1e-10 ? "below 1e-10" : "too large") << '\n';
  }
  bool nothing = true;
  for (const wp::Tensor& a : {wp::Tensor{{1.0, 2.0}, {3.0, 4.0}}, tied, ones, wp::zeros({3, 3})})
    nothing = nothing && gradient_of_nothing(a) < 1e-13;
  std::cout << "gradient of |A - U S Vᴴ|²: " << (nothing ? "zero at each of them" : "not zero") << '\n';
  // U where V is meant. At a tie the loss has no derivative; elsewhere it has one that depends on arbitrary signs.
  for (const wp::Tensor& a : {tied, wp::Tensor{{1.0, 2.0}, {3.0, 4.0}}}) {
    wp::GradientTape tape;
    tape.watch(a);
    const wp::Tensor loss = wp::sum(wp::linalg::svd(a).U);
    try {
      std::cout << tape.gradient(loss, a, {.verify = true}) << '\n';
    } catch (const wp::GaugeError& e) {
      std::cout << e.what() << '\n';
    }
  }
}
