// A token that the embedding does not have: which one, and which row of the data it came from.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor embedding = wp::ones({1000, 8});
  const wp::Tensor tokens = wp::with_rows(wp::Tensor{{3, 17, 999, 4}, {12, 8, 5, 6}, {2, 1000, 7, 9}}, "tokens");
  const wp::Trace trace;
  const wp::scope here("embed");
  try {
    const wp::Tensor batch = wp::take(tokens, wp::Tensor{2, 0}, {.axis = 0});
    std::cout << wp::take(embedding, wp::reshape(batch, {-1}), {.axis = 0}) << '\n';
  } catch (const wp::IndexError& e) {
    std::cout << e.what() << '\n' << wp::blame(e).text() << '\n';
  }
}
