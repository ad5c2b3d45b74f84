#include "simd/philox.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wp::simd {

namespace baseline {
using V [[gnu::vector_size(16)]] = std::uint64_t;
[[gnu::always_inline]] inline V multiply(V a, V b) {
#if defined(__x86_64__)
  return reinterpret_cast<V>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xffffffffU) * (b & 0xffffffffU);
#endif
}
[[gnu::always_inline]] inline void interleave(V a, V b, std::uint64_t* out) {
  const V parts[] = {__builtin_shufflevector(a, b, 0, 2), __builtin_shufflevector(a, b, 1, 3)};
  std::memcpy(out, parts, sizeof parts);
}
#include "simd/philox.inl"
}  // namespace baseline

#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
using V [[gnu::vector_size(32)]] = std::uint64_t;
[[gnu::always_inline]] inline V multiply(V a, V b) {
  return reinterpret_cast<V>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
[[gnu::always_inline]] inline void interleave(V a, V b, std::uint64_t* out) {
  const V parts[] = {__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(a, b, 2, 6, 3, 7)};
  std::memcpy(out, parts, sizeof parts);
}
#include "simd/philox.inl"
}  // namespace avx2
WP_END_ISA

WP_BEGIN_AVX512
namespace avx512 {
using V [[gnu::vector_size(64)]] = std::uint64_t;
[[gnu::always_inline]] inline V multiply(V a, V b) {
  return reinterpret_cast<V>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
[[gnu::always_inline]] inline void interleave(V a, V b, std::uint64_t* out) {
  const V parts[] = {__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11),
                     __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)};
  std::memcpy(out, parts, sizeof parts);
}
#include "simd/philox.inl"
}  // namespace avx512
WP_END_ISA
#endif

const Philox philox_blocks[kIsas] = {baseline::fill, avx2::fill, avx512::fill};

}  // namespace wp::simd
