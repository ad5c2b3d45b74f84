// The sum of singular values has the gradient U Vᴴ, also where singular values repeat; where they vanish it has a
// kink.
#include <iostream>

#include "wellposed/wellposed.hpp"

void show(const char* name, const wp::Tensor& a) {
  wp::GradientTape tape;
  tape.watch(a);
  const auto [u, s, vh] = wp::linalg::svd(a);
  const wp::Tensor g = tape.gradient(wp::sum(s), a);
  std::cout << name << ", rank " << wp::linalg::matrix_rank(a) << ":\n" << wp::round(g * 1e8) / 1e8 << '\n';
  const wp::Tensor off = wp::max(wp::abs(g - wp::matmul(u, vh)));
  if (tape.findings().empty()) std::cout << (off.item<double>() < 1e-14 ? "It is U Vᴴ.\n" : "It is not U Vᴴ.\n");
  for (const wp::Finding& f : tape.findings()) std::cout << f.text() << '\n';
}

int main() {
  wp::on_finding([](const wp::Finding&) {});  // they are printed here
  show("[[1, 2], [3, 4]]", wp::Tensor{{1.0, 2.0}, {3.0, 4.0}});
  show("diag(2, 2, 1)", wp::Tensor{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}});
  show("rank 1", wp::Tensor{{1.0, 2.0}, {2.0, 4.0}});
  show("rank 0", wp::Tensor{{0.0, 0.0}, {0.0, 0.0}});
}
