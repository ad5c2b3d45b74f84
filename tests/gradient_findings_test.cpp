#include <gtest/gtest.h>

#include "findings.hpp"

namespace wp::triggers {
namespace {

Tensor gradient_of(const TensorFunction& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x);
}
Tensor gradient_of_two(bool watched) {
  const Tensor x{1.0}, z{2.0};
  GradientTape tape;
  tape.watch(x);
  if (watched) tape.watch(z);
  return tape.gradient(x * z, z);
}
Tensor gradient_of_lent(bool written) {
  std::vector<double> memory(100000, 1.0);
  const Tensor x = Tensor::borrow(memory.data(), f64, {100000});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(x * x);
  if (written) memory[0] = 2;
  return tape.gradient(y, x);
}
Tensor gradient_twice(bool persistent) {
  const Tensor x{1.0};
  GradientTape tape({.persistent = persistent});
  tape.watch(x);
  const Tensor y = x * x;
  (void)tape.gradient(y, x);
  return tape.gradient(y, x);
}
Tensor gradient_with_rule(std::int64_t length) {
  return gradient_of(
      [length](const Tensor& x) {
        return custom_gradient(
            [length](const Tensor& t) {
              return VjpResult{t * 2, [length](const Tensor&) { return ones({length + 1}); }};
            },
            x);
      },
      Tensor{1.0, 2.0});
}
Tensor members_of(bool mixed) {
  const Tensor x{{1.0, 2.0}, {3.0, 4.0}};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = mixed ? x - sum(x, {.axis = 0, .keepdims = true}) : x * x;
  return tape.batch_jacobian(y, x);
}
Tensor vectors(const Tensor& a) {
  return sum(linalg::svd(a).U * Tensor{{1.0, 2.0}, {3.0, 5.0}});
}
Tensor largest_value(const Tensor& a) {
  return sum(linalg::svd(a).S * Tensor{1.0, 0.0});
}
Tensor log_of_determinant(const Tensor& a) {
  return linalg::slogdet(a).logabsdet;
}
Tensor nearly_singular(double gap) {
  return Tensor{{1.0, 1.0}, {1.0, 1.0 + gap}};
}
Tensor solution(const Tensor& a) {
  return sum(linalg::solve(a, Tensor{1.0, 2.0}));
}
Tensor checkpointed(bool captured) {
  const Tensor x{1.0}, w{2.0};
  GradientTape tape;
  tape.watch(x);
  if (captured) tape.watch(w);
  return checkpoint([&](const Tensor& t) { return t * w; }, x);
}

}  // namespace

const Rows& of_gradients() {
  static const Rows all{
      {"WP-GRD-001",
       [] {
         use(gradient_of([](const Tensor& x) { return astype(argmax(x), f64); }, Tensor{1.0, 2.0}));
       },
       [] {
         use(gradient_of([](const Tensor& x) { return sum(x); }, Tensor{1.0, 2.0}));
       }},
      {"WP-GRD-002", [] { use(gradient_of_two(false)); }, [] { use(gradient_of_two(true)); }},
      {"WP-GRD-003", [] { use(gradient_of_lent(true)); }, [] { use(gradient_of_lent(false)); }},
      {"WP-GRD-004", [] { use(gradient_twice(false)); }, [] { use(gradient_twice(true)); }},
      {"WP-GRD-005", [] { use(gradient_with_rule(2)); }, [] { use(gradient_with_rule(1)); }},
      {"WP-GRD-006", [] { use(members_of(true)); }, [] { use(members_of(false)); }},
      {"WP-GRD-007", [] { use(gradient_of(vectors, diagonal(2, 2))); },
       [] { use(gradient_of(vectors, diagonal(3, 2))); }},
      {"WP-GRD-008", [] { use(gradient_of(vectors, diagonal(2 + 1e-9, 2))); },
       [] { use(gradient_of(vectors, diagonal(2.5, 2))); }},
      {"WP-GRD-009", [] { use(gradient_of(largest_value, diagonal(2, 2))); },
       [] { use(gradient_of(largest_value, diagonal(3, 2))); }},
      {"WP-GRD-010", [] { use(checkpointed(true)); }, [] { use(checkpointed(false)); }},
      {"WP-GRD-011", [] { use(gradient_of(log_of_determinant, diagonal(1, 0))); },
       [] { use(gradient_of(log_of_determinant, diagonal(1, 2))); }},
      {"WP-GRD-012", [] { use(gradient_of(solution, nearly_singular(1e-10))); },
       [] { use(gradient_of(solution, nearly_singular(1e-2))); }},
  };
  return all;
}

TEST(GradientFindings, EachHasATriggerAndANeighbourThatDoesNotTriggerIt) {
  expect_triggers(of_gradients());
}

}  // namespace wp::triggers
