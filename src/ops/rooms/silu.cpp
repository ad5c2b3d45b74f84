#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_silu;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::silu>();
constexpr simd::Loops fused = simd::math_loops<simd::Fn::silu_slope>();

// s(x) (1 + x s(−x)) with the sigmoid s.
Tensor partial(const Saved& s, std::size_t) {
  const Tensor& x = s.in[0];
  return multiply(sigmoid(x), add(multiply(x, sigmoid(negative(x))), 1));
}

std::vector<Sample> samples() {
  return elementwise_samples(op_silu, {{{0}},
                                       {{1}},
                                       {{-2}},
                                       {{0.5}},
                                       {{40}},
                                       {{-100}},
                                       {{-740}},
                                       {{HUGE_VAL}, "x = inf"},
                                       {{-HUGE_VAL}, "x = -inf: 0"}});
}
}  // namespace

const Op op_silu = elementwise({
    .name = "silu",
    .group = "activation",
    .doc = "x/(1 + e^(-x)) (swish), element by element, accurate in both tails. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .fused = &fused,
    .saves_inputs = 1,
    .branches = {"x = inf", "x = -inf: 0"},
    .samples = samples,
});
}  // namespace wp
