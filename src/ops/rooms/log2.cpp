#include <cmath>
#include <numbers>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_log2;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::log2>(), kernels::complex_loops<kernels::complex_log2>());

std::vector<Sample> samples() {
  return elementwise_samples(op_log2,
                             {{{1}},
                              {{2}},
                              {{0.25}},
                              {{100}},
                              {{1e-300}},
                              {{4.9e-324}},
                              {{0}, "x = 0: -inf"},
                              {{-1}, "x < 0: nan"},
                              {{HUGE_VAL}, "x = inf"},
                              {{8}}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0, -3}}, {{0.6, 0.8}}, {{1e200, 1e-200}}});
}
}  // namespace

const Op op_log2 = elementwise({
    .name = "log2",
    .group = "element-wise",
    .doc = "The logarithm of x to base 2, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x > 0",
    .inside = [](std::span<const double> v) { return v[0] > 0; },
    .advice = "Mask the input, not the result: log2(where(x > 0, x, 1)).",
    .partial = [](const Saved& s, std::size_t) { return divide(std::numbers::log2e, s.in[0]); },
    .saves_inputs = 1,
    .branches = {"x = 0: -inf", "x < 0: nan", "x = inf"},
    .samples = samples,
});
}  // namespace wp
