#include "kernels/scan.hpp"

#include <algorithm>
#include <atomic>

#include "base/pool.hpp"
#include "simd/isa.hpp"

namespace wp::kernels {
namespace {

#define WP_PER_ISA "kernels/scan.inl"
#include "simd/per_isa.inl"

template <class Bits, Bits exponent>
bool any(const void* data, std::int64_t n) {
  constexpr bool (*fn[])(const void*, std::int64_t) = {
      baseline::any_bad<Bits, exponent>, avx2::any_bad<Bits, exponent>, avx512::any_bad<Bits, exponent>};
  return fn[static_cast<int>(simd::isa())](data, n);
}

// Complex numbers are two reals.
bool any_serial(DType dtype, const void* data, std::int64_t n) {
  switch (dtype) {
    case DType::f16: return any<std::int16_t, 0x7c00>(data, n);
    case DType::bf16: return any<std::int16_t, 0x7f80>(data, n);
    case DType::f32: return any<std::int32_t, 0x7f800000>(data, n);
    case DType::f64: return any<std::int64_t, 0x7ff0000000000000>(data, n);
    case DType::c64: return any<std::int32_t, 0x7f800000>(data, 2 * n);
    case DType::c128: return any<std::int64_t, 0x7ff0000000000000>(data, 2 * n);
    default: return false;
  }
}

}  // namespace

bool any_nonfinite(DType dtype, const void* data, std::int64_t n) {
  constexpr std::int64_t grain = 1 << 18;
  if (n <= grain) return any_serial(dtype, data, n);
  std::atomic<bool> bad{false};
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    if (bad.load(std::memory_order_relaxed)) return;
    if (any_serial(dtype, static_cast<const char*>(data) + begin * static_cast<std::int64_t>(size_of(dtype)),
                   end - begin))
      bad.store(true, std::memory_order_relaxed);
  });
  return bad.load();
}

std::int64_t first_nonfinite(DType dtype, const void* data, std::int64_t from, std::int64_t n) {
  const auto at = [&](std::int64_t e) {
    return static_cast<const char*>(data) + e * static_cast<std::int64_t>(size_of(dtype));
  };
  constexpr std::int64_t block = 4096;
  for (std::int64_t i = from; i < n; i += block) {
    const std::int64_t end = std::min(i + block, n);
    if (!any_serial(dtype, at(i), end - i)) continue;
    std::int64_t lo = i;
    while (!any_serial(dtype, at(lo), 1)) ++lo;
    return lo;
  }
  return -1;
}

}  // namespace wp::kernels
