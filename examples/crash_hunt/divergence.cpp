// Steps that are too long: the trend is told long before anything overflows.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  wp::on_finding([](const wp::Finding& f) { std::cout << f.text() << '\n'; });
  wp::random::Generator g(1);
  const wp::Tensor x = g.normal({64, 8}, {.dtype = wp::f32}), y = g.normal({64, 1}, {.dtype = wp::f32});
  wp::Tensor w = g.normal({8, 1}, {.dtype = wp::f32});
  const wp::Trace trace;
  wp::Trends trends;
  for (int step = 0; step < 400; ++step) {
    wp::set_step(step);
    const wp::scope here("train");
    wp::GradientTape tape;
    tape.watch(w);
    const wp::Tensor loss = wp::mean(wp::square(wp::matmul(x, w) - y));
    try {
      const wp::Tensor d = tape.gradient(loss, w);
      trends.see("w", w, d);
      w = w - d * 1.1F;
    } catch (const wp::NonFiniteError& e) {
      std::cout << e.what() << '\n';
      return 0;
    }
  }
}
