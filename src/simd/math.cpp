#include "simd/math.hpp"

#include <cstring>

#include "simd/pack.hpp"

// What SLEEF computes, and the bound of each in hundredths of an ulp. sleef.h declares the AVX functions only where
// the whole file is compiled for AVX; the symbols are the same.
// clang-format off
#define WP_SLEEF1(X)                                                                                       \
  X(exp2, u10) X(expm1, u10) X(log2, u10) X(log10, u10) X(log1p, u10)                                      \
  X(sin, u10) X(cos, u10) X(tan, u10) X(asin, u10) X(acos, u10) X(atan, u10)                               \
  X(sinh, u10) X(cosh, u10) X(asinh, u10) X(acosh, u10) X(atanh, u10)                                      \
  X(erfc, u15) X(lgamma, u10) X(cbrt, u10)
#define WP_SLEEF2(X) X(pow, u10) X(atan2, u10) X(hypot, u05)
#define WP_OWN1(X)                                                                                         \
  X(exp, ) X(log, ) X(tanh, ) X(digamma, ) X(sigmoid, ) X(silu, ) X(softplus, ) X(gelu, ) X(gelu_tanh, ) X(erf, )
#define WP_OWN2(X)                                                                                         \
  X(logaddexp, ) X(sigmoid_slope, ) X(tanh_slope, ) X(silu_slope, ) X(softplus_slope, ) X(gelu_slope, )    \
  X(gelu_tanh_slope, ) X(expm1_slope, ) X(sin_slope, ) X(cos_slope, )
// clang-format on

namespace wp::simd {
template <Fn>
struct FnTag {};
}  // namespace wp::simd

#if defined(__x86_64__)
extern "C" {
#define WP_DECLARE1(name, ulp)                     \
  __m128 Sleef_##name##f4_##ulp##sse2(__m128);     \
  __m128d Sleef_##name##d2_##ulp##sse2(__m128d);   \
  __m256 Sleef_##name##f8_##ulp##avx2(__m256);     \
  __m256d Sleef_##name##d4_##ulp##avx2(__m256d);   \
  __m512 Sleef_##name##f16_##ulp##avx512f(__m512); \
  __m512d Sleef_##name##d8_##ulp##avx512f(__m512d);
#define WP_DECLARE2(name, ulp)                             \
  __m128 Sleef_##name##f4_##ulp##sse2(__m128, __m128);     \
  __m128d Sleef_##name##d2_##ulp##sse2(__m128d, __m128d);  \
  __m256 Sleef_##name##f8_##ulp##avx2(__m256, __m256);     \
  __m256d Sleef_##name##d4_##ulp##avx2(__m256d, __m256d);  \
  __m512 Sleef_##name##f16_##ulp##avx512f(__m512, __m512); \
  __m512d Sleef_##name##d8_##ulp##avx512f(__m512d, __m512d);
WP_SLEEF1(WP_DECLARE1)
WP_SLEEF2(WP_DECLARE2)
}

#define WP_CALL1(name, ulp, floats, doubles, set)             \
  WP_PACK Vec<float> sleef(FnTag<Fn::name>, Vec<float> x) {   \
    return Sleef_##name##floats##_##ulp##set(x);              \
  }                                                           \
  WP_PACK Vec<double> sleef(FnTag<Fn::name>, Vec<double> x) { \
    return Sleef_##name##doubles##_##ulp##set(x);             \
  }
#define WP_CALL2(name, ulp, floats, doubles, set)                            \
  WP_PACK Vec<float> sleef(FnTag<Fn::name>, Vec<float> x, Vec<float> y) {    \
    return Sleef_##name##floats##_##ulp##set(x, y);                          \
  }                                                                          \
  WP_PACK Vec<double> sleef(FnTag<Fn::name>, Vec<double> x, Vec<double> y) { \
    return Sleef_##name##doubles##_##ulp##set(x, y);                         \
  }
