#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_atanh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::atanh>(), kernels::complex_loops<kernels::complex_atanh>());

std::vector<Sample> samples() {
  return elementwise_samples(op_atanh,
                             {{{0}},
                              {{0.5}},
                              {{-0.25}},
                              {{1e-9}},
                              {{0.999}},
                              {{1}, "|x| = 1: inf"},
                              {{-1}, "|x| = 1: inf"},
                              {{2}, "|x| > 1: nan"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{0.999, 1e-3}}});
}
}  // namespace

const Op op_atanh = elementwise({
    .name = "atanh",
    .group = "element-wise",
    .doc = "The inverse hyperbolic tangent of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "-1 < x < 1",
    .inside = [](std::span<const double> v) { return v[0] > -1 && v[0] < 1; },
    .advice =
        "Clip x to below 1 in magnitude, by the distance that its meaning allows: atanh(clip(x, -0.9999, 0.9999)).",
    .partial = [](const Saved& s,
                  std::size_t) { return multiply(reciprocal(subtract(1, s.in[0])), reciprocal(add(s.in[0], 1))); },
    .saves_inputs = 1,
    .branches = {"|x| = 1: inf", "|x| > 1: nan"},
    .samples = samples,
});
}  // namespace wp
