// Singular values of a block: V of the eigenvectors of AᵀA brings the columns of B = A V near orthogonality;
// one-sided Jacobi rotations (Hestenes 1958) complete it to full accuracy in a sweep or two, where from A itself they
// take six.
#include "kernels/batched/tridiagonal.inl"

#include "kernels/batched/jacobi.inl"

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

// A, scaled, and AᵀA in tridiagonal form.
WP_PACK void begin_singular(int n, int m, SingularBlock& block, Diagonalised& to) {
  V *const a = block.a, *const v = block.v;
  Extent extent;
  for (int e = 0; e < m * n; ++e) extent.take(a[e]);
  block.good = extent.scalable();
  const PowerOfTwo scale = power_of(extent.largest);
  block.up = scale.up;
  for (int e = 0; e < m * n; ++e) a[e] *= scale.down;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      V sum = V{};
      for (int k = 0; k < m; ++k) sum = fma(a[k * n + i], a[k * n + j], sum);
      v[i * n + j] = v[j * n + i] = sum;
    }
  to.z = v;
  to.good = ~M{};
  tridiagonalise(n, v, true, to.t);
  transpose_square(n, v);
}
// B = A V by the eigenvectors of AᵀA.
template <class S>
WP_PACK void begin_sweeps(S n, int m, bool vectors, Diagonalised& from, SingularBlock& block) {
  const int columns = opaque(n);
  block.good &= from.good;
  sort<true>(n, from.t.d, block.v);
  rotated(n, m, block.a, block.v, block.b);
  block.measure(columns, m);
  V most = V{};
  for (int j = 0; j < columns; ++j) most = larger(block.size[j], most);
  block.negligible = vectors ? V{} : 0x1p-126 * most;  // for the values alone: σ below 2⁻⁶³ σ₁ is rounding
  block.moving = block.good;
}
template <class S>
WP_PACK void end_singular(S n, int m, bool vectors, SingularBlock& block) {
  const int columns = opaque(n);
  V *const b = block.b, *const v = block.v, *const values = block.values;
  block.good &= ~block.moving;
  block.measure(columns, m);
  // Columns of next to nothing have no direction of their own, and squares of their lengths no digits.
  V least = V{} + HUGE_VAL;
  for (int j = 0; j < columns; ++j) {
    const V size = block.size[j];
    least = size < least ? size : least;
    values[j] = square_root(size);
  }
  if (vectors) block.good &= least >= 0x1p-400;
  if (vectors)
    for (int j = 0; j < columns; ++j) {
      const V inverse = 1.0 / values[j];
      for (int k = 0; k < m; ++k) b[j * m + k] *= inverse;
    }
  vectors ? sort<true>(n, values, v, b, m) : sort<true>(n, values, nullptr);
  for (int j = 0; j < columns; ++j) values[j] = values[j] * block.up;
  for (int e = 0; vectors && e < m * n; ++e) b[e] += 0.0;
  for (int e = 0; vectors && e < n * n; ++e) v[e] += 0.0;
}
template <class S>
[[gnu::noinline]] void singular_blocks(S n, int m, bool vectors, int count, SingularBlock* blocks) {
  Diagonalised work[in_turns<S>];
  for (int b = 0; b < count; ++b) begin_singular(opaque(n), m, blocks[b], work[b]);
  ql(n, count, work);
  for (int b = 0; b < count; ++b) begin_sweeps(n, m, vectors, work[b], blocks[b]);
  sweep(n, m, vectors, count, blocks);
  for (int b = 0; b < count; ++b) end_singular(n, m, vectors, blocks[b]);
}

// n orthonormal columns of m numbers, as rows of q, are joined by m − n others: what the reflections that make them
// triangular leave of the last unit vectors. f: room for m × n, e: for m × (m − n).
[[gnu::noinline]] inline void complete(int m, int n, V* q, V* f, V* e) {
  const int more = m - n;
  V tau[kLargest];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) f[i * n + j] = q[j * m + i];
  triangularise(Sized{m}, Sized{n}, f, tau);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < more; ++j) e[i * more + j] = i == n + j ? V{} + 1.0 : V{};
  for (int k = n - 1; k >= 0; --k) reflect(Sized{m}, Sized{more}, k, 0, f, n, tau[k], e);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < more; ++j) q[(n + j) * m + i] = e[i * more + j];
}

template <class T>
void svd(int m, int n, bool full, Source<T> a, Range range, T* u, T* s, T* vh, Marks marks) {
  const bool wide = made_tall(m, n, a), vectors = u != nullptr;
  const int all = full ? m : n;  // columns of U
  V *turned = nullptr, *rest = nullptr;
  const auto put = [&](const V* columns, int count, int rows, bool as_rows, std::int64_t first, int have, T* to) {
    const V* from = columns;
    if (!as_rows) {
      for (int j = 0; j < count; ++j)
        for (int i = 0; i < rows; ++i) turned[i * count + j] = columns[j * rows + i];
      from = turned;
    }
    store<T>(rows * count, from, first, have, to);
  };
  with_size(n, [&](auto size) {
    constexpr int most = in_turns<decltype(size)>;
    Registers room(m * all + m * (all - n) + most * (m * n + m * all + n * n + n));
    turned = room.take(m * all);
    rest = room.take(m * (all - n));
    SingularBlock some[most];
    for (SingularBlock& b : some) {
      b.a = room.take(m * n);
      b.b = room.take(m * all);
      b.v = room.take(n * n);
      b.values = room.take(n);
    }
    in_groups(most, range, [&](std::int64_t first, int have, int count) {
      for (int b = 0; b < count; ++b) load<T>(m, n, a, first + b * W, members_in(b, have), some[b].a);
      singular_blocks(size, m, vectors, count, some);
      for (int b = 0; b < count; ++b) {
        const std::int64_t at = first + b * W;
        const int members = members_in(b, have);
        const SingularBlock& block = some[b];
        store<T>(n, block.values, at, members, s);
        if (vectors) {
          if (all > n) complete(m, n, block.b, turned, rest);
          wide ? put(block.v, n, n, false, at, members, u) : put(block.b, all, m, false, at, members, u);
          wide ? put(block.b, all, m, true, at, members, vh) : put(block.v, n, n, true, at, members, vh);
        }
        mark(block.good & in_range<T>(block.values[0]), at, members, marks.redo);
      }
    });
  });
}
