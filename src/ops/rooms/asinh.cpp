#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"

namespace wp {
extern const Op op_asinh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::asinh>(), kernels::complex_loops<kernels::complex_asinh>());

std::vector<Sample> samples() {
  return elementwise_samples(op_asinh, {{{0}}, {{1}}, {{-2}}, {{1e-9}}, {{100}}, {{-1e300}}, {{HUGE_VAL}, "x = inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{1e-3, 1.001}}});
}
}  // namespace

const Op op_asinh = elementwise({
    .name = "asinh",
    .group = "element-wise",
    .doc = "The inverse hyperbolic sine of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .saves_inputs = 1,
    .branches = {"x = inf"},
    .samples = samples,
});
}  // namespace wp
