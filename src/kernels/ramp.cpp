#include "kernels/ramp.hpp"

#include <algorithm>
#include <cmath>

#include "simd/isa.hpp"

namespace wp::kernels {
namespace {

#define WP_PER_ISA "kernels/ramp.inl"
#include "simd/per_isa.inl"

constexpr std::int64_t kRun = 1 << 20;

}  // namespace

void ramp(double* out, std::int64_t first, std::int64_t n, double start, double step) {
  constexpr decltype(&baseline::ramp) fn[] = {baseline::ramp, avx2::ramp, avx512::ramp};
  for (std::int64_t at = 0; at < n; at += kRun)
    fn[static_cast<int>(simd::isa())](out + at, static_cast<double>(first + at),
                                      static_cast<int>(std::min(kRun, n - at)), start, step);
}

void spread(double* out, std::int64_t first, std::int64_t n, double start, double stop, std::int64_t parts) {
  constexpr decltype(&baseline::spread) fn[] = {baseline::spread, avx2::spread, avx512::spread};
  // A power of two keeps products of huge ends from overflowing, and errors of tiny ones from underflowing.
  const double size = std::max(std::fabs(start), std::fabs(stop));
  const double scale = size > 0x1p900 ? 0x1p-80 : size < 0x1p-800 ? 0x1p200 : 1.0;
  for (std::int64_t at = 0; at < n; at += kRun)
    fn[static_cast<int>(simd::isa())](out + at, static_cast<double>(first + at),
                                      static_cast<int>(std::min(kRun, n - at)), start * scale, stop * scale,
                                      static_cast<double>(parts), 1 / scale);
}

}  // namespace wp::kernels
