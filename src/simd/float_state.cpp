#include "simd/float_state.hpp"

#include <cfenv>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <sleef.h>

namespace wp::simd {

FloatState float_state() noexcept {
  FloatState s;
#if defined(__x86_64__)
  const unsigned mxcsr = _mm_getcsr();  // bits 13 and 14: rounding, bit 15: FTZ, bit 6: DAZ
  s.rounding = static_cast<Rounding>(mxcsr >> 13 & 3U);
  s.flush_to_zero = (mxcsr & 0x8000U) != 0;
  s.denormals_are_zero = (mxcsr & 0x40U) != 0;
#else
  switch (std::fegetround()) {
    case FE_DOWNWARD: s.rounding = Rounding::down; break;
    case FE_UPWARD: s.rounding = Rounding::up; break;
    case FE_TOWARDZERO: s.rounding = Rounding::zero; break;
    default: break;
  }
  volatile double least = std::numeric_limits<double>::min();
  volatile double half = least / 2;
  s.flush_to_zero = half == 0;
  volatile double subnormal = std::numeric_limits<double>::denorm_min();
  s.denormals_are_zero = subnormal * 0x1p60 == 0;
#endif
  return s;
}

std::string_view name(Rounding r) noexcept {
  constexpr std::string_view names[] = {"to nearest", "down", "up", "towards zero"};
  return names[static_cast<int>(r)];
}

#define WP_TEXT(x) #x
#define WP_VERSION_TEXT(a, b, c) WP_TEXT(a) "." WP_TEXT(b) "." WP_TEXT(c)
std::string_view sleef_version() noexcept {
  return WP_VERSION_TEXT(SLEEF_VERSION_MAJOR, SLEEF_VERSION_MINOR, SLEEF_VERSION_PATCHLEVEL);
}

}  // namespace wp::simd
