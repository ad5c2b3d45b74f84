#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_tan;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::tan>(), kernels::complex_loops<kernels::complex_tan>());

std::vector<Sample> samples() {
  return elementwise_samples(
      op_tan, {{{0}}, {{1}}, {{-2}}, {{0.5}}, {{100}}, {{1e-9}}, {{1e22}}, {{1e300}}, {{HUGE_VAL}, "x = inf: nan"}},
      {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{1, 400}}});
}
}  // namespace

const Op op_tan = elementwise({
    .name = "tan",
    .group = "element-wise",
    .doc = "The tangent of x in radians, element by element, right for every finite x. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return square(reciprocal(cos(s.in[0]))); },
    .saves_inputs = 1,
    .branches = {"x = inf: nan"},
    .samples = samples,
});
}  // namespace wp
