// A counter that runs at a constant rate and costs a few nanoseconds to read.
#pragma once
#include <cstdint>
#include <ctime>

namespace wp::simd {

// The time-stamp counter; elsewhere nanoseconds of CLOCK_MONOTONIC.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
#endif
}

}  // namespace wp::simd
