// Distances of computed values from the exact ones (MPFR), in units of the last place.
#pragma once
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ulps {

// 128 bits: an f64 result is known to 75 bits beyond its own; the exponent range is that of MPFR, so nothing
// overflows.
inline constexpr mpfr_prec_t kBits = 128;
class Exact {
 public:
  Exact() { mpfr_init2(v, kBits); }
  explicit Exact(double d) : Exact() { mpfr_set_d(v, d, MPFR_RNDN); }
  ~Exact() { mpfr_clear(v); }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;
  mpfr_t v;
};

// y = f(x). Ternary value ignored.
using Unary = std::function<void(mpfr_ptr y, mpfr_srcptr x)>;
using Binary = std::function<void(mpfr_ptr z, mpfr_srcptr x, mpfr_srcptr y)>;

template <class T>
double unit(long double exact) {
  int e = std::numeric_limits<T>::min_exponent;
  if (exact != 0) std::frexp(exact, &e);
  e = std::max(e, std::numeric_limits<T>::min_exponent);
  return std::ldexp(1.0, e - std::numeric_limits<T>::digits);
}

// The distance of got from exact. Infinity for a wrong NaN, infinity, or sign of zero. `scale`: measured in units of
// the last place of max(|exact|, scale), where an absolute bound is the right one.
template <class T>
double distance(T got, mpfr_srcptr exact, double scale = 0) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (mpfr_nan_p(exact)) return std::isnan(got) ? 0 : wrong;
  if (std::isnan(got)) return wrong;
  if (mpfr_inf_p(exact)) return std::isinf(got) && std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : wrong;
  const long double want = mpfr_get_ld(exact, MPFR_RNDN);  // 64 bits, exponents beyond those of f64
  if (got == 0 && mpfr_zero_p(exact)) return std::signbit(got) == (mpfr_signbit(exact) != 0) ? 0 : wrong;
  const long double largest = std::numeric_limits<T>::max();
  if (std::isinf(got)) {  // right where the exact value rounds to infinity; else counted from the next power of two
    if (std::signbit(got) != std::signbit(want)) return wrong;
    const long double over = largest + unit<T>(largest) - std::fabs(want);
    return over <= unit<T>(largest) / 2 ? 0 : static_cast<double>(over / unit<T>(largest));
  }
  if (std::fabs(want) > largest * 2) return wrong;
  if (got != 0 && std::signbit(got) != std::signbit(want) && scale == 0) return wrong;
  if (got == 0 && std::signbit(got) != (mpfr_signbit(exact) != 0) && scale == 0)
    return wrong;  // underflow keeps the sign
  const double size = unit<T>(std::max(std::fabs(want), static_cast<long double>(scale)));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / size);
}

// Points that a sweep visits: every exponent with both signs, denormals, the whole bit range in random strides, a
// dense interval, and the neighbourhoods of given points.
template <class T>
std::vector<T> points(double lo, double hi, const std::vector<double>& near, std::size_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(20240817);
  const auto fraction = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<T> out = {T(0),
                        T(-0.0),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        -Limits::min(),
                        Limits::denorm_min(),
                        T(1),
                        -Limits::denorm_min(),
                        Limits::min() - Limits::denorm_min(),
                        T(-1)};
  for (int e = Limits::min_exponent - Limits::digits; e < Limits::max_exponent; ++e)
    for (int k = 0; k < 8; ++k) {
      const T m = static_cast<T>(std::ldexp(1 + (k ? fraction() : 0), e));
      out.push_back(m);
      out.push_back(-m);
    }
  for (const double p : near) {
    T up = static_cast<T>(p), down = up;
    out.push_back(up);
    for (int k = 0; k < 64; ++k) {
      out.push_back(up = std::nextafter(up, Limits::infinity()));
      out.push_back(down = std::nextafter(down, -Limits::infinity()));
    }
    for (int k = 0; k < 400; ++k) {
      const double h = std::ldexp(1 + fraction(), -k % 56) * (p != 0 ? std::fabs(p) : 1);
      out.push_back(static_cast<T>(p + h));
      out.push_back(static_cast<T>(p - h));
    }
  }
  const std::size_t half = count / 2;
  const Bits step = static_cast<Bits>(std::numeric_limits<Bits>::max() / half);
  Bits at = 0;
  for (std::size_t k = 0; k < half; ++k) {
    out.push_back(std::bit_cast<T>(static_cast<Bits>(at + random() % step)));
    at += step;
  }
  for (std::size_t k = 0; k < half; ++k)
    out.push_back(
        static_cast<T>(lo + (hi - lo) * ((static_cast<double>(k) + fraction()) / static_cast<double>(half))));
  return out;
}

}  // namespace ulps
