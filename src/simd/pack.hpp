// Packs of numbers for each instruction set, and elementary functions on them that are inlined into the loops that
// use them. For code inside src/simd that joins several functions in one pass.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "simd/coefficients.hpp"
#include "simd/isa.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Functions on packs are always inlined.
#define WP_PACK [[gnu::always_inline]] inline

namespace wp::simd {

// The layout of a type, and where its functions end.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Limits = std::numeric_limits<float>;
  static constexpr int mantissa = 23;
  static constexpr std::int32_t bias = 127, magnitude = 0x7fffffff, mantissa_bits = 0x7fffff, upper_half = ~0xfff,
                                one_bits = 0x3f800000, sqrt_half_bits = 0x3f3504f3, integer_bits = 0x4b000000;
  static constexpr float to_integer = 0x1.8p23f;  // x + to_integer has round(x) in its last bits
  static constexpr float integer_base = 0x1p23f, two_mantissa = 0x1p24f, log2e = 0x1.715476p0f;
  static constexpr float ln2_high = coefficients::ln2_high24, ln2_low = coefficients::ln2_low24;
  static constexpr float smallest = Limits::min(), largest = Limits::max();
  static constexpr float infinity = Limits::infinity(), nan = Limits::quiet_NaN();
  static constexpr float exp_overflow = 89, exp_underflow = -104;  // beyond: inf, 0
  static constexpr float exp_normal = 86;  // up to ±it the result is well inside the normal numbers
  static constexpr float tanh_one = 10;    // beyond: 1
  static constexpr float silu_zero = 110, gelu_zero = 15, gelu_tanh_zero = 12;  // below −it: −0
  static constexpr float erfc_zero = 10.5;                                      // beyond: 0
  static constexpr float mills_centre = 4;
  static constexpr float gelu_scale_high = coefficients::gelu_scale_high24;
  static constexpr float gelu_scale_low = coefficients::gelu_scale_low24;
  static constexpr float gelu_cubic_high = coefficients::gelu_cubic_high24;
  static constexpr float gelu_cubic_low = coefficients::gelu_cubic_low24;
  static constexpr auto& exp = coefficients::exp24;
  static constexpr auto& tanh = coefficients::tanh24;
  static constexpr auto& mills = coefficients::mills24;
  static constexpr auto& erf = coefficients::erf24;
};
template <>
struct Format<double> {
  using Limits = std::numeric_limits<double>;
  static constexpr int mantissa = 52;
  static constexpr std::int64_t bias = 1023, magnitude = 0x7fffffffffffffff, mantissa_bits = 0xfffffffffffff,
                                upper_half = ~0x7ffffff, one_bits = 0x3ff0000000000000,
                                sqrt_half_bits = 0x3fe6a09e667f3bcd, integer_bits = 0x4330000000000000;
  static constexpr double to_integer = 0x1.8p52;
  static constexpr double integer_base = 0x1p52, two_mantissa = 0x1p53, log2e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = coefficients::ln2_high53, ln2_low = coefficients::ln2_low53;
  static constexpr double smallest = Limits::min(), largest = Limits::max();
  static constexpr double infinity = Limits::infinity(), nan = Limits::quiet_NaN();
  static constexpr double exp_overflow = 710, exp_underflow = -746, exp_normal = 707;
  static constexpr double tanh_one = 20;
  static constexpr double silu_zero = 760, gelu_zero = 39, gelu_tanh_zero = 22, erfc_zero = 27.5;
  static constexpr double mills_centre = 5;
  static constexpr double gelu_scale_high = coefficients::gelu_scale_high53;
  static constexpr double gelu_scale_low = coefficients::gelu_scale_low53;
  static constexpr double gelu_cubic_high = coefficients::gelu_cubic_high53;
  static constexpr double gelu_cubic_low = coefficients::gelu_cubic_low53;
  static constexpr auto& exp = coefficients::exp53;
  static constexpr auto& tanh = coefficients::tanh53;
  static constexpr auto& mills = coefficients::mills53;
  static constexpr auto& erf = coefficients::erf53;
};

