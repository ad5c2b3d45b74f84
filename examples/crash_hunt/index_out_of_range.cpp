// A token that the embedding does not have.
#include <iostream>

#include "wellposed/wellposed.hpp"

int main() {
  const wp::Tensor embedding = wp::ones({1000, 8});
  const wp::Tensor tokens{{3, 17, 999, 4}, {12, 1000, 5, 6}};
  const wp::scope here("embed");
  try {
    std::cout << wp::take(embedding, wp::reshape(tokens, {-1}), {.axis = 0}) << '\n';
  } catch (const wp::IndexError& e) {
    std::cout << e.what() << '\n';
  }
}
