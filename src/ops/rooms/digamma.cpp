#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_digamma;
namespace {

constexpr simd::Loops loops = simd::math_loops<simd::Fn::digamma>();

std::vector<Sample> samples() {
  return elementwise_samples(op_digamma, {{{1}},
                                          {{2}},
                                          {{0.5}},
                                          {{1.5}},
                                          {{3.25}},
                                          {{20}},
                                          {{1e-9}},
                                          {{1e10}},
                                          {{-0.5}},
                                          {{-3.25}},
                                          {{-100.25}},
                                          {{1.4616321449683622}},
                                          {{1.46}},
                                          {{0}, "x = 0: -inf"},
                                          {{-3}, "x = -1, -2, …: nan"},
                                          {{HUGE_VAL}, "x = inf"}});
}
}  // namespace

const Op op_digamma = elementwise({
    .name = "digamma",
    .group = "special",
    .doc = "Γ'(x)/Γ(x), the derivative of log|Γ(x)|, element by element. Integers give f64.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x other than 0, -1, -2, …",
    .inside = [](std::span<const double> v) { return !(v[0] <= 0 && v[0] == std::floor(v[0])); },
    .advice = "Mask the input, not the result: digamma(where((x <= 0) & (x == floor(x)), 1, x)).",
    .partial = [](const Saved& s, std::size_t) { return polygamma(1, s.in[0]); },
    .saves_inputs = 1,
    .branches = {"x = 0: -inf", "x = -1, -2, …: nan", "x = inf"},
    .samples = samples,
});
}  // namespace wp
