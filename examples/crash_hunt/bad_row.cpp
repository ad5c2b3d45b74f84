// One NaN in ten thousand shuffled rows: the guard keeps it from the weights, and the report names the row.
#include <iostream>
#include <limits>

#include "wellposed/wellposed.hpp"

int main() {
  wp::on_finding([](const wp::Finding& f) { std::cout << f.text() << '\n'; });
  wp::random::Generator g(3);
  wp::Tensor raw = g.normal({10000, 6});
  raw[{7311, 4}] = std::numeric_limits<double>::quiet_NaN();
  const wp::Tensor data = wp::with_rows(raw, "data"), target = g.normal({10000, 1});
  const wp::Tensor order = g.permutation(10000);
  wp::Tensor w = wp::named(g.normal({6, 1}), "w");

  const wp::Trace trace;
  wp::GradientGuard guard;
  for (int b = 0; b < 100; ++b) {
    wp::set_step(b);
    const wp::scope here("train");
    const wp::Tensor rows = order[{wp::slice(100 * b, 100 * b + 100)}];
    const wp::Tensor x = wp::take(data, rows, {.axis = 0}), y = wp::take(target, rows, {.axis = 0});
    guard.attempt(
        [&] {
          wp::GradientTape tape;
          tape.watch(w);
          const wp::Tensor loss =
              wp::mean(wp::square(wp::matmul(x - wp::mean(x, {.axis = 1, .keepdims = true}), w) - y));
          w = w - tape.gradient(loss, w) * 0.01;
        },
        {&w});
  }
  std::cout << "steps refused: " << guard.refused() << ", weights finite: " << std::boolalpha
            << wp::all(wp::isfinite(w)).item<bool>() << '\n';
}
