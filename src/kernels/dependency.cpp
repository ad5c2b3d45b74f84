#include "kernels/dependency.hpp"

namespace wp::kernels {

std::optional<Ratio> reconstruct(TwoWords x, TwoWords modulus) {
  if (x == 0) return Ratio{};
  constexpr TwoWords kLeast = 1 << 12;  // the chance that a random x has such a quotient is about 2⁻⁵
  constexpr __int128 kMost = __int128{1} << 62;
  TwoWords r0 = modulus, r1 = x, largest = kLeast, numerator = 0;
  __int128 t0 = 0, t1 = 1, denominator = 0;
  while (r1 != 0 && r0 > largest) {
    const TwoWords q = r0 / r1;
    if (q > largest) {
      largest = q;
      numerator = r1;
      denominator = t1;
    }
    const TwoWords r = r0 - q * r1;
    const __int128 t = t0 - static_cast<__int128>(q) * t1;
    r0 = r1, r1 = r;
    t0 = t1, t1 = t;
  }
  const __int128 size = denominator < 0 ? -denominator : denominator;
  if (size == 0) return std::nullopt;
  TwoWords top = numerator, bottom = static_cast<TwoWords>(size);
  Ratio found;
  for (; top % 2 == 0; top /= 2) ++found.exponent;
  for (; bottom % 2 == 0; bottom /= 2) --found.exponent;
  if (top >= TwoWords{kMost} || bottom >= TwoWords{kMost}) return std::nullopt;
  found.numerator = static_cast<std::int64_t>(top);
  found.denominator = static_cast<std::int64_t>(bottom);
  if (denominator < 0) found.numerator = -found.numerator;
  return found;
}

}  // namespace wp::kernels
