#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_acos;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::acos>(), kernels::complex_loops<kernels::complex_acos>());

std::vector<Sample> samples() {
  return elementwise_samples(
      op_acos,
      {{{0}}, {{1}}, {{-1}}, {{0.5}}, {{-0.25}}, {{1e-9}}, {{0.999}}, {{2}, "|x| > 1: nan"}, {{-2}, "|x| > 1: nan"}},
      {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{2, 1}}, {{0.5, 1e-9}}});
}
}  // namespace

const Op op_acos = elementwise({
    .name = "acos",
    .group = "element-wise",
    .doc = "The angle in [0, π] whose cosine is x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "-1 <= x <= 1",
    .inside = [](std::span<const double> v) { return v[0] >= -1 && v[0] <= 1; },
    .advice = "Where rounding took x just outside, clip it: acos(clip(x, -1, 1)).",
    .partial =
        [](const Saved& s, std::size_t) {
          return negative(reciprocal(multiply(sqrt(subtract(1, s.in[0])), sqrt(add(s.in[0], 1)))));
        },
    .saves_inputs = 1,
    .branches = {"|x| > 1: nan"},
    .samples = samples,
});
}  // namespace wp
