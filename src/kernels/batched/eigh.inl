#include "kernels/batched/tridiagonal.inl"

#include "kernels/batched/jacobi.inl"

#include "kernels/batched/graded.inl"

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

// A block, and what is known of it.
struct EigenBlock {
  V *a, *values;
  M good, symmetric;
  V up;  // what the eigenvalues are multiplied by
};
// The symmetric part of A to tridiagonal form, and, in the place of A, vectors as rows.
template <class T, class S>
WP_PACK void begin_eigen(S n, Reads reads, bool vectors, EigenBlock& block, Diagonalised& to) {
  V* const a = block.a;
  const Mirrored found = mirror<T>(n, a, reads);
  block.symmetric = found.symmetric;
  block.good = found.extent.scalable() & in_range<T>(static_cast<double>(n) * found.extent.largest);
  const PowerOfTwo scale = power_of(found.extent.largest);
  block.up = scale.up;
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
  block.good &= least >= 0x1p-5;
  to.z = vectors ? a : nullptr;
  to.good = ~M{};
  if constexpr (S::fixed && S::most == 2) {
    rotate_pair(a, to.t);
  } else {
    tridiagonalise(opaque(n), a, vectors, to.t);
    if (vectors) transpose_square(opaque(n), a);
  }
}
// Eigenvalues into order, with vectors as columns.
template <class S>
WP_PACK void end_eigen(S n, Diagonalised& from, EigenBlock& block) {
  sort<false>(n, from.t.d, from.z);
  if (from.z) transpose_square(opaque(n), from.z);
  V all = V{};
  for (int i = 0; i < n; ++i) {
    all += from.t.d[i];
    block.values[i] = from.t.d[i] * block.up + 0.0;
  }
  // Lanes that wait are turned by nothing, which may change the sign of a zero.
  for (int i = 0; from.z && i < n * n; ++i) from.z[i] += 0.0;
  block.good &= from.good & (0.0 * all == 0.0);
}
template <class T, class S>
[[gnu::noinline]] void eigen_blocks(S n, Reads reads, bool vectors, int count, EigenBlock* blocks) {
  Diagonalised work[in_turns<S>];
  for (int b = 0; b < count; ++b) begin_eigen<T>(n, reads, vectors, blocks[b], work[b]);
  if constexpr (S::most != 2) ql(n, count, work);
  for (int b = 0; b < count; ++b) end_eigen(n, work[b], blocks[b]);
}

// Graded members of a block, which are in doubt so far: where those are good now, their answers replace what stood
// there. relative: their errors.
template <class T, class S>
[[gnu::noinline]] M eigen_graded(S n, Reads reads, bool vectors, const GradedRoom& r, EigenBlock& block,
                                 V& relative) {
  const Mirrored found = mirror<T>(n, r.h, reads);
  M fresh = found.extent.scalable() & ~block.good;
  if (!any(fresh)) return fresh;
  const PowerOfTwo scale = power_of(found.extent.largest);
  for (int e = 0; e < n * n; ++e) r.h[e] *= scale.down;
  V error;
  fresh &= diagonalise_graded(n, r, error) & (r.values[0] * scale.up >= 0x1p-900);
  relative = fresh ? error : relative;
  for (int i = 0; i < n; ++i) block.values[i] = fresh ? r.values[i] * scale.up : block.values[i];
  for (int e = 0; vectors && e < n * n; ++e) block.a[e] = fresh ? r.vectors[e] : block.a[e];
  return fresh;
}

template <class T>
void eigh(int n, Source<T> a, Reads reads, Range range, T* values, T* v, Marks marks) {
  with_size(n, [&](auto size) {
    constexpr int most = in_turns<decltype(size)>;
    Registers room(most * (n * n + n) + 4 * n * n + n);
    const GradedRoom graded{room.take(n * n), room.take(n * n), room.take(n * n), room.take(n * n), room.take(n)};
    EigenBlock some[most];
    for (EigenBlock& b : some) {
      b.a = room.take(n * n);
      b.values = room.take(n);
    }
    in_groups(most, range, [&](std::int64_t first, int have, int count) {
      for (int b = 0; b < count; ++b) load<T>(n, n, a, first + b * W, members_in(b, have), some[b].a);
      eigen_blocks<T>(size, reads, v != nullptr, count, some);
      for (int b = 0; b < count; ++b) {
        const std::int64_t at = first + b * W;
        const int members = members_in(b, have);
        V relative = V{} + HUGE_VAL;
        if (n > 2 && marks.rcond && any(~some[b].good)) {
          load<T>(n, n, a, at, members, graded.h);
          some[b].good |= eigen_graded<T>(size, reads, v != nullptr, graded, some[b], relative);
        }
        if (marks.rcond) store_one(relative, at, members, marks.rcond);
        store<T>(n, some[b].values, at, members, values);
        if (v) store<T>(n * n, some[b].a, at, members, v);
        mark(some[b].good, some[b].symmetric, at, members, marks.redo);
      }
    });
  });
}
