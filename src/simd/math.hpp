// Vector math (SLEEF) as inner loops. Real functions are within 1 ulp of the exact value (erfc: 1.5).
#pragma once
#include "simd/loop.hpp"

namespace wp::simd {

enum class Fn {
  exp,
  exp2,
  exp10,
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
  tgamma,
  cbrt,
  pow,
  atan2,
  hypot
};

// One loop per function, type and instruction set, in math.cpp.
namespace baseline {
template <Fn f, class T>
void math(void* const* p, std::int64_t n, Status* status);
}
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
