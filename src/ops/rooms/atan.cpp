#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_atan;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::atan>(), kernels::complex_loops<kernels::complex_atan>());

// 1/(1 + x²) without overflow; 1/((1 + ix)(1 − ix)) keeps its digits near ±i.
Tensor partial(const Saved& s, std::size_t) {
  const Tensor& x = s.in[0];
  if (!is_complex(x.dtype())) return square(reciprocal(hypot(x, 1)));
  const Tensor ix = multiply(x, complex128(0, 1));
  return multiply(reciprocal(add(ix, 1)), reciprocal(subtract(1, ix)));
}

std::vector<Sample> samples() {
  return elementwise_samples(op_atan,
                             {{{0}}, {{1}}, {{-1}}, {{0.5}}, {{-3}}, {{1e-9}}, {{1e300}}, {{HUGE_VAL}, "x = inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{0.5, 0.5}}, {{1e-3, 1.001}}});
}
}  // namespace

const Op op_atan = elementwise({
    .name = "atan",
    .group = "element-wise",
    .doc = "The angle in [-π/2, π/2] whose tangent is x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .saves_inputs = 1,
    .branches = {"x = inf"},
    .samples = samples,
});
}  // namespace wp
