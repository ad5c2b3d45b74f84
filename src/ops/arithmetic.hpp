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

template <class T>
using FloatBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

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
    if constexpr (std::is_same_v<T, complex64>) {
      // Products of floats are exact in double and stay in its range: each part is right to one rounding.
      const double c = b.real(), d = b.imag(), n = c * c + d * d;
      const double re = (a.real() * c + a.imag() * d) / n, im = (a.imag() * c - a.real() * d) / n;
      if (re == re && im == im) [[likely]]
        return T(static_cast<float>(re), static_cast<float>(im));
      return static_cast<T>(complex128(a) / complex128(b));  // zeros and infinities as C's Annex G
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
      using Bits = FloatBits<T>;
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
      using Bits = FloatBits<T>;
      const T smaller = (a < b) | (a != a) ? a : b;
      return a == b ? std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b))) : smaller;
    } else {
      return a < b ? a : b;
    }
  }
};

}  // namespace wp
