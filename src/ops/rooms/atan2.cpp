#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_atan2;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::atan2>();

// (x2, −x1)/r², r² = x1² + x2²; 0 at infinity, and none at the origin.
Tensor partial(const Saved& s, std::size_t i) {
  const Tensor far = logical_or(isinf(s.in[0]), isinf(s.in[1]));
  const Tensor x1 = where(far, 1, s.in[0]), x2 = where(far, 1, s.in[1]), r = hypot(x1, x2);
  const Tensor slope = divide(divide(i == 0 ? x2 : negative(x1), r), r);
  return where(far, 0, slope);
}

std::vector<Sample> samples() {
  return elementwise_samples(op_atan2, {{{0, 1}},
                                        {{1, 1}},
                                        {{1, -1}},
                                        {{-1, -2}},
                                        {{3, 0.5}},
                                        {{1e-300, 1e300}},
                                        {{0, 0}, "both 0"},
                                        {{0, -1}, "x1 = 0, x2 < 0: π"},
                                        {{HUGE_VAL, HUGE_VAL}, "both inf"},
                                        {{1, -HUGE_VAL}, "x2 = -inf"}});
}
}  // namespace

const Op op_atan2 = elementwise({
    .name = "atan2",
    .group = "element-wise",
    .doc = "The angle in [-π, π] of the point (x2, x1), element by element: the argument of x2 + i x1. Integers give "
           "f64.",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .saves_inputs = 3,
    .branches = {"both 0", "x1 = 0, x2 < 0: π", "both inf", "x2 = -inf"},
    .samples = samples,
});
}  // namespace wp
