// Included once per instruction set, after lu.inl: inverses of 2 × 2, 3 × 3 and 4 × 4 matrices from their minors, all
// of whose operations can run side by side where elimination waits for every pivot.

// a·d − b·c.
WP_PACK V minor(V a, V b, V c, V d) {
  return fma(a, d, -(b * c));
}

// The adjugate into x; returns det A.
WP_PACK V adjugate(Fixed<2>, const V* a, V* x) {
  x[0] = a[3];
  x[1] = -a[1];
  x[2] = -a[2];
  x[3] = a[0];
  return minor(a[0], a[1], a[2], a[3]);
}
WP_PACK V adjugate(Fixed<3>, const V* a, V* x) {
  x[0] = minor(a[4], a[5], a[7], a[8]);
  x[1] = minor(a[2], a[1], a[8], a[7]);
  x[2] = minor(a[1], a[2], a[4], a[5]);
  x[3] = minor(a[5], a[3], a[8], a[6]);
  x[4] = minor(a[0], a[2], a[6], a[8]);
  x[5] = minor(a[2], a[0], a[5], a[3]);
  x[6] = minor(a[3], a[4], a[6], a[7]);
  x[7] = minor(a[1], a[0], a[7], a[6]);
  x[8] = minor(a[0], a[1], a[3], a[4]);
  return fma(a[0], x[0], fma(a[1], x[3], a[2] * x[6]));
}
// By the minors of the first two rows and of the last two (Laplace).
WP_PACK V adjugate(Fixed<4>, const V* a, V* x) {
  const V *const b = a + 4, *const c = a + 8, *const d = a + 12;
  const V s0 = minor(a[0], a[1], b[0], b[1]), s1 = minor(a[0], a[2], b[0], b[2]), s2 = minor(a[0], a[3], b[0], b[3]),
          s3 = minor(a[1], a[2], b[1], b[2]), s4 = minor(a[1], a[3], b[1], b[3]), s5 = minor(a[2], a[3], b[2], b[3]);
  const V t0 = minor(c[0], c[1], d[0], d[1]), t1 = minor(c[0], c[2], d[0], d[2]), t2 = minor(c[0], c[3], d[0], d[3]),
          t3 = minor(c[1], c[2], d[1], d[2]), t4 = minor(c[1], c[3], d[1], d[3]), t5 = minor(c[2], c[3], d[2], d[3]);
  const auto sum = [](V p, V u, V q, V v, V r, V w) __attribute__((always_inline)) {  // p·u − q·v + r·w
    return fma(p, u, less(q, v, r * w));
  };
  x[0] = sum(b[1], t5, b[2], t4, b[3], t3);
  x[1] = -sum(a[1], t5, a[2], t4, a[3], t3);
  x[2] = sum(d[1], s5, d[2], s4, d[3], s3);
  x[3] = -sum(c[1], s5, c[2], s4, c[3], s3);
  x[4] = -sum(b[0], t5, b[2], t2, b[3], t1);
  x[5] = sum(a[0], t5, a[2], t2, a[3], t1);
  x[6] = -sum(d[0], s5, d[2], s2, d[3], s1);
  x[7] = sum(c[0], s5, c[2], s2, c[3], s1);
  x[8] = sum(b[0], t4, b[1], t2, b[3], t0);
  x[9] = -sum(a[0], t4, a[1], t2, a[3], t0);
  x[10] = sum(d[0], s4, d[1], s2, d[3], s0);
  x[11] = -sum(c[0], s4, c[1], s2, c[3], s0);
  x[12] = -sum(b[0], t3, b[1], t1, b[2], t0);
  x[13] = sum(a[0], t3, a[1], t1, a[2], t0);
  x[14] = -sum(d[0], s3, d[1], s1, d[2], s0);
  x[15] = sum(c[0], s3, c[1], s1, c[2], s0);
  return fma(a[0], x[0], fma(a[1], x[4], fma(a[2], x[8], a[3] * x[12])));
}

template <class S>
inline constexpr bool by_minors = S::fixed&& S::most >= 2 && S::most <= 4;

