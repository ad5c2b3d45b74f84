// Which instruction set the loops use, chosen once: the best of this CPU, or WELLPOSED_ISA=baseline|avx2|avx512.
#pragma once
#include <string_view>

namespace wp::simd {

enum class Isa : int { baseline, avx2, avx512 };
inline constexpr int kIsas = 3;
bool supported(Isa isa) noexcept;
std::string_view name(Isa isa) noexcept;

namespace detail {
extern int active;
}
inline Isa isa() noexcept {
  return static_cast<Isa>(detail::active);
}
// For tests: runs the loops of another set. Throws ArgumentError where the CPU does not have it.
void set_isa(Isa isa);

}  // namespace wp::simd

// Code between begin and end is compiled for that instruction set, whatever the rest of the file is compiled for.
#define WP_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,f16c,bmi,bmi2,lzcnt\")")
#define WP_BEGIN_AVX512                \
  _Pragma("GCC push_options") _Pragma( \
      "GCC target(\"avx2,fma,f16c,bmi,bmi2,lzcnt,avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512\")")
#define WP_END_ISA _Pragma("GCC pop_options")
