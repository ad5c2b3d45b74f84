#include <cmath>
#include <numbers>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_erf;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::erf>();

std::vector<Sample> samples() {
  return elementwise_samples(op_erf, {{{0}}, {{1}}, {{-2}}, {{0.5}}, {{1e-9}}, {{7}}, {{HUGE_VAL}, "x = inf"}});
}
}  // namespace

const Op op_erf = elementwise({
    .name = "erf",
    .group = "special",
    .doc = "The error function 2/√π ∫ e^(-t²) dt from 0 to x, element by element. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s,
                  std::size_t) { return multiply(2 * std::numbers::inv_sqrtpi, exp(negative(square(s.in[0])))); },
    .saves_inputs = 1,
    .branches = {"x = inf"},
    .samples = samples,
});
}  // namespace wp
