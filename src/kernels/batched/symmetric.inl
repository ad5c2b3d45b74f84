// Included once per instruction set, after block.inl: symmetric matrices.

inline constexpr double kUnitOfDouble = 0x1p-53;

struct Mirrored {
  V largest;    // |a|
  M finite;
  M symmetric;  // up to rounding of the type T it came in
};
// A ← its symmetric part, or the triangle that is read on both sides.
template <class T, class S>
WP_PACK Mirrored mirror(S n, V* a, Reads reads) {
  constexpr double rounding = std::is_same_v<T, float> ? 64 * 0x1p-24 : 64 * kUnitOfDouble;
  V largest = V{}, apart = V{}, all = V{};
  steps<S>(0, n, WP_EACH(i) {
    steps<S>(0, i, WP_EACH(j) {
      V &below = a[i * n + j], &above = a[j * n + i];
      if (reads == Reads::lower) above = below;
      if (reads == Reads::upper) below = above;
      apart = larger(magnitude(below - above), apart);
      const V mean = below == above ? below : 0.5 * below + 0.5 * above;
      below = above = mean;
      largest = larger(magnitude(mean), largest);
      all += mean;
    });
    largest = larger(magnitude(a[i * n + i]), largest);
    all += a[i * n + i];
  });
  return {largest, 0.0 * all == 0.0, apart <= 2 * rounding * largest};
}
