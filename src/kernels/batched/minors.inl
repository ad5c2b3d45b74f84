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
// The 2 × 2 minors of two rows of four: columns 01, 02, 03, 12, 13, 23.
inline constexpr int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
WP_PACK void minors_of_rows(const V* a, const V* b, V* out) {
#pragma GCC unroll 6
  for (int k = 0; k < 6; ++k) {
    const int p = kPairs[k][0], q = kPairs[k][1];
    out[k] = minor(a[p], a[q], b[p], b[q]);
  }
}
// By the minors of the first two rows and of the last two (Laplace).
WP_PACK V adjugate(Fixed<4>, const V* a, V* x) {
  const V *const b = a + 4, *const c = a + 8, *const d = a + 12;
  V s[6], t[6];
  minors_of_rows(a, b, s);
  minors_of_rows(c, d, t);
  const auto sum = [](V p, V u, V q, V v, V r, V w) __attribute__((always_inline)) {  // p·u − q·v + r·w
    return fma(p, u, less(q, v, r * w));
  };
  x[0] = sum(b[1], t[5], b[2], t[4], b[3], t[3]);
  x[1] = -sum(a[1], t[5], a[2], t[4], a[3], t[3]);
  x[2] = sum(d[1], s[5], d[2], s[4], d[3], s[3]);
  x[3] = -sum(c[1], s[5], c[2], s[4], c[3], s[3]);
  x[4] = -sum(b[0], t[5], b[2], t[2], b[3], t[1]);
  x[5] = sum(a[0], t[5], a[2], t[2], a[3], t[1]);
  x[6] = -sum(d[0], s[5], d[2], s[2], d[3], s[1]);
  x[7] = sum(c[0], s[5], c[2], s[2], c[3], s[1]);
  x[8] = sum(b[0], t[4], b[1], t[2], b[3], t[0]);
  x[9] = -sum(a[0], t[4], a[1], t[2], a[3], t[0]);
  x[10] = sum(d[0], s[4], d[1], s[2], d[3], s[0]);
  x[11] = -sum(c[0], s[4], c[1], s[2], c[3], s[0]);
  x[12] = -sum(b[0], t[3], b[1], t[1], b[2], t[0]);
  x[13] = sum(a[0], t[3], a[1], t[1], a[2], t[0]);
  x[14] = -sum(d[0], s[3], d[1], s[1], d[2], s[0]);
  x[15] = sum(c[0], s[3], c[1], s[1], c[2], s[0]);
  return fma(a[0], x[0], fma(a[1], x[4], fma(a[2], x[8], a[3] * x[12])));
}

template <class S>
inline constexpr bool by_minors = S::fixed&& S::most >= 2 && S::most <= 4;

// Numbers of a block that one of two ways leaves.
struct Answer {
  V* data;
  int count;
};
// minors() says where its answers are good; where they are not, those of elimination() stand. `kept` has room for
// all.
template <class First, class Other, std::size_t N>
WP_PACK M by_minors_or(First minors, Other elimination, const Answer (&answers)[N], V* kept) {
  const M good = minors();
  if (!any(~good)) return good;
  const auto each_number = [&](auto f) __attribute__((always_inline)) {
    V* at = kept;
    for (const Answer& a : answers)
      for (int e = 0; e < a.count; ++e) f(a.data[e], *at++);
  };
  each_number([](V & now, V & before) __attribute__((always_inline)) { before = now; });
  const M otherwise = elimination();
  each_number([&](V & now, V & before) __attribute__((always_inline)) { now = good ? before : now; });
  return good | otherwise;
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
  const V *const b = a + 4, *const c = a + 8, *const d = a + 12;
  V s[6], t[6];
  minors_of_rows(a, b, s);
  minors_of_rows(c, d, t);
  const auto size = [](const V* x, const V* y, int k) __attribute__((always_inline)) {
    const int p = kPairs[k][0], q = kPairs[k][1];
    return magnitude(x[p] * y[q]) + magnitude(x[q] * y[p]);
  };
  V det = V{};
  terms = V{};
#pragma GCC unroll 6
  for (int k = 0; k < 6; ++k) {
    const V other = k == 1 || k == 4 ? -t[5 - k] : t[5 - k];
    det = fma(s[k], other, det);
    terms = fma(size(a, b, k), size(c, d, 5 - k), terms);
  }
  return det;
}