namespace baseline {
inline constexpr int kPackBytes = 16;
inline constexpr bool kFused = false;
#include "simd/pack.inl"
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return a * b + c;
}
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return a * b + c;
}
inline bool any(Int<double> mask) {
  return (mask[0] | mask[1]) != 0;
}
inline bool any(Int<float> mask) {
  return any(std::bit_cast<Int<double>>(mask));
}
inline Vec<float> lesser(Vec<float> a, Vec<float> b) {
  return a < b ? a : b;
}
inline Vec<double> lesser(Vec<double> a, Vec<double> b) {
  return a < b ? a : b;
}
inline Vec<double> square_root(Vec<double> a) {
#if defined(__x86_64__)
  return _mm_sqrt_pd(a);
#else
  return Vec<double>{__builtin_sqrt(a[0]), __builtin_sqrt(a[1])};
#endif
}
// 1/√a, and √a into root; a > 0 is a normal number.
inline Vec<double> inverse_root(Vec<double> a, Vec<double>& root) {
  root = square_root(a);
  return 1.0 / root;
}
WP_PACK Four<float> multiply_add(Four<float> a, Four<float> b, Four<float> c) {
  return a * b + c;
}
WP_PACK Four<double> multiply_add(Four<double> a, Four<double> b, Four<double> c) {
  return a * b + c;
}
#include "simd/elementary.inl"

#include "simd/activations.inl"
}  // namespace baseline

#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
inline constexpr int kPackBytes = 32;
inline constexpr bool kFused = true;
#include "simd/pack.inl"
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return _mm256_fmadd_ps(a, b, c);
}
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
inline Vec<float> lesser(Vec<float> a, Vec<float> b) {
  return _mm256_min_ps(a, b);
}
inline Vec<double> lesser(Vec<double> a, Vec<double> b) {
  return _mm256_min_pd(a, b);
}
inline Vec<double> square_root(Vec<double> a) {
  return _mm256_sqrt_pd(a);
}
// 1/√a, and √a into root; a > 0 is a normal number.
inline Vec<double> inverse_root(Vec<double> a, Vec<double>& root) {
  root = square_root(a);
  return 1.0 / root;
}
inline bool any(Int<float> mask) {
  return _mm256_movemask_ps(std::bit_cast<__m256>(mask)) != 0;
}
inline bool any(Int<double> mask) {
  return _mm256_movemask_pd(std::bit_cast<__m256d>(mask)) != 0;
}
WP_PACK Four<float> multiply_add(Four<float> a, Four<float> b, Four<float> c) {
  return _mm_fmadd_ps(a, b, c);
}
WP_PACK Four<double> multiply_add(Four<double> a, Four<double> b, Four<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
#include "simd/elementary.inl"

#include "simd/activations.inl"
}  // namespace avx2
WP_END_ISA

WP_BEGIN_AVX512
namespace avx512 {
inline constexpr int kPackBytes = 64;
inline constexpr bool kFused = true;
#include "simd/pack.inl"
inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm512_fmadd_pd(a, b, c);
}
inline Vec<float> lesser(Vec<float> a, Vec<float> b) {
  return a < b ? a : b;
}
inline Vec<double> lesser(Vec<double> a, Vec<double> b) {
  return a < b ? a : b;
}
inline Vec<double> square_root(Vec<double> a) {
  return _mm512_mask_sqrt_pd(a, 0xff, a);  // the plain one warns of its own undefined operand
}
// 1/√a, and √a into root; a > 0 is a normal number. From 14 digits by Newton's steps (Markstein 2000): the divider
// would take 48 cycles, in which nothing else is divided.
inline Vec<double> inverse_root(Vec<double> a, Vec<double>& root) {
  const Vec<double> start = _mm512_mask_rsqrt14_pd(a, 0xff, a), half = Vec<double>{} + 0.5;
  Vec<double> g = a * start, h = 0.5 * start;
  for (int step = 0; step < 2; ++step) {
    const Vec<double> rest = fma(-g, h, half);
    g = fma(g, rest, g);
    h = fma(h, rest, h);
  }
  root = fma(fma(-g, g, a), h, g);
  return 2.0 * h;
}
inline bool any(Int<float> mask) {
  return _mm512_movepi32_mask(std::bit_cast<__m512i>(mask)) != 0;
}
inline bool any(Int<double> mask) {
  return _mm512_movepi64_mask(std::bit_cast<__m512i>(mask)) != 0;
}
WP_PACK Four<float> multiply_add(Four<float> a, Four<float> b, Four<float> c) {
  return _mm_fmadd_ps(a, b, c);
}
WP_PACK Four<double> multiply_add(Four<double> a, Four<double> b, Four<double> c) {
  return _mm256_fmadd_pd(a, b, c);
}
#include "simd/elementary.inl"

#include "simd/activations.inl"
}  // namespace avx512
WP_END_ISA
#endif

}  // namespace wp::simd
