#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_softplus;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::softplus>();
constexpr simd::Loops fused = simd::math_loops<simd::Fn::softplus_slope>();

std::vector<Sample> samples() {
  return elementwise_samples(op_softplus, {{{0}},
                                           {{1}},
                                           {{-2}},
                                           {{0.5}},
                                           {{40}},
                                           {{-40}},
                                           {{-100}},
                                           {{1000}},
                                           {{HUGE_VAL}, "x = inf"},
                                           {{-HUGE_VAL}, "x = -inf"}});
}
}  // namespace

const Op op_softplus = elementwise({
    .name = "softplus",
    .group = "activation",
    .doc = "log(1 + e^x), element by element, accurate in both tails. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return sigmoid(s.in[0]); },
    .fused = &fused,
    .saves_inputs = 1,
    .branches = {"x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
