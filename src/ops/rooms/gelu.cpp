#include <cmath>
#include <numbers>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_gelu;
namespace {

constexpr simd::Loops exact = simd::math_loops<simd::Fn::gelu>();
constexpr simd::Loops by_tanh = simd::math_loops<simd::Fn::gelu_tanh>();

// Φ(x) + x φ(x); by tanh: x s(v) with the sigmoid s and v = 2 √(2/π) (x + c x³): s(v) (1 + x v′ s(−v)).
Tensor partial(const Saved& s, std::size_t) {
  const Tensor& x = s.in[0];
  constexpr double half_root = 1 / std::numbers::sqrt2;
  if (s.attr(0).text() == "none") {
    const Tensor chance = multiply(0.5, erfc(multiply(x, -half_root)));
    const Tensor density = multiply(half_root * std::numbers::inv_sqrtpi, exp(multiply(square(x), -0.5)));
    return add(chance, multiply(x, density));
  }
  constexpr double k = 4 * half_root * std::numbers::inv_sqrtpi, c = 0.044715;
  const Tensor xx = square(x), v = multiply(multiply(x, k), add(multiply(xx, c), 1));
  const Tensor rise = multiply(k, add(multiply(xx, 3 * c), 1));
  return multiply(sigmoid(v), add(multiply(multiply(x, rise), sigmoid(negative(v))), 1));
}

constexpr simd::Loops exact_slope = simd::math_loops<simd::Fn::gelu_slope>();
constexpr simd::Loops tanh_slope = simd::math_loops<simd::Fn::gelu_tanh_slope>();
Tensors vjp(const Backward& b) {
  const Tensor at_once = vjp_fused(b, b.attr(0).text() == "none" ? exact_slope : tanh_slope);
  return at_once.defined() ? Tensors{at_once} : vjp_partials(b);
}

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
    .vjp = vjp,
    .partial = partial,
    .saves_inputs = 1,
    .branches = {"x = inf", "x = -inf: 0"},
    .samples = samples,
});
}  // namespace wp
