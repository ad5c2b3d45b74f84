// where() drops log(0), forward and backward: what is masked does not poison the gradient.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor x{1.0, 0.0, 4.0};
  wp::GradientTape tape({.persistent = true});
  tape.watch(x);
  const wp::Tensor y = wp::log(x);
  const wp::Tensor loss = wp::sum(wp::where(x > 0, y, 0.0));
  std::cout << "gradient of the masked loss: " << tape.gradient(loss, x) << '\n';

  // Multiplying by a mask does not drop anything: 0 times inf is NaN, and the report says whose inf it was.
  const wp::Trace trace;
  const wp::scope here("loss");
  const wp::Tensor multiplied = wp::sum(wp::log(x) * wp::astype(x > 0, wp::f64));
  std::cout << wp::blame(multiplied).text() << '\n';
}
