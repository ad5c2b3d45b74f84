// Vector math as inner loops: own kernels (elementary.inl, activations.inl) where speed or the last digits ask for
// them, SLEEF for the rest. Bounds and what was measured: docs/accuracy.md.
#pragma once
#include "simd/loop.hpp"

namespace wp::simd {

enum class Fn {
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  lgamma,
  cbrt,
  digamma,
  sigmoid,
  silu,
  softplus,
  gelu,
  gelu_tanh,
  pow,
  atan2,
  hypot,
  logaddexp,
  // (g, x) ↦ g f′(x)
  sigmoid_slope,
  tanh_slope,
  silu_slope,
  softplus_slope,
  gelu_slope,
  gelu_tanh_slope,
  expm1_slope,
  sin_slope,
  cos_slope
};
constexpr bool takes_two(Fn f) {
  return f >= Fn::pow;
}

// One loop per function, type and instruction set, in math.cpp.
namespace baseline {
template <Fn f, class T>
void math(void* const* p, std::int64_t n, Status* status);
}
#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
template <Fn f, class T>
void math(void* const* p, std::int64_t n, Status* status);
}
WP_END_ISA
WP_BEGIN_AVX512
namespace avx512 {
template <Fn f, class T>
void math(void* const* p, std::int64_t n, Status* status);
}
WP_END_ISA
#endif

// The f32 and f64 rows of a function.
template <Fn f>
constexpr Loops math_loops() {
  Loops all{};
  all[static_cast<std::size_t>(f32)] = {
      f32, f32, {baseline::math<f, float>, avx2::math<f, float>, avx512::math<f, float>}};
  all[static_cast<std::size_t>(f64)] = {
      f64, f64, {baseline::math<f, double>, avx2::math<f, double>, avx512::math<f, double>}};
  return all;
}

}  // namespace wp::simd
