// What a written value does with the one that stands there.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "kernels/convert.hpp"
#include "kernels/types.hpp"
#include "simd/loop.hpp"

namespace wp::kernels {

enum class Combine : std::uint8_t { set, add, multiply, min, max };

template <Combine mode>
struct Combiner {
  // Integers wrap around; NaN wins over min and max.
  template <class T>
  static T value(T a, T b) {
    if constexpr (mode == Combine::min || mode == Combine::max) {
      if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(a) || std::isnan(b)) return a + b;
      return (mode == Combine::min ? b < a : a < b) ? b : a;
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
      const U u = static_cast<U>(a), v = static_cast<U>(b);
      return static_cast<T>(mode == Combine::add ? u + v : u * v);
    } else {
      return mode == Combine::add ? a + b : a * b;
    }
  }
  // Writes, and returns whether something non-finite was written.
  template <class T>
  static bool apply(T& to, const T& from) {
    if constexpr (mode == Combine::set) {
      to = from;
      return false;
    } else if constexpr (std::is_same_v<T, Half>) {
      to = Half{half_bits(value(half_value(to.bits), half_value(from.bits)))};
      return (to.bits & 0x7c00U) == 0x7c00U;
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      to = BFloat16{bfloat16_bits(value(bfloat16_value(to.bits), bfloat16_value(from.bits)))};
      return (to.bits & 0x7f80U) == 0x7f80U;
    } else {
      to = value(to, from);
      if constexpr (std::is_floating_point_v<T>)
        return !std::isfinite(to);
      else if constexpr (simd::is_complex_v<T>)
        return !std::isfinite(to.real()) || !std::isfinite(to.imag());
      else
        return false;
    }
  }
};

// f(Tag<T>, Combiner) for the element type and mode. set only moves bytes; bool has no arithmetic, and complex
// numbers no order: rooms refuse those before.
template <class F>
bool with_combiner(DType dtype, Combine mode, F&& f) {
  if (mode == Combine::set)
    return with_size(size_of(dtype), [&](auto tag) { return f(tag, Combiner<Combine::set>{}); });
  return with_type(dtype, [&](auto tag) -> bool {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      if (mode == Combine::add) return f(tag, Combiner<Combine::add>{});
      if (mode == Combine::multiply) return f(tag, Combiner<Combine::multiply>{});
      if constexpr (!simd::is_complex_v<T>) {
        if (mode == Combine::min) return f(tag, Combiner<Combine::min>{});
        return f(tag, Combiner<Combine::max>{});
      }
    }
    return false;
  });
}

}  // namespace wp::kernels
