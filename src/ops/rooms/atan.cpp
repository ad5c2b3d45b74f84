#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"

namespace wp {
extern const Op op_atan;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::atan>(), kernels::complex_loops<kernels::complex_atan>());

std::vector<Sample> samples() {
  return elementwise_samples(op_atan,
                             {{{0}}, {{1}}, {{-1}}, {{0.5}}, {{-3}}, {{1e-9}}, {{1e300}}, {{HUGE_VAL}, "x = inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{0.5, 0.5}}, {{1e-3, 1.001}}});
}
}  // namespace

const Op op_atan = elementwise({
    .name = "atan",
    .group = "element-wise",
    .doc = "The angle in [-π/2, π/2] whose tangent is x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .saves_inputs = 1,
    .branches = {"x = inf"},
    .samples = samples,
});
}  // namespace wp
