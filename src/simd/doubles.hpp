// More functions on packs of double, for kernels that keep whole matrices in registers:
//   fnma(a, b, c) = c − a·b, rounded as fma();  greater(a, b) = a > b ? a : b.
#pragma once
#include "simd/pack.hpp"

namespace wp::simd {

namespace baseline {
WP_PACK Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return c - a * b;
}
WP_PACK Vec<double> greater(Vec<double> a, Vec<double> b) {
#if defined(__x86_64__)
  return _mm_max_pd(a, b);
#else
  return a > b ? a : b;
#endif
}
}  // namespace baseline

#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
WP_PACK Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm256_fnmadd_pd(a, b, c);
}
WP_PACK Vec<double> greater(Vec<double> a, Vec<double> b) {
  return _mm256_max_pd(a, b);
}
}  // namespace avx2
WP_END_ISA

WP_BEGIN_AVX512
namespace avx512 {
WP_PACK Vec<double> fnma(Vec<double> a, Vec<double> b, Vec<double> c) {
  return _mm512_fnmadd_pd(a, b, c);
}
WP_PACK Vec<double> greater(Vec<double> a, Vec<double> b) {
  return _mm512_mask_max_pd(a, 0xff, a, b);  // the plain one warns of its own undefined operand
}
// For halves that come from memory or go there: g++ 12 would shuffle them.
WP_PACK Vec<double> of_halves(Four<double> low, Four<double> high) {
  return _mm512_maskz_insertf64x4(0xff, _mm512_castpd256_pd512(low), high, 1);
}
WP_PACK Four<double> upper_half(Vec<double> a) {
  return _mm512_maskz_extractf64x4_pd(0xf, a, 1);
}
}  // namespace avx512
WP_END_ISA
#endif

}  // namespace wp::simd
