#include <cmath>

#include "ops/elementwise.hpp"
#include "simd/math.hpp"

namespace wp {
extern const Op op_gelu;
namespace {

constexpr simd::Loops exact = simd::math_loops<simd::Fn::gelu>();
constexpr simd::Loops by_tanh = simd::math_loops<simd::Fn::gelu_tanh>();

std::vector<Sample> samples() {
  std::vector<Sample> out;
  for (const std::string_view approximate : {"none", "tanh"})
    for (Sample& s : elementwise_samples(op_gelu, {{{0}},
                                                   {{1}},
                                                   {{-2}},
                                                   {{0.5}},
                                                   {{10}},
                                                   {{-5}},
                                                   {{-14}},
                                                   {{-38}},
                                                   {{HUGE_VAL}, "x = inf"},
                                                   {{-HUGE_VAL}, "x = -inf: 0"}})) {
      s.attrs = {Attr(approximate)};
      out.push_back(std::move(s));
    }
  return out;
}
}  // namespace

const Op op_gelu = elementwise({
    .name = "gelu",
    .group = "activation",
    .doc = "x Φ(x) with Φ the normal distribution function, element by element, accurate in both tails. Integers "
           "give f64.",
    .params = {{"x", kinds::real}},
    .attrs = {{.name = "approximate",
               .type = AttrType::text,
               .fallback = "none",
               .doc = "tanh: x/2 (1 + tanh(√(2/π)(x + 0.044715 x³))).",
               .choices = {"none", "tanh"}}},
    .forward = [](Call& c) { forward_elementwise(c, c.attr(0).text() == "tanh" ? by_tanh : exact); },
    .loops = &exact,
    .integer_as_float = kinds::integer,
    .saves_inputs = 1,
    .branches = {"x = inf", "x = -inf: 0"},
    .samples = samples,
});
}  // namespace wp
