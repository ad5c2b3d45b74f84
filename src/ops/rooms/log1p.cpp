#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_log1p;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::log1p>(), kernels::complex_loops<kernels::complex_log1p>());

std::vector<Sample> samples() {
  return elementwise_samples(op_log1p,
                             {{{0}},
                              {{1}},
                              {{-0.5}},
                              {{1e-10}},
                              {{-1e-300}},
                              {{100}},
                              {{1e300}},
                              {{-1}, "x = -1: -inf"},
                              {{-2}, "x < -1: nan"},
                              {{HUGE_VAL}, "x = inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{1e-10, -3e-11}}, {{-0.02, 0.2}}, {{3, 4}}});
}
}  // namespace

const Op op_log1p = elementwise({
    .name = "log1p",
    .group = "element-wise",
    .doc = "log(1 + x), element by element, accurate for x near 0 too. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x > -1",
    .inside = [](std::span<const double> v) { return v[0] > -1; },
    .advice = "Mask the input, not the result: log1p(where(x > -1, x, 0)).",
    .partial = [](const Saved& s, std::size_t) { return reciprocal(add(s.in[0], 1)); },
    .saves_inputs = 1,
    .branches = {"x = -1: -inf", "x < -1: nan", "x = inf"},
    .samples = samples,
});
}  // namespace wp
