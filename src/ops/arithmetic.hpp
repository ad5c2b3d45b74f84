// Functors that several rooms share.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "simd/loop.hpp"

namespace wp {

// Integers wrap around: computed unsigned, and in 32 bits at least, since C++ widens smaller types to signed int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

// The next wider type, for complex functions whose formula loses digits.
template <class T>
struct Wider;
template <>
struct Wider<float> {
  using type = double;
};
template <>
struct Wider<double> {
  using type = long double;
};

struct Same {
  template <class T>
  WP_FN T apply(T a) {
    return a;
  }
};

struct Square {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(a));
    else if constexpr (simd::is_complex_v<T>)  // (x + iy)² = (x − y)(x + y) + 2ixy: no cancellation of squares
      return T((a.real() - a.imag()) * (a.real() + a.imag()), 2 * (a.real() * a.imag()));
    else
      return a * a;
  }
};

struct Divide {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (simd::is_complex_v<T>) {
      // (a/b) = a b̄ / |b|² in the next wider type: its range holds the products, its digits their differences.
      using R = typename T::value_type;
      using W = typename Wider<R>::type;
      const W c = b.real(), d = b.imag(), n = c * c + d * d;
      const W re = (a.real() * c + a.imag() * d) / n, im = (a.imag() * c - a.real() * d) / n;
      if ((re == re) & (im == im)) [[likely]]
        return T(static_cast<R>(re), static_cast<R>(im));
      return a / b;  // zeros and infinities as C's Annex G
    } else {
      return a / b;
    }
  }
};

struct Reciprocal {
  template <class T>
  WP_FN T apply(T a) {
    return Divide::apply(T(1), a);
  }
};

// NaN wins; +0 is larger than −0 (the bits of equal numbers differ only in the sign of zero).
struct Maximum {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      using Bits = simd::UnsignedOf<T>;
      const T larger = (a > b) | (a != a) ? a : b;
      return a == b ? std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b))) : larger;
    } else {
      return a > b ? a : b;
    }
  }
};
struct Minimum {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      using Bits = simd::UnsignedOf<T>;
      const T smaller = (a < b) | (a != a) ? a : b;
      return a == b ? std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b))) : smaller;
    } else {
      return a < b ? a : b;
    }
  }
};

}  // namespace wp
