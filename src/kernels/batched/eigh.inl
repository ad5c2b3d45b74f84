#include "kernels/batched/tridiagonal.inl"

// A 2 × 2 matrix (the lower triangle is read) to its eigenvalues and, as rows, its vectors by one of Jacobi's
// rotations: what the values differ by from elements is at most the one beside the diagonal, and known to the last
// digits, where a step of QL loses some.
WP_PACK void rotate_pair(V* a, Tridiagonal& t) {
  const V along = a[2], theta = (a[3] - a[0]) / (2.0 * along), root = square_root(fma(theta, theta, V{} + 1.0));
  const V tangent = along == 0.0 ? V{} : 1.0 / (theta + with_sign<double>(root, theta));
  t.d[0] = less(tangent, along, a[0]);
  t.d[1] = fma(tangent, along, a[3]);
  rotation(tangent, V{} + 1.0, a[2], a[3]);
  a[0] = a[3];
  a[1] = -a[2];
}

// The symmetric part of A to its eigenvalues and, in the place of A, vectors.
template <class T, class S>
[[gnu::noinline]] M eigen_block(S n, V* a, Reads reads, bool vectors, V* values, M& symmetric) {
  const Mirrored found = mirror<T>(n, a, reads);
  symmetric = found.symmetric;
  M good = found.extent.scalable() & in_range<T>(static_cast<double>(n) * found.extent.largest);
  const PowerOfTwo scale = power_of(found.extent.largest);
  V tops[S::most];  // of the rows: where they differ much the matrix is graded
  steps<S>(
      0, n, WP_EACH(i) {
        V top = V{};
        each<S>(
            0, i + 1, WP_EACH(j) {
              const V scaled = a[i * n + j] * scale.down;
              a[i * n + j] = scaled;
              top = larger(magnitude(scaled), top);
              if (j < i) tops[j] = larger(magnitude(scaled), tops[j]);
            });
        tops[i] = top;
      });
  V least = V{} + 1.0;
  each<S>(
      0, n, WP_EACH(i) { least = lesser(tops[i], least); });
  good &= least >= 0x1p-5;
  Tridiagonal t;
  if constexpr (S::fixed && S::most == 2) {
    rotate_pair(a, t);
  } else {
    tridiagonalise(opaque(n), a, vectors, t);
    if (vectors) transpose_square(opaque(n), a);
    good &= ql(n, t, vectors ? a : nullptr);
  }
  sort<false>(n, t.d, vectors ? a : nullptr);
  if (vectors) transpose_square(opaque(n), a);
  V all = V{};
  for (int i = 0; i < n; ++i) {
    all += t.d[i];
    values[i] = t.d[i] * scale.up + 0.0;
  }
  // Lanes that wait are turned by nothing, which may change the sign of a zero.
  for (int i = 0; vectors && i < n * n; ++i) a[i] += 0.0;
  return good & (0.0 * all == 0.0);
}

template <class T>
void eigh(int n, Source<T> a, Reads reads, Range range, T* values, T* v, Marks marks) {
  Registers room(n * n + n);
  V *const m = room.take(n * n), *const w = room.take(n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, m);
      M symmetric;
      const M good = eigen_block<T>(size, m, reads, v != nullptr, w, symmetric);
      store<T>(n, w, first, have, values);
      if (v) store<T>(n * n, m, first, have, v);
      mark(good, symmetric, first, have, marks.redo);
    });
  });
}
