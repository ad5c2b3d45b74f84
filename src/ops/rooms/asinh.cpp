#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_asinh;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::asinh>(), kernels::complex_loops<kernels::complex_asinh>());

// 1/√(1 + x²); √(1 + ix) √(1 − ix) has the cuts of asinh, and keeps its digits near ±i.
Tensor partial(const Saved& s, std::size_t) {
  const Tensor& x = s.in[0];
  if (!is_complex(x.dtype())) return reciprocal(hypot(x, 1));
  const Tensor ix = multiply(x, complex128(0, 1));
  return reciprocal(multiply(sqrt(add(ix, 1)), sqrt(subtract(1, ix))));
}

std::vector<Sample> samples() {
  return elementwise_samples(op_asinh, {{{0}}, {{1}}, {{-2}}, {{1e-9}}, {{100}}, {{-1e300}}, {{HUGE_VAL}, "x = inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{1e-3, 1.001}}});
}
}  // namespace

const Op op_asinh = elementwise({
    .name = "asinh",
    .group = "element-wise",
    .doc = "The inverse hyperbolic sine of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .saves_inputs = 1,
    .branches = {"x = inf"},
    .samples = samples,
});
}  // namespace wp
