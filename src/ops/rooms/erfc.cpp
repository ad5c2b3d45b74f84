#include <cmath>
#include <numbers>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_erfc;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::erfc>();

std::vector<Sample> samples() {
  return elementwise_samples(
      op_erfc,
      {{{0}}, {{1}}, {{-2}}, {{0.5}}, {{1e-9}}, {{7}}, {{26.5}}, {{30}, "underflow: 0"}, {{HUGE_VAL}, "x = inf"}});
}
}  // namespace

const Op op_erfc = elementwise({
    .name = "erfc",
    .group = "special",
    .doc = "1 - erf(x), element by element, accurate for large x too. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s,
                  std::size_t) { return multiply(-2 * std::numbers::inv_sqrtpi, exp(negative(square(s.in[0])))); },
    .saves_inputs = 1,
    .branches = {"underflow: 0", "x = inf"},
    .samples = samples,
});
}  // namespace wp
