// NaN only in the gradient of a masked branch: the loss is finite, one of its derivatives is not.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor x{1.0, 0.0, 4.0};
  const wp::Tensor mask = wp::astype(x > 0, wp::f64);
  const wp::Trace trace;
  wp::GradientTape tape({.persistent = true});
  tape.watch(x);

  // sqrt(0) times 0 is 0. Its derivative is ∞ times 0: the report says whose ∞ it was.
  {
    const wp::scope here("loss");
    const wp::Tensor loss = wp::sum(wp::sqrt(x) * mask);
    std::cout << "loss: " << loss << '\n';
    try {
      (void)tape.gradient(loss, x);
    } catch (const wp::NonFiniteError& e) {
      std::cout << wp::blame(e).text() << '\n';
    }
  }

  // where() drops what it masks, forward and backward.
  const wp::Tensor loss = wp::sum(wp::where(x > 0, wp::sqrt(x), 0.0));
  std::cout << "gradient of the loss that where() masks: " << tape.gradient(loss, x) << '\n';
}
