#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_tanh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::tanh>(), kernels::complex_loops<kernels::complex_tanh>());
constexpr simd::Loops fused = simd::math_loops<simd::Fn::tanh_slope>();

// 1 − tanh² = sech² without the difference: 4 s(2x) s(−2x) with the sigmoid s.
Tensor partial(const Saved& s, std::size_t) {
  const Tensor& x = s.in[0];
  if (is_complex(x.dtype())) return square(reciprocal(cosh(x)));
  const Tensor twice = multiply(2, x);
  return multiply(multiply(4, sigmoid(twice)), sigmoid(negative(twice)));
}

std::vector<Sample> samples() {
  return elementwise_samples(
      op_tanh,
      {{{0}}, {{1}}, {{-2}}, {{0.5}}, {{0.6}}, {{1e-9}}, {{20}}, {{HUGE_VAL}, "x = inf"}, {{-HUGE_VAL}, "x = -inf"}},
      {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{400, 1}}});
}
}  // namespace

const Op op_tanh = elementwise({
    .name = "tanh",
    .group = "element-wise",
    .doc = "The hyperbolic tangent of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .fused = &fused,
    .saves_inputs = 1,
    .branches = {"x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
