// The floating-point state of this thread: foreign code can change it behind our back (a library linked with
// -ffast-math sets flush-to-zero when it is loaded).
#pragma once
#include <string_view>

namespace wp::simd {

enum class Rounding : int { nearest, down, up, zero };
struct FloatState {
  Rounding rounding = Rounding::nearest;
  bool flush_to_zero = false;       // FTZ: subnormal results become 0
  bool denormals_are_zero = false;  // DAZ: subnormal operands count as 0
};
FloatState float_state() noexcept;
std::string_view name(Rounding r) noexcept;

// "3.5.1": of the SLEEF this was compiled with.
std::string_view sleef_version() noexcept;

}  // namespace wp::simd
