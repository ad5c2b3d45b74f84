// The range of eight elements at equal distances, in a few instructions.
#pragma once
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace wp::simd {

template <class T>
struct RangeOf {
  T min, max;  // of any use only if
  bool finite;
};

#if defined(__SSE2__)

inline RangeOf<float> range_of_eight(const float* p, std::int64_t step) noexcept {
  const __m128 a = _mm_setr_ps(p[0], p[step], p[2 * step], p[3 * step]);
  const __m128 b = _mm_setr_ps(p[4 * step], p[5 * step], p[6 * step], p[7 * step]);
  const __m128 doubt = _mm_add_ps(_mm_sub_ps(a, a), _mm_sub_ps(b, b));  // NaN where one is not finite
  const bool finite = _mm_movemask_ps(_mm_cmpunord_ps(doubt, doubt)) == 0;
  const __m128 low = _mm_min_ps(a, b), high = _mm_max_ps(a, b);
  const __m128 low2 = _mm_min_ps(low, _mm_movehl_ps(low, low)), high2 = _mm_max_ps(high, _mm_movehl_ps(high, high));
  return {_mm_cvtss_f32(_mm_min_ss(low2, _mm_shuffle_ps(low2, low2, 1))),
          _mm_cvtss_f32(_mm_max_ss(high2, _mm_shuffle_ps(high2, high2, 1))), finite};
}

inline RangeOf<double> range_of_eight(const double* p, std::int64_t step) noexcept {
  const __m128d a = _mm_setr_pd(p[0], p[step]), b = _mm_setr_pd(p[2 * step], p[3 * step]);
  const __m128d c = _mm_setr_pd(p[4 * step], p[5 * step]), d = _mm_setr_pd(p[6 * step], p[7 * step]);
  const __m128d doubt =
      _mm_add_pd(_mm_add_pd(_mm_sub_pd(a, a), _mm_sub_pd(b, b)), _mm_add_pd(_mm_sub_pd(c, c), _mm_sub_pd(d, d)));
  const bool finite = _mm_movemask_pd(_mm_cmpunord_pd(doubt, doubt)) == 0;
  const __m128d low = _mm_min_pd(_mm_min_pd(a, b), _mm_min_pd(c, d));
  const __m128d high = _mm_max_pd(_mm_max_pd(a, b), _mm_max_pd(c, d));
  return {_mm_cvtsd_f64(_mm_min_sd(low, _mm_unpackhi_pd(low, low))),
          _mm_cvtsd_f64(_mm_max_sd(high, _mm_unpackhi_pd(high, high))), finite};
}

#else

template <class T>
RangeOf<T> range_of_eight(const T* p, std::int64_t step) noexcept {
  RangeOf<T> r{p[0], p[0], true};
  T doubt = 0;
  for (int i = 0; i < 8; ++i, p += step) {
    r.min = *p < r.min ? *p : r.min;
    r.max = *p > r.max ? *p : r.max;
    doubt += *p - *p;
  }
  r.finite = doubt == 0;
  return r;
}

#endif

}  // namespace wp::simd
