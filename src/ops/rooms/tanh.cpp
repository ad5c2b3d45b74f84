#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"

namespace wp {
extern const Op op_tanh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::tanh>(), kernels::complex_loops<kernels::complex_tanh>());

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
    .saves_outputs = 1,
    .branches = {"x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
