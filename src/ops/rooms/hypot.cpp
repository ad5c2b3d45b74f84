#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "ops/kinks.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_hypot;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::hypot>();

// x/y, the subgradient 0 at the origin.
Tensor partial(const Saved& s, std::size_t i) {
  const Tensor& y = s.out[0];
  return divide(s.in[i], where(equal(y, 0), 1, y));
}
Tensors vjp(const Backward& b) {
  Tensors all(2);
  const Tensor origin = equal(b.out[0], 0);
  for (std::size_t i = 0; i < 2; ++i)
    if (b.wants(i)) all[i] = slope_times(b, b.in[i], partial(b, i), origin, b.g());
  return all;
}

std::vector<Sample> samples() {
  return elementwise_samples(op_hypot, {{{3, 4}},
                                        {{-5, 12}},
                                        {{0.1, -0.7}},
                                        {{1e200, 1e-200}},
                                        {{3e200, 4e200}},
                                        {{3e-200, 4e-200}},
                                        {{0, -2}, "one is 0"},
                                        {{-0.0, 0}, "one is 0"},
                                        {{1.7e308, 1.7e308}, "overflow: inf"},
                                        {{-HUGE_VAL, NAN}, "one is inf"},
                                        {{NAN, 1.5}}});
}
}  // namespace

const Op op_hypot = elementwise({
    .name = "hypot",
    .group = "element-wise",
    .doc = "sqrt(x1² + x2²) without overflow or underflow of the squares, element by element. Integers give f64.",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .vjp = vjp,
    .partial = partial,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .for_itself = 3,
    .branches = {"one is 0", "overflow: inf", "one is inf"},
    .samples = samples,
});
}  // namespace wp
