#include "simd/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wp::simd {

#if defined(__x86_64__)
void stream_copy(void* dst, const void* src, std::size_t bytes) noexcept {
  auto* d = static_cast<char*>(dst);
  const auto* s = static_cast<const char*>(src);
  const std::size_t head = std::min<std::size_t>((64 - reinterpret_cast<std::uintptr_t>(d) % 64) % 64, bytes);
  std::memcpy(d, s, head);
  d += head;
  s += head;
  bytes -= head;
  for (; bytes >= 64; bytes -= 64, d += 64, s += 64)
    for (int k = 0; k < 4; ++k)
      _mm_stream_si128(reinterpret_cast<__m128i*>(d) + k, _mm_loadu_si128(reinterpret_cast<const __m128i*>(s) + k));
  std::memcpy(d, s, bytes);
}
void stream_fence() noexcept {
  _mm_sfence();
}
#else
void stream_copy(void* dst, const void* src, std::size_t bytes) noexcept {
  std::memcpy(dst, src, bytes);
}
void stream_fence() noexcept {}
#endif

std::size_t stream_threshold() noexcept {
  static const std::size_t bytes = [] {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::max<std::size_t>(cache > 0 ? static_cast<std::size_t>(cache) : 0, std::size_t{16} << 20);
  }();
  return bytes;
}

}  // namespace wp::simd
