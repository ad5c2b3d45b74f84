#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sin;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::sin>(), kernels::complex_loops<kernels::complex_sin>());
constexpr simd::Loops fused = simd::math_loops<simd::Fn::sin_slope>();

std::vector<Sample> samples() {
  return elementwise_samples(
      op_sin, {{{0}}, {{1}}, {{-2}}, {{0.5}}, {{100}}, {{1e-9}}, {{1e22}}, {{1e300}}, {{HUGE_VAL}, "x = inf: nan"}},
      {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}});
}
}  // namespace

const Op op_sin = elementwise({
    .name = "sin",
    .group = "element-wise",
    .doc = "The sine of x in radians, element by element, right for every finite x. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return cos(s.in[0]); },
    .fused = &fused,
    .saves_inputs = 1,
    .branches = {"x = inf: nan"},
    .samples = samples,
});
}  // namespace wp
