#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_logaddexp;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::logaddexp>();

// e^x1/(e^x1 + e^x2) = s(x1 − x2) with the sigmoid s; two equal infinities share evenly.
Tensor partial(const Saved& s, std::size_t i) {
  const Tensor same = logical_and(equal(s.in[0], s.in[1]), isinf(s.in[0]));
  return sigmoid(subtract(where(same, 0, s.in[i]), where(same, 0, s.in[1 - i])));
}

std::vector<Sample> samples() {
  return elementwise_samples(op_logaddexp, {{{0, 0}},
                                            {{1, 2}},
                                            {{-3, 0.5}},
                                            {{1000, 999}},
                                            {{-800, -800}},
                                            {{100, -700}},
                                            {{HUGE_VAL, -HUGE_VAL}, "an inf"},
                                            {{-HUGE_VAL, -HUGE_VAL}, "both -inf"},
                                            {{HUGE_VAL, HUGE_VAL}, "both inf"}});
}
}  // namespace

const Op op_logaddexp = elementwise({
    .name = "logaddexp",
    .group = "element-wise",
    .doc = "log(e^x1 + e^x2), element by element, without overflow. Integers give f64.",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .saves_inputs = 3,
    .branches = {"an inf", "both -inf", "both inf"},
    .samples = samples,
});
}  // namespace wp
