// Transposes a square of elements that fits into registers.
#pragma once
#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace wp::simd {

// Side of the square: 16 bytes, one register per row.
template <class T>
inline constexpr int kSquare = 16 / static_cast<int>(sizeof(T));

#if defined(__x86_64__)
namespace detail {
// Interleaves elements of `size` bytes of two registers.
template <int size, bool high>
[[gnu::always_inline]] inline __m128i interleave(__m128i a, __m128i b) {
  if constexpr (size == 1)
    return high ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
  else if constexpr (size == 2)
    return high ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
  else if constexpr (size == 4)
    return high ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
  else
    return high ? _mm_unpackhi_epi64(a, b) : _mm_unpacklo_epi64(a, b);
}
}  // namespace detail
#endif

// d[r · d_row + c] = s[c · s_row + r] for r, c < kSquare. log2(side) rounds: each interleaves row i with row
// i + side/2 (a perfect shuffle of the 2·log2(side) index bits, which ends as the transposition).
template <class T>
[[gnu::always_inline]] inline void transpose_square(T* d, std::int64_t d_row, const T* s, std::int64_t s_row) {
  constexpr int n = kSquare<T>;
#if defined(__x86_64__)
  if constexpr (n > 1) {
    __m128i a[n], b[n];
    for (int i = 0; i < n; ++i) a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i * s_row));
    for (int round = n; round > 1; round /= 2) {
      for (int i = 0; i < n / 2; ++i) {
        b[2 * i] = detail::interleave<sizeof(T), false>(a[i], a[i + n / 2]);
        b[2 * i + 1] = detail::interleave<sizeof(T), true>(a[i], a[i + n / 2]);
      }
      for (int i = 0; i < n; ++i) a[i] = b[i];
    }
    for (int i = 0; i < n; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i * d_row), a[i]);
    return;
  }
#endif
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < n; ++r) d[r * d_row + c] = s[c * s_row + r];
}

}  // namespace wp::simd
