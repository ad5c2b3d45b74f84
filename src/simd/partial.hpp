// Packs of which only the first elements stand in memory: those beyond are read as zeros and not written.
#pragma once
#include "simd/pack.hpp"

namespace wp::simd {

namespace baseline {
template <class T>
struct First {
  int count;
};
template <class T>
WP_PACK First<T> first_of(int count) {
  return {count};
}
template <class P, class T>
WP_PACK P load_first(const T* p, First<T> first) {
  P out{};
#pragma GCC unroll 4
  for (int i = 0; i < static_cast<int>(sizeof(P) / sizeof(T)); ++i)
    if (i < first.count) out[i] = p[i];
  return out;
}
template <class P, class T>
WP_PACK void store_first(T* p, P v, First<T> first) {
#pragma GCC unroll 4
  for (int i = 0; i < static_cast<int>(sizeof(P) / sizeof(T)); ++i)
    if (i < first.count) p[i] = v[i];
}
}  // namespace baseline

#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
template <class T>
struct First {
  __m256i mask;
};
template <class T>
WP_PACK First<T> first_of(int count) {
  Int<T> mask{};
  for (int i = 0; i < kPackBytes / static_cast<int>(sizeof(T)); ++i) mask[i] = i < count ? -1 : 0;
  return {std::bit_cast<__m256i>(mask)};
}
template <class P, class T>
WP_PACK P load_first(const T* p, First<T> first) {
  if constexpr (sizeof(P) == 16)
    return _mm_maskload_ps(p, _mm256_castsi256_si128(first.mask));
  else if constexpr (sizeof(T) == 4)
    return _mm256_maskload_ps(p, first.mask);
  else
    return _mm256_maskload_pd(p, first.mask);
}
template <class P, class T>
WP_PACK void store_first(T* p, P v, First<T> first) {
  if constexpr (sizeof(P) == 16)
    _mm_maskstore_ps(p, _mm256_castsi256_si128(first.mask), v);
  else if constexpr (sizeof(T) == 4)
    _mm256_maskstore_ps(p, first.mask, v);
  else
    _mm256_maskstore_pd(p, first.mask, v);
}
}  // namespace avx2
WP_END_ISA

WP_BEGIN_AVX512
namespace avx512 {
template <class T>
struct First {
  __mmask16 mask;
};
template <class T>
WP_PACK First<T> first_of(int count) {
  return {static_cast<__mmask16>((1U << count) - 1U)};
}
template <class P, class T>
WP_PACK P load_first(const T* p, First<T> first) {
  const auto low = static_cast<__mmask8>(first.mask);
  if constexpr (sizeof(P) == 16)
    return _mm_maskz_loadu_ps(low, p);
  else if constexpr (sizeof(P) == 32)
    return _mm256_maskz_loadu_pd(low, p);
  else if constexpr (sizeof(T) == 4)
    return _mm512_maskz_loadu_ps(first.mask, p);
  else
    return _mm512_maskz_loadu_pd(low, p);
}
template <class P, class T>
WP_PACK void store_first(T* p, P v, First<T> first) {
  const auto low = static_cast<__mmask8>(first.mask);
  if constexpr (sizeof(P) == 16)
    _mm_mask_storeu_ps(p, low, v);
  else if constexpr (sizeof(P) == 32)
    _mm256_mask_storeu_pd(p, low, v);
  else if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(p, first.mask, v);
  else
    _mm512_mask_storeu_pd(p, low, v);
}
}  // namespace avx512
WP_END_ISA
#endif

}  // namespace wp::simd
