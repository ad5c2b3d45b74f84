// Included once per instruction set. Exponent bits all set: Inf or NaN.

template <class Bits, Bits exponent>
bool any_bad(const void* data, std::int64_t n) {
  const Bits* const x = static_cast<const Bits*>(data);
  constexpr Bits magnitude = static_cast<Bits>(~(Bits{1} << (sizeof(Bits) * 8 - 1)));
  constexpr std::int64_t block = 4096;
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t end = at + block < n ? at + block : n;
    Bits seen = 0;
    for (std::int64_t i = at; i < end; ++i) seen |= static_cast<Bits>((exponent - 1) - (x[i] & magnitude));
    if (seen < 0) return true;
  }
  return false;
}
