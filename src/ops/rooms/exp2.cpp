#include <cmath>
#include <numbers>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_exp2;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::exp2>();

std::vector<Sample> samples() {
  return elementwise_samples(op_exp2, {{{0}},
                                       {{1}},
                                       {{-2}},
                                       {{0.5}},
                                       {{10}},
                                       {{-1070.5}},
                                       {{1100}, "overflow: inf"},
                                       {{-1100}, "underflow: 0"},
                                       {{HUGE_VAL}, "x = inf"},
                                       {{-HUGE_VAL}, "x = -inf"}});
}
}  // namespace

const Op op_exp2 = elementwise({
    .name = "exp2",
    .group = "special",
    .doc = "2^x, element by element. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return multiply(std::numbers::ln2, s.out[0]); },
    .saves_outputs = 1,
    .branches = {"overflow: inf", "underflow: 0", "x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
