// An assertion in front of what follows it, and a log(0) three layers before the loss that shows it.
#include <iostream>

#include "wellposed/wellposed.hpp"

wp::Tensor process_tensor(const wp::Tensor& tensor) {
  return wp::assert_finite(wp::log(tensor), "log of the input") * 2;
}

wp::Tensor layer(const wp::Tensor& x, const char* name) {
  const wp::scope here(name);
  return wp::tanh(wp::matmul(x, wp::full({4, 4}, 0.25)));
}

int main() {
  try {
    std::cout << process_tensor(wp::Tensor{1.0, 2.0, 0.0, 4.0}) << '\n';
  } catch (const wp::NonFiniteError& e) {
    std::cout << e.what() << "\n\n";
  }

  const wp::Trace trace;
  const wp::scope model("model");
  const wp::Tensor x{{1.0, 2.0, 3.0, 4.0}, {5.0, 6.0, 0.0, 8.0}};
  const wp::Tensor features = wp::log(x) - wp::log(x + 1);
  const wp::Tensor loss = wp::mean(layer(layer(features * wp::Tensor{0.0, 1.0, 0.0, 1.0}, "first"), "second"));
  try {
    std::cout << loss.item<double>() << '\n';
  } catch (const wp::NonFiniteError& e) {
    std::cout << wp::blame(e).text() << '\n';
  }
}
