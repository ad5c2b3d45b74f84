#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sign;
namespace {

struct Sign {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (simd::is_complex_v<T>) {  // z/|z|, in a type that holds |z|²
      using R = typename T::value_type;
      using W = typename Wider<R>::type;
      const W re = a.real(), im = a.imag(), modulus = std::sqrt(re * re + im * im);
      return modulus == 0 ? T(0) : T(static_cast<R>(re / modulus), static_cast<R>(im / modulus));
    } else if constexpr (std::is_floating_point_v<T>) {
      return a != a ? a : static_cast<T>((a > 0) - (a < 0));
    } else {
      return static_cast<T>((a > 0) - (a < 0));
    }
  }
};
constexpr simd::Loops loops = simd::loops1<Sign>(simd::Numbers{});

// Real: steps. Complex: y = x/|x| turns only, dy = i y Im(conj(y) dx)/|x|, which is its own adjoint; 0 at 0.
Tensor turned(const Saved& s, const Tensor& v) {
  if (!is_complex(s.dtype(0))) return zeros_for(s.facts[0]);
  const Tensor &y = s.out[0], origin = equal(y, 0);
  const Tensor rate = divide(imag(multiply(conj(y), v)), where(origin, 1, abs(where(origin, 1, s.in[0]))));
  return multiply(multiply(y, complex128(0, 1)), rate);
}

std::vector<Sample> samples() {
  return elementwise_samples(
      op_sign,
      {{{7}}, {{-3}}, {{0.5}}, {{-1e-300}}, {{0}, "x = 0"}, {{-0.0}, "x = 0"}, {{-HUGE_VAL}, "x = inf"}, {{NAN}}},
      {{{3, 4}}, {{-0.5, 0}}, {{0, 0}}, {{3e30, -1e30}}, {{1e-40, 2e-40}}, {{1.5, NAN}}});
}
}  // namespace

const Op op_sign = elementwise({
    .name = "sign",
    .group = "element-wise",
    .doc = "-1, 0 or 1 by the sign of x, element by element; of complex numbers x / |x|, and 0 for 0.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .vjp = [](const Backward& b) { return Tensors{turned(b, b.g())}; },
    .jvp = [](const Forward& f) { return Tensors{turned(f, f.tangents[0])}; },
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"x = 0", "x = inf"},
    .samples = samples,
});
}  // namespace wp
