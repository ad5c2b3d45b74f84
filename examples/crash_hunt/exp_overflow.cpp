// A softmax written by hand overflows in f32 for one large logit.
#include <iostream>

#include "wellposed/wellposed.hpp"

wp::Tensor softmax(const wp::Tensor& logits) {
  const wp::scope here("softmax");
  const wp::Tensor e = wp::exp(logits);
  return e / wp::sum(e, {.axis = -1, .keepdims = true});
}

int main() {
  const wp::Trace trace;
  wp::random::Generator g(5);
  wp::Tensor raw = g.normal({32, 4}, {.dtype = wp::f32});
  raw[{17, 2}] = 900.0F;
  const wp::Tensor x = wp::with_rows(raw, "features");
  const wp::Tensor w = wp::named(wp::eye(4, {.dtype = wp::f32}), "w");
  const wp::Tensor p = softmax(wp::matmul(x, w));
  std::cout << wp::blame(p).text() << "\n\nwp::softmax of the same: " << wp::softmax(wp::matmul(x, w))[{17}] << '\n';
}
