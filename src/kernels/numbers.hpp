// What is said of a number alike whether it is real or complex. T: float, double, complex64, complex128.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/gemm.hpp"

namespace wp {

template <class T>
[[gnu::always_inline]] inline T conjugate(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return std::conj(v);
  else
    return v;
}
// v · 2^e.
template <class T>
T times_power(T v, int e) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return {std::ldexp(v.real(), e), std::ldexp(v.imag(), e)};
  else
    return std::ldexp(v, e);
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
