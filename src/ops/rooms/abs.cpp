#include <algorithm>

#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "ops/elementwise.hpp"
#include "ops/kinks.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_abs;
namespace {

struct Abs {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (std::is_unsigned_v<T>)
      return a;
    else if constexpr (std::is_integral_v<T>)
      return a < 0 ? static_cast<T>(0 - static_cast<Wrapping<T>>(a)) : a;
    else
      return std::fabs(a);
  }
};

// |x + iy| by the scaled hypot of the vector library: no overflow before the result's, inf for an infinite part.
template <class T, simd::Inner hypot>
void modulus(void* const* p, std::int64_t n, simd::Status* status) {
  constexpr std::int64_t block = 256;
  const T* z = static_cast<const T*>(p[0]);
  T* const r = static_cast<T*>(p[1]);
  alignas(64) T re[block], im[block];
  for (std::int64_t at = 0; at < n; at += block, z += 2 * block) {
    const std::int64_t m = std::min(block, n - at);
    for (std::int64_t i = 0; i < m; ++i) {
      re[i] = z[2 * i];
      im[i] = z[2 * i + 1];
    }
    void* const parts[] = {re, im, r + at};
    hypot(parts, m, status);
  }
}
template <class T>
constexpr simd::Loop modulus_loop() {
  return {dtype_v<std::complex<T>>,
          dtype_v<T>,
          {modulus<T, simd::baseline::math<simd::Fn::hypot, T>>, modulus<T, simd::avx2::math<simd::Fn::hypot, T>>,
           modulus<T, simd::avx512::math<simd::Fn::hypot, T>>}};
}
constexpr simd::Loops loops = [] {
  simd::Loops all = simd::loops1<Abs>(simd::Reals{});
  all[static_cast<std::size_t>(c64)] = modulus_loop<float>();
  all[static_cast<std::size_t>(c128)] = modulus_loop<double>();
  return all;
}();

// ‖·‖ has the subgradient 0 at 0: sign(0). Of complex x the cotangent is g x/|x|, the tangent Re(conj(x/|x|) t).
struct Back {
  template <class T>
  WP_FN T apply(T g, T x) {
    return x > T(0) ? g : x < T(0) ? -g : T(0) * g;
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::RealFloats{});
Tensors vjp(const Backward& b) {
  const Tensor at_once = vjp_fused(b, fused);
  if (at_once.defined()) return {at_once};
  const Tensor& x = b.in[0];
  return {slope_times(b, x, sign(x), equal(x, 0), b.g(), is_complex(x.dtype()) ? Kink::one_sided : Kink::both)};
}
Tensors jvp(const Forward& f) {
  const Tensor &x = f.in[0], &t = f.tangents[0];
  const Tensor slope = real(multiply(conj_of(sign(x)), t));
  const auto [zero, any_zero] = [&] {
    const Unseen unseen;
    const checks off(CheckLevel::off);
    const Tensor at = equal(x, 0);
    return std::pair(at, bool(any(at)));
  }();
  if (!any_zero) return {slope};
  f.choose();  // one side of a kink: where the answer leaves, ways back give their subgradient
  return {where(zero, abs(t), slope)};
}

std::vector<Sample> samples() {
  return elementwise_samples(
      op_abs,
      {{{1}}, {{-3}}, {{-0.5}}, {{0}}, {{-0.0}}, {{-128}, "the least i8: wraps"}, {{-HUGE_VAL}, "x = -inf"}, {{NAN}}},
      {{{3, 4}}, {{-0.5, 0}}, {{0.1, -0.7}}, {{3e30, -4e30}}, {{1e-40, 1e-40}}, {{-HUGE_VAL, NAN}}, {{0, 0}}});
}
}  // namespace

const Op op_abs = elementwise({
    .name = "abs",
    .group = "element-wise",
    .doc = "|x|, element by element; of complex numbers the modulus, real. The least signed integer wraps around.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = 1,
    .branches = {"the least i8: wraps", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
