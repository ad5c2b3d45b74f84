// Rows are divided by their sums; one row of one batch sums to zero.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Trace trace;
  wp::random::Generator g(7);
  wp::Tensor counts = wp::floor(wp::abs(g.normal({64, 5})) * 3);
  counts[{41}] = 0.0;
  const wp::Tensor data = wp::with_rows(counts, "counts");
  const wp::Tensor order = g.permutation(64);
  try {
    for (int b = 0; b < 4; ++b) {
      wp::set_step(b);
      const wp::scope here("normalize");
      const wp::Tensor x = wp::take(data, order[{wp::slice(16 * b, 16 * b + 16)}], {.axis = 0});
      const wp::Tensor share = x / wp::sum(x, {.axis = 1, .keepdims = true});
      const double entropy = wp::sum(share * wp::log(share + 1e-9)).item<double>();
      std::cout << "batch " << b << (entropy < 0 ? ": fine" : ": odd") << '\n';
    }
  } catch (const wp::NonFiniteError& e) {
    std::cout << wp::blame(e).text() << '\n';
  }
}
