// Singular values of a block: V of the eigenvectors of AᵀA brings the columns of B = A V near orthogonality;
// one-sided Jacobi rotations (Hestenes 1958) complete it to full accuracy in a sweep or two, where from A itself they
// take six.
#include "kernels/batched/tridiagonal.inl"

// Rotates rows p and q of b (and of v) until they are orthogonal; size: the squares of the rows' lengths, of which
// those up to `least` do not count. Returns where something was done.
template <class S>
WP_PACK M make_orthogonal(S n, int m, int p, int q, V* b, V* v, V* size, V least) {
  V along = V{};
  for (int k = 0; k < m; ++k) along = fma(b[p * m + k], b[q * m + k], along);
  const V x = size[p], y = size[q];
  const double limit = kUnitOfDouble * kUnitOfDouble * m;
  const M here = (along * along > limit * x * y) & (x > least) & (y > least);
  if (!any(here)) return here;
  const V zeta = (y - x) / (2.0 * along), root = square_root(fma(zeta, zeta, V{} + 1.0));
  const V tangent = 1.0 / (zeta + with_sign<double>(root, zeta));
  V s, c;
  rotation(tangent, V{} + 1.0, s, c);
  s = here ? s : V{};
  c = here ? c : V{} + 1.0;
  const auto turn = [&](V & left, V & right) __attribute__((always_inline)) {
    const V old = left;
    left = fma(c, old, -(s * right));
    right = fma(s, old, c * right);
  };
  for (int k = 0; k < m; ++k) turn(b[p * m + k], b[q * m + k]);
  if (v)
    each<S>(
        0, n, WP_EACH(k) { turn(v[p * n + k], v[q * n + k]); });
  size[p] = here ? less(tangent, along, x) : x;
  size[q] = here ? fma(tangent, along, y) : y;
  return here;
}

// B = A V, [n][m] (a column of A V per row), from A, m × n, and V, one vector per row.
template <class S>
WP_PACK void rotated(S n, int m, const V* a, const V* v, V* b) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      V sum = V{};
      each<S>(
          0, n, WP_EACH(k) { sum = fma(a[i * n + k], v[j * n + k], sum); });
      b[j * m + i] = sum;
    }
}

// A (m × n, m ≥ n) to S (falling), b: the columns of U as rows, v: those of V.
template <class S>
[[gnu::noinline]] M singular_block(S n, int m, V* a, bool vectors, V* b, V* v, V* values) {
  Extent extent;
  for (int e = 0; e < m * n; ++e) extent.take(a[e]);
  M good = extent.scalable();
  const PowerOfTwo scale = power_of(extent.largest);
  for (int e = 0; e < m * n; ++e) a[e] *= scale.down;
  const int columns = opaque(n);
  for (int i = 0; i < columns; ++i)
    for (int j = 0; j <= i; ++j) {
      V sum = V{};
      for (int k = 0; k < m; ++k) sum = fma(a[k * columns + i], a[k * columns + j], sum);
      v[i * columns + j] = v[j * columns + i] = sum;
    }
  Tridiagonal t;
  tridiagonalise(columns, v, true, t);
  transpose_square(columns, v);
  good &= ql(n, t, v);
  sort<true>(n, t.d, v);
  rotated(n, m, a, v, b);
  constexpr int kSweeps = 8;  // noise of a singular matrix shrinks for ever, and ends here
  V size[kLargest];
  const auto measure = [&] {
    for (int j = 0; j < columns; ++j) {
      V sum = V{};
      for (int k = 0; k < m; ++k) sum = fma(b[j * m + k], b[j * m + k], sum);
      size[j] = sum;
    }
  };
  measure();
  V most = V{};
  for (int j = 0; j < columns; ++j) most = larger(size[j], most);
  const V negligible = vectors ? V{} : 0x1p-126 * most;  // for the values alone: σ below 2⁻⁶³ σ₁ is rounding
  M moving = good;
  for (int sweep = 0; sweep < kSweeps && any(moving); ++sweep) {
    measure();
    moving = M{};
    for (int p = 0; p + 1 < columns; ++p)
      for (int q = p + 1; q < columns; ++q)
        moving |= make_orthogonal(n, m, p, q, b, vectors ? v : nullptr, size, negligible);
  }
  good &= ~moving;
  measure();
  // Columns of next to nothing have no direction of their own, and squares of their lengths no digits.
  V least = V{} + HUGE_VAL;
  for (int j = 0; j < columns; ++j) {
    least = size[j] < least ? size[j] : least;
    values[j] = square_root(size[j]);
  }
  if (vectors) good &= least >= 0x1p-400;
  if (vectors)
    for (int j = 0; j < columns; ++j) {
      const V inverse = 1.0 / values[j];
      for (int k = 0; k < m; ++k) b[j * m + k] *= inverse;
    }
  vectors ? sort<true>(n, values, v, b, m) : sort<true>(n, values, nullptr);
  for (int j = 0; j < columns; ++j) values[j] = values[j] * scale.up;
  for (int e = 0; vectors && e < m * n; ++e) b[e] += 0.0;
  for (int e = 0; vectors && e < n * n; ++e) v[e] += 0.0;
  return good;
}

template <class T>
void svd(int m, int n, Source<T> a, Range range, T* u, T* s, T* vh, Marks marks) {
  const bool wide = made_tall(m, n, a), vectors = u != nullptr;
  Registers room(3 * m * n + n * n + n);
  V *const matrix = room.take(m * n), *const b = room.take(m * n), *const v = room.take(n * n),
           *const values = room.take(n), *const turned = room.take(m * n);
  const auto put = [&](const V* columns, int rows, bool as_rows, std::int64_t first, int have, T* to) {
    const V* from = columns;
    if (!as_rows) {
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < rows; ++i) turned[i * n + j] = columns[j * rows + i];
      from = turned;
    }
    store<T>(rows * n, from, first, have, to);
  };
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(m, n, a, first, have, matrix);
      M good = singular_block(size, m, matrix, vectors, b, v, values);
      good &= in_range<T>(values[0]);
      store<T>(n, values, first, have, s);
      if (vectors) {
        put(wide ? v : b, wide ? n : m, false, first, have, u);
        put(wide ? b : v, wide ? m : n, true, first, have, vh);
      }
      mark(good, first, have, marks.redo);
    });
  });
}
