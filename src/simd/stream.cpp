#include "simd/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
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

namespace {

// What the kernel says of the last cache that this CPU shares; sysconf counts all caches of the socket.
std::size_t last_cache() noexcept {
  std::size_t kib = 0;
  if (FILE* f = std::fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re")) {
    if (std::fscanf(f, "%zuK", &kib) != 1) kib = 0;
    std::fclose(f);
  }
  const long cache = kib ? static_cast<long>(kib * 1024) : sysconf(_SC_LEVEL3_CACHE_SIZE);
  return cache > 0 ? static_cast<std::size_t>(cache) : 0;
}

}  // namespace

std::size_t stream_threshold() noexcept {
  static const std::size_t bytes = std::max(last_cache(), std::size_t{16} << 20);
  return bytes;
}

}  // namespace wp::simd