// Where products of four elements stay far from the ends of double.
WP_PACK M moderate(V norm) {
  return (norm >= 0x1p-200) & (norm <= 0x1p200);
}
// Whether lanes are not, and have been multiplied by the powers of two `down`, with their norms. Bits do not depend
// on it.
WP_PACK bool brought_near(int count, V& norm, V* a, V& down) {
  if (!any(~moderate(norm))) return false;
  const M possible = (norm >= kFarBelow) & (norm <= kFarAbove);
  down = possible ? power_of(possible ? norm : V{} + 1.0).down : V{} + 1.0;
  for (int e = 0; e < count; ++e) a[e] *= down;
  norm *= down;
  return true;
}

// X = A⁻¹ from minors and R = I − A X. Where is |R| so small that X(I + R) is right to the last digits?
template <class S>
WP_PACK M invert_by_minors(S n, const V* a, V norm, V* x, V* r) {
  const V inverse = 1.0 / adjugate(n, a, x);
  each<S>(
      0, n, WP_EACH(i) {
        each<S>(
            0, n, WP_EACH(j) { x[i * n + j] *= inverse; });
      });
  V most = V{};
  each<S>(
      0, n, WP_EACH(i) {
        V row = V{};
        each<S>(
            0, n, WP_EACH(j) {
              V sum = V{} + (i == j ? 1.0 : 0.0);
              each<S>(
                  0, n, WP_EACH(k) { sum = less(a[i * n + k], x[k * n + j], sum); });
              r[i * n + j] = sum;
              row += magnitude(sum);
            });
        most = larger(row, most);
      });
  return moderate(norm) & (most <= kOneIsEnough);
}
// X ← X(I + R).
template <class S>
WP_PACK void correct_inverse(S n, const V* r, V* x) {
  each<S>(
      0, n, WP_EACH(i) {
        V row[S::most];
        each<S>(
            0, n, WP_EACH(j) { row[j] = x[i * n + j]; });
        each<S>(
            0, n, WP_EACH(k) {
              each<S>(
                  0, n, WP_EACH(j) { x[i * n + j] = fma(row[k], r[k * n + j], x[i * n + j]); });
            });
      });
}

// det A and what its terms add up to without their signs: its error is some u of that.
WP_PACK V determinant_of(Fixed<2>, const V* a, V& terms) {
  terms = magnitude(a[0] * a[3]) + magnitude(a[1] * a[2]);
  return minor(a[0], a[1], a[2], a[3]);
}
WP_PACK V determinant_of(Fixed<3>, const V* a, V& terms) {
  V det = V{};
  terms = V{};
  const int others[3][2] = {{1, 2}, {2, 0}, {0, 1}};
#pragma GCC unroll 3
  for (int j = 0; j < 3; ++j) {
    const int p = others[j][0], q = others[j][1];
    det = fma(a[j], minor(a[3 + p], a[3 + q], a[6 + p], a[6 + q]), det);
    terms = fma(magnitude(a[j]), magnitude(a[3 + p] * a[6 + q]) + magnitude(a[3 + q] * a[6 + p]), terms);
  }
  return det;
}
WP_PACK V determinant_of(Fixed<4>, const V* a, V& terms) {
  const int pairs[6][4] = {{0, 1, 2, 3}, {2, 0, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {3, 1, 0, 2}, {2, 3, 0, 1}};
  V det = V{};
  terms = V{};
#pragma GCC unroll 6
  for (int k = 0; k < 6; ++k) {
    const int p = pairs[k][0], q = pairs[k][1], s = pairs[k][2], t = pairs[k][3];
    det = fma(minor(a[p], a[q], a[4 + p], a[4 + q]), minor(a[8 + s], a[8 + t], a[12 + s], a[12 + t]), det);
    terms = fma(magnitude(a[p] * a[4 + q]) + magnitude(a[q] * a[4 + p]),
                magnitude(a[8 + s] * a[12 + t]) + magnitude(a[8 + t] * a[12 + s]), terms);
  }
  return det;
}
