// Division of many numbers by one.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>

namespace wp::kernels {

// x / d is (x / scale)·inverse: for real d scale = d and inverse = 1. For complex d the scale is the power of two at
// its larger part, so that the inverse can be formed without overflow.
template <class T>
struct Divisor {
  using Real = T;
  T scale;
  Divisor() = default;
  explicit Divisor(T d) : scale(d) {}
  T operator()(T x) const { return x / scale; }
};
template <class R>
struct Divisor<std::complex<R>> {
  using Real = R;
  R scale, re, im;
  Divisor() = default;
  explicit Divisor(std::complex<R> d) {
    const R size = std::max(std::abs(d.real()), std::abs(d.imag()));
    scale = size > 0 && std::isfinite(size) ? std::ldexp(R(1), std::ilogb(size)) : R(1);
    const R x = d.real() / scale, y = d.imag() / scale, square = x * x + y * y;
    re = x / square;
    im = -y / square;
  }
  std::complex<R> operator()(std::complex<R> v) const {
    const R x = v.real() / scale, y = v.imag() / scale;
    return {x * re - y * im, x * im + y * re};
  }
};

}  // namespace wp::kernels
