#include "simd/math.hpp"

#include <immintrin.h>

#include <cstring>

// sleef.h declares the AVX functions only where the whole file is compiled for AVX; the symbols are the same.
#define WP_FUNCTIONS(X1, X2)                                                                                        \
  X1(exp, u10)                                                                                                      \
  X1(exp2, u10) X1(exp10, u10) X1(expm1, u10) X1(log, u10) X1(log2, u10) X1(log10, u10) X1(log1p, u10) X1(sin, u10) \
      X1(cos, u10) X1(tan, u10) X1(asin, u10) X1(acos, u10) X1(atan, u10) X1(sinh, u10) X1(cosh, u10) X1(tanh, u10) \
          X1(asinh, u10) X1(acosh, u10) X1(atanh, u10) X1(erf, u10) X1(erfc, u15) X1(lgamma, u10) X1(tgamma, u10)   \
              X1(cbrt, u10) X2(pow, u10) X2(atan2, u10) X2(hypot, u05)

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
WP_FUNCTIONS(WP_DECLARE1, WP_DECLARE2)
}

namespace wp::simd {

template <Fn>
struct FnTag {};

#define WP_CALL1(name, ulp, F, D, floats, doubles, set)         \
  [[gnu::always_inline]] inline F apply(FnTag<Fn::name>, F x) { \
    return Sleef_##name##floats##_##ulp##set(x);                \
  }                                                             \
  [[gnu::always_inline]] inline D apply(FnTag<Fn::name>, D x) { \
    return Sleef_##name##doubles##_##ulp##set(x);               \
  }
#define WP_CALL2(name, ulp, F, D, floats, doubles, set)              \
  [[gnu::always_inline]] inline F apply(FnTag<Fn::name>, F x, F y) { \
    return Sleef_##name##floats##_##ulp##set(x, y);                  \
  }                                                                  \
  [[gnu::always_inline]] inline D apply(FnTag<Fn::name>, D x, D y) { \
    return Sleef_##name##doubles##_##ulp##set(x, y);                 \
  }

namespace baseline {
template <class T>
struct Packed {
  using type = __m128;
};
template <>
struct Packed<double> {
  using type = __m128d;
};
#define WP_X1(name, ulp) WP_CALL1(name, ulp, __m128, __m128d, f4, d2, sse2)
#define WP_X2(name, ulp) WP_CALL2(name, ulp, __m128, __m128d, f4, d2, sse2)
WP_FUNCTIONS(WP_X1, WP_X2)
#undef WP_X1
#undef WP_X2
#include "simd/math.inl"
}  // namespace baseline

WP_BEGIN_AVX2
namespace avx2 {
template <class T>
struct Packed {
  using type = __m256;
};
template <>
struct Packed<double> {
  using type = __m256d;
};
#define WP_X1(name, ulp) WP_CALL1(name, ulp, __m256, __m256d, f8, d4, avx2)
#define WP_X2(name, ulp) WP_CALL2(name, ulp, __m256, __m256d, f8, d4, avx2)
WP_FUNCTIONS(WP_X1, WP_X2)
#undef WP_X1
#undef WP_X2
#include "simd/math.inl"
}  // namespace avx2
WP_END_ISA

WP_BEGIN_AVX512
namespace avx512 {
template <class T>
struct Packed {
  using type = __m512;
};
template <>
struct Packed<double> {
  using type = __m512d;
};
#define WP_X1(name, ulp) WP_CALL1(name, ulp, __m512, __m512d, f16, d8, avx512f)
#define WP_X2(name, ulp) WP_CALL2(name, ulp, __m512, __m512d, f16, d8, avx512f)
WP_FUNCTIONS(WP_X1, WP_X2)
#undef WP_X1
#undef WP_X2
#include "simd/math.inl"
}  // namespace avx512
WP_END_ISA

#define WP_INSTANTIATE(name, ulp)                                                      \
  template void baseline::math<Fn::name, float>(void* const*, std::int64_t, Status*);  \
  template void baseline::math<Fn::name, double>(void* const*, std::int64_t, Status*); \
  template void avx2::math<Fn::name, float>(void* const*, std::int64_t, Status*);      \
  template void avx2::math<Fn::name, double>(void* const*, std::int64_t, Status*);     \
  template void avx512::math<Fn::name, float>(void* const*, std::int64_t, Status*);    \
  template void avx512::math<Fn::name, double>(void* const*, std::int64_t, Status*);
WP_FUNCTIONS(WP_INSTANTIATE, WP_INSTANTIATE)

}  // namespace wp::simd
