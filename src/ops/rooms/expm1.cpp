#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_expm1;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::expm1>(), kernels::complex_loops<kernels::complex_expm1>());
constexpr simd::Loops fused = simd::math_loops<simd::Fn::expm1_slope>();

std::vector<Sample> samples() {
  return elementwise_samples(op_expm1,
                             {{{0}},
                              {{1}},
                              {{-2}},
                              {{1e-10}},
                              {{-1e-300}},
                              {{-50}},
                              {{20}},
                              {{1000}, "overflow: inf"},
                              {{HUGE_VAL}, "x = inf"},
                              {{-HUGE_VAL}, "x = -inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{1e-9, 1e-9}}, {{-100, 1}}});
}
}  // namespace

const Op op_expm1 = elementwise({
    .name = "expm1",
    .group = "element-wise",
    .doc = "e^x - 1, element by element, accurate for x near 0 too. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return exp(s.in[0]); },
    .fused = &fused,
    .saves_inputs = 1,
    .branches = {"overflow: inf", "x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
