// The floating-point state of this thread: foreign code can change it behind our back (a library linked with
// -ffast-math sets flush-to-zero when it is loaded).
#pragma once
#include <cfenv>
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

// The standard's state while it lives, in threads of others, who may have another (TensorFlow's and XLA's flush to
// zero): rounding to nearest, subnormal numbers as they are.
class StandardFloats {
 public:
  StandardFloats() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  StandardFloats(const StandardFloats&) = delete;
  StandardFloats& operator=(const StandardFloats&) = delete;
  ~StandardFloats() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

// "3.5.1": of the SLEEF this was compiled with.
std::string_view sleef_version() noexcept;

}  // namespace wp::simd
