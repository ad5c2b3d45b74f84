// Decimal numbers from text, the common forms only: what is not read here goes to parse_number.
#pragma once
#include <fast_float/fast_float.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace wp::io {

struct Decimal {
  bool is_integer = false;
  std::int64_t integer = 0;
  double real = 0;
};

namespace detail {

// Whether eight characters are digits, and their value: Lemire, "Quickly parsing eight digits" (2018).
inline bool eight_digits(std::uint64_t v) noexcept {
  return (((v & 0xF0F0F0F0F0F0F0F0U) | (((v + 0x0606060606060606U) & 0xF0F0F0F0F0F0F0F0U) >> 4)) ==
          0x3333333333333333U);
}
inline std::uint32_t eight_digits_value(std::uint64_t v) noexcept {
  v -= 0x3030303030303030U;
  v = (v * 10) + (v >> 8);
  return static_cast<std::uint32_t>((((v & 0x000000FF000000FFU) * 0x000F424000000064U) +
                                     (((v >> 16) & 0x000000FF000000FFU) * 0x0000271000000001U)) >>
                                    32);
}
inline const char* digits(const char* p, std::uint64_t& value) noexcept {
  for (;;) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    if (!eight_digits(word)) break;
    value = value * 100000000 + eight_digits_value(word);
    p += 8;
  }
  for (unsigned d; (d = static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0') < 10; ++p)
    value = value * 10 + d;
  return p;
}

inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                           1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// ±m · 10^e, correctly rounded; false where that is not known from 64 bits of m, or overflows.
inline bool scaled(std::uint64_t m, std::int64_t e, bool negative, double& out) noexcept {
  if (e >= -22 && e <= 22 && m <= std::uint64_t{1} << 53) {  // both exact: one rounding (Clinger 1990)
    const double d = static_cast<double>(m);
    out = e < 0 ? d / powers_of_ten[-e] : d * powers_of_ten[e];
  } else {  // Lemire, "Number parsing at a gigabyte per second" (2021)
    const fast_float::adjusted_mantissa a = fast_float::compute_float<fast_float::binary_format<double>>(e, m);
    if (a.power2 < 0 || a.power2 == 0x7FF) return false;
    out = std::bit_cast<double>(a.mantissa | static_cast<std::uint64_t>(a.power2) << 52);
  }
  if (negative) out = -out;
  return true;
}

}  // namespace detail

// -12, 0.5, 1e-3: where the text goes on after it, or null when it is another form. Reads up to 8 bytes behind the
// number.
inline const char* read_decimal(const char* p, Decimal& out) noexcept {
  const bool negative = *p == '-';
  p += negative;
  const char* const start = p;
  std::uint64_t m = 0;
  p = detail::digits(p, m);
  std::int64_t count = p - start, exponent = 0;
  bool whole = true;
  if (*p == '.') {
    const char* const fraction = ++p;
    p = detail::digits(p, m);
    exponent = fraction - p;
    count += p - fraction;
    whole = false;
  }
  if (count == 0 || count > 19) return nullptr;  // 10^19 − 1 < 2^64
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    p += down || *p == '+';
    const char* const first = p;
    std::int64_t power = 0;
    for (unsigned d; (d = static_cast<unsigned>(static_cast<unsigned char>(*p)) - '0') < 10 && p - first < 6; ++p)
      power = power * 10 + d;
    if (p == first || p - first > 5) return nullptr;
    exponent += down ? -power : power;
    whole = false;
  }
  if (whole) {
    if (m > static_cast<std::uint64_t>(INT64_MAX)) return nullptr;
    out.is_integer = true;
    out.integer = negative ? -static_cast<std::int64_t>(m) : static_cast<std::int64_t>(m);
    return p;
  }
  out.is_integer = false;
  return detail::scaled(m, exponent, negative, out.real) ? p : nullptr;
}

}  // namespace wp::io
