// Included once per instruction set, after block.inl: symmetric matrices.

struct Mirrored {
  Extent extent;
  M symmetric;  // up to rounding of the type T it came in
};
// The lower triangle of A ← that of its symmetric part, or the triangle that is read.
template <class T, class S>
WP_PACK Mirrored mirror(S n, V* a, Reads reads) {
  constexpr double rounding = std::is_same_v<T, float> ? 64 * 0x1p-24 : 64 * kUnitOfDouble;
  Extent extent;
  M other = M{};  // bits of elements that differ from those across the diagonal
  steps<S>(
      0, n, WP_EACH(i) {
        each<S>(
            0, i, WP_EACH(j) {
              V& below = a[i * n + j];
              const V above = a[j * n + i];
              if (reads == Reads::upper) below = above;
              other |= bits<double>(below) ^ bits<double>(above);
              extent.take(below);
            });
        extent.take(a[i * n + i]);
      });
  if (reads != Reads::both || !any(other != 0)) return {extent, ~M{}};
  extent = {};
  V apart = V{};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      V& below = a[i * n + j];
      const V above = a[j * n + i];
      apart = larger(magnitude(below - above), apart);
      below = below == above ? below : 0.5 * below + 0.5 * above;
      extent.take(below);
    }
    extent.take(a[i * n + i]);
  }
  return {extent, apart <= 2 * rounding * extent.largest};
}

// ‖L⁻¹ D‖² (Frobenius) of a lower triangle, with the squares of the diagonal D, or without: null.
[[gnu::noinline]] inline V inverse_size(int n, const V* l, const V* squares) {
  V all = V{}, y[kLargest];
  for (int c = 0; c < n; ++c) {
    V size = V{};
    for (int i = c; i < n; ++i) {
      V sum = V{} + (i == c ? 1.0 : 0.0);
      for (int k = c; k < i; ++k) sum = less(l[i * n + k], y[k], sum);
      y[i] = sum / l[i * n + i];
      size = fma(y[i], y[i], size);
    }
    all += squares ? squares[c] * size : size;
  }
  return all;
}
