#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_cbrt;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::cbrt>();

std::vector<Sample> samples() {
  return elementwise_samples(
      op_cbrt, {{{0}}, {{1}}, {{-8}}, {{0.5}}, {{100}}, {{1e300}}, {{-5e-324}}, {{HUGE_VAL}, "x = inf"}});
}
}  // namespace

const Op op_cbrt = elementwise({
    .name = "cbrt",
    .group = "special",
    .doc = "The real cube root of x, element by element. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return reciprocal(multiply(3, square(s.out[0]))); },
    .saves_outputs = 1,
    .branches = {"x = inf"},
    .samples = samples,
});
}  // namespace wp
