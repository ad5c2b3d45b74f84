// What is said of a number alike whether it is real or complex. T: float, double, complex64, complex128.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/gemm.hpp"

namespace wp {

template <class T>
[[gnu::always_inline]] inline T conjugate(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return std::conj(v);
  else
    return v;
}
// v · 2^e. A product with a power that is a normal number rounds as ldexp does, which is a call.
template <class T>
T times_power(T v, int e) {
  if constexpr (kernels::RealOf<T>::parts == 2) {
    return {times_power(v.real(), e), times_power(v.imag(), e)};
  } else {
    using Limits = std::numeric_limits<T>;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    static_assert(sizeof(T) == sizeof(Bits));
    constexpr int bias = Limits::max_exponent - 1;
    if (e <= -bias || e > bias) [[unlikely]]
      return std::ldexp(v, e);
    return v * std::bit_cast<T>(static_cast<Bits>(e + bias) << (Limits::digits - 1));
  }
}
// max(|re|, |im|).
template <class T>
double size_of_number(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return std::max(std::fabs(static_cast<double>(v.real())), std::fabs(static_cast<double>(v.imag())));
  else
    return std::fabs(static_cast<double>(v));
}
template <class T>
bool is_finite(T v) {
  return std::isfinite(std::real(v)) && std::isfinite(std::imag(v));
}

}  // namespace wp
