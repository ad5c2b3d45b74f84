// From a loss that is not a number back to the row and the column of the file.
#include <iostream>
#include <limits>

#include "wellposed/wellposed.hpp"

int main() {
  wp::random::Generator g(3);
  wp::Tensor raw = g.normal({10000, 6});
  raw[{7311, 4}] = std::numeric_limits<double>::quiet_NaN();
  wp::save("data.npy", raw);
  const wp::Tensor w = g.normal({6, 1});

  const wp::Dataset data(std::vector<std::string>{"data.npy"}, {.batch = 100, .seed = 11});
  const wp::Trace trace;
  for (const wp::Batch& batch : data.epoch(0)) {
    const wp::Tensor loss = wp::mean(wp::square(wp::matmul(batch["data"], w)));
    if (!wp::isfinite(loss).item<bool>())
      std::cout << "batch " << batch.number << ": " << wp::blame(loss).text() << "\n";
  }
}