#define WP_SSE2_1(name, ulp) WP_CALL1(name, ulp, f4, d2, sse2)
#define WP_SSE2_2(name, ulp) WP_CALL2(name, ulp, f4, d2, sse2)
#define WP_AVX2_1(name, ulp) WP_CALL1(name, ulp, f8, d4, avx2)
#define WP_AVX2_2(name, ulp) WP_CALL2(name, ulp, f8, d4, avx2)
#define WP_AVX512_1(name, ulp) WP_CALL1(name, ulp, f16, d8, avx512f)
#define WP_AVX512_2(name, ulp) WP_CALL2(name, ulp, f16, d8, avx512f)

namespace wp::simd {
namespace baseline {
WP_SLEEF1(WP_SSE2_1)
WP_SLEEF2(WP_SSE2_2)
#include "simd/math.inl"
}  // namespace baseline
WP_BEGIN_AVX2
namespace avx2 {
WP_SLEEF1(WP_AVX2_1)
WP_SLEEF2(WP_AVX2_2)
#include "simd/math.inl"
}  // namespace avx2
WP_END_ISA
WP_BEGIN_AVX512
namespace avx512 {
WP_SLEEF1(WP_AVX512_1)
WP_SLEEF2(WP_AVX512_2)
#include "simd/math.inl"
}  // namespace avx512
WP_END_ISA
}  // namespace wp::simd

#else  // elsewhere: SLEEF's scalar functions, lane by lane

extern "C" {
#define WP_DECLARE1(name, ulp)        \
  float Sleef_##name##f_##ulp(float); \
  double Sleef_##name##_##ulp(double);
#define WP_DECLARE2(name, ulp)               \
  float Sleef_##name##f_##ulp(float, float); \
  double Sleef_##name##_##ulp(double, double);
WP_SLEEF1(WP_DECLARE1)
WP_SLEEF2(WP_DECLARE2)
}
namespace wp::simd::baseline {
#define WP_LANES1(name, ulp)                                        \
  inline Vec<float> sleef(FnTag<Fn::name>, Vec<float> x) {          \
    for (int i = 0; i < 4; ++i) x[i] = Sleef_##name##f_##ulp(x[i]); \
    return x;                                                       \
  }                                                                 \
  inline Vec<double> sleef(FnTag<Fn::name>, Vec<double> x) {        \
    for (int i = 0; i < 2; ++i) x[i] = Sleef_##name##_##ulp(x[i]);  \
    return x;                                                       \
  }
#define WP_LANES2(name, ulp)                                                \
  inline Vec<float> sleef(FnTag<Fn::name>, Vec<float> x, Vec<float> y) {    \
    for (int i = 0; i < 4; ++i) x[i] = Sleef_##name##f_##ulp(x[i], y[i]);   \
    return x;                                                               \
  }                                                                         \
  inline Vec<double> sleef(FnTag<Fn::name>, Vec<double> x, Vec<double> y) { \
    for (int i = 0; i < 2; ++i) x[i] = Sleef_##name##_##ulp(x[i], y[i]);    \
    return x;                                                               \
  }
WP_SLEEF1(WP_LANES1)
WP_SLEEF2(WP_LANES2)
#include "simd/math.inl"
}  // namespace wp::simd::baseline
#endif

namespace wp::simd {
#define WP_ROW(set, name)                                                        \
  template void set::math<Fn::name, float>(void* const*, std::int64_t, Status*); \
  template void set::math<Fn::name, double>(void* const*, std::int64_t, Status*);
#if defined(__x86_64__)
#define WP_INSTANTIATE(name, ulp) WP_ROW(baseline, name) WP_ROW(avx2, name) WP_ROW(avx512, name)
#else
#define WP_INSTANTIATE(name, ulp) WP_ROW(baseline, name)
#endif
WP_SLEEF1(WP_INSTANTIATE)
WP_SLEEF2(WP_INSTANTIATE)
WP_OWN1(WP_INSTANTIATE)
WP_OWN2(WP_INSTANTIATE)
}  // namespace wp::simd
