// A thousand matrices, one of them singular: the other 999 inverses are kept.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  wp::Tensor a = wp::broadcast_to(wp::Tensor{{4.0, 1.0}, {2.0, 3.0}}, {1000, 2, 2});
  a[{17}] = wp::Tensor{{1.0, 1.0}, {1.00001, 1.00001}};
  try {
    std::cout << wp::linalg::inv(a).at(0) << '\n';
  } catch (const wp::SingularMatrix& error) {
    std::cout << error.what() << "\n\n";
    const wp::Tensor kept = error.value()[0];
    std::cout << "kept: " << wp::sum(wp::all(wp::isfinite(kept), {.axis = {1, 2}})) << " of 1000\n\n";
  }
  // Or say before what should become of it: the singular one by truncated SVD.
  const auto [inverse, diagnosis] = wp::linalg::diagnosed::inv(a, {.if_ill = "pinv"});
  std::cout << diagnosis << '\n' << inverse.at(17) << '\n';
}
