#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_tanh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::tanh>(), kernels::complex_loops<kernels::complex_tanh>());

struct Back {
  template <class T>
  WP_FN T apply(T g, T y) {
    return g * (T(1) - y * y);
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::Types<float, double>{});

std::vector<Sample> samples() {
  return elementwise_samples(
      op_tanh,
      {{{0}}, {{1}}, {{-2}}, {{0.5}}, {{0.6}}, {{1e-9}}, {{20}}, {{HUGE_VAL}, "x = inf"}, {{-HUGE_VAL}, "x = -inf"}},
      {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{400, 1}}});
}
}  // namespace

const Op op_tanh = elementwise({
    .name = "tanh",
    .group = "element-wise",
    .doc = "The hyperbolic tangent of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = [](const Saved& s, std::size_t) { return subtract(1, square(s.out[0])); },
    .fused = &fused,
    .saves_outputs = 1,
    .branches = {"x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
