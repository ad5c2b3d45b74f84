#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_acosh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::acosh>(), kernels::complex_loops<kernels::complex_acosh>());

std::vector<Sample> samples() {
  return elementwise_samples(op_acosh,
                             {{{1}},
                              {{2}},
                              {{1.125}},
                              {{100}},
                              {{1e300}},
                              {{0.5}, "x < 1: nan"},
                              {{-1}, "x < 1: nan"},
                              {{HUGE_VAL}, "x = inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{1.001, 1e-3}}});
}
}  // namespace

const Op op_acosh = elementwise({
    .name = "acosh",
    .group = "element-wise",
    .doc = "The inverse hyperbolic cosine of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x >= 1",
    .inside = [](std::span<const double> v) { return v[0] >= 1; },
    .advice = "Where rounding took x just below 1, clip it: acosh(clip(x, 1)).",
    .partial = [](const Saved& s,
                  std::size_t) { return reciprocal(multiply(sqrt(subtract(s.in[0], 1)), sqrt(add(s.in[0], 1)))); },
    .saves_inputs = 1,
    .branches = {"x < 1: nan", "x = inf"},
    .samples = samples,
});
}  // namespace wp
