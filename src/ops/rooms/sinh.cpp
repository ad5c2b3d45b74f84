#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sinh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::sinh>(), kernels::complex_loops<kernels::complex_sinh>());

std::vector<Sample> samples() {
  return elementwise_samples(op_sinh,
                             {{{0}},
                              {{1}},
                              {{-2}},
                              {{0.5}},
                              {{1e-9}},
                              {{20}},
                              {{710.2}},
                              {{1000}, "overflow: inf"},
                              {{HUGE_VAL}, "x = inf"},
                              {{-HUGE_VAL}, "x = -inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}});
}
}  // namespace

const Op op_sinh = elementwise({
    .name = "sinh",
    .group = "element-wise",
    .doc = "The hyperbolic sine of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return cosh(s.in[0]); },
    .saves_inputs = 1,
    .branches = {"overflow: inf", "x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
