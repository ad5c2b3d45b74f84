#include "kernels/batched/block.inl"
#include "kernels/batched/symmetric.inl"

// Shares of the diagonal that elimination left, the least and their product, as fractions: dividing would take longer
// than all else. The first one is 1, and none is larger.
struct Shares {
  V least = V{} + 1.0, of_least = V{} + 1.0, all = V{} + 1.0, of_all = V{} + 1.0;
  WP_PACK void take(V rest, V whole) {
    const M smaller = (rest * of_least) < (least * whole);
    least = smaller ? rest : least;
    of_least = smaller ? whole : of_least;
    all *= rest;
    of_all *= whole;
  }
  // Where the product is at least `bound`; false where it is not a normal number.
  WP_PACK M product_above(double bound) const {
    return (all >= 0x1p-900) & (all <= 0x1p900) & (all >= bound * of_all);
  }
};

// Where is A = D H D with a diagonal of ones in H positive definite, and not only what rounding made of it? Up to n
// (n + 1) u of H is rounding (Higham 2002, theorem 10.3), and its least eigenvalue is at least the product of the
// shares over e, as the other ones add up to n at most; or 1/‖L⁻¹ D‖², which takes as long as L.
template <class S>
WP_PACK M surely_definite(S n, const V* l, const V* diagonal, const Shares& shares, M good) {
  if constexpr (S::fixed && S::most <= 2) return good;  // the least share says it
  const double least = 44 * n * kUnitOfDouble;
  const M proved = shares.product_above(M_E * least);
  if (!any(good & ~proved)) return good;
  return good & (proved | (least * inverse_size(opaque(n), l, diagonal) <= 1.0));
}

// C elements of column k from row `first` on, less what the columns before it say. `summed`: that is summed first,
// because subtracted one by one, it rounds a large element in every step; up to eight of them do no harm.
template <bool summed, class C>
WP_PACK void reduce_column(C count, int n, int k, int first, const V* a, V* x) {
  each<C>(
      0, count, WP_EACH(i) { x[i] = summed ? V{} : a[(first + i) * n + k]; });
  for (int j = 0; j < k; ++j) {
    const V factor = a[k * n + j];
    each<C>(
        0, count, WP_EACH(i) {
          const V element = a[(first + i) * n + j];
          x[i] = summed ? fma(element, factor, x[i]) : less(element, factor, x[i]);
        });
  }
  each<C>(
      0, summed ? static_cast<int>(count) : 0, WP_EACH(i) { x[i] = a[(first + i) * n + k] - x[i]; });
}

// L of the symmetric part of A in its lower triangle, zeros above. Where is that positive definite beyond doubt?
template <class T, class S>
[[gnu::noinline]] M factor_block(S n, V* a, Reads reads, V& rcond, M& symmetric) {
  const Mirrored found = mirror<T>(n, a, reads);
  symmetric = found.symmetric;
  Shares shares;
  V all = V{}, diagonal[S::most];
  M good = found.extent.finite() & moderate(found.extent.largest);
  // Column k by its first `count` elements from the diagonal on.
  const auto begin_column = [&](int k, auto count, V& inverse) __attribute__((always_inline)) {
    using C = decltype(count);
    V x[C::most];
    const V whole = diagonal[k] = a[k * n + k];
    reduce_column<!S::fixed>(count, n, k, k, a, x);
    const M positive = x[0] >= 0x1p-500;
    good &= positive;
    if (k > 0) shares.take(x[0], whole);
    V root;
    inverse = inverse_root(positive ? x[0] : V{} + 1.0, root);
    x[0] = root;
    all += root;
    each<C>(
        1, count, WP_EACH(i) {
          x[i] *= inverse;
          all += x[i];
          a[k * n + k + i] = V{};
        });
    each<C>(
        0, count, WP_EACH(i) { a[(k + i) * n + k] = x[i]; });
  };
  if constexpr (S::fixed) {
    unrolled<0, S::most>(WP_KNOWN(k) {
      V inverse;
      begin_column(k, Fixed<S::most - k>{}, inverse);
    });
  } else {
    for (int k = 0; k < n; ++k) {
      V inverse;
      const auto rest = [&](int i, auto count) __attribute__((always_inline)) {
        using C = decltype(count);
        V x[C::most];
        reduce_column<true>(count, n, k, i, a, x);
        each<C>(
            0, count, WP_EACH(c) {
              x[c] *= inverse;
              all += x[c];
              a[(i + c) * n + k] = x[c];
              a[k * n + i + c] = V{};
            });
      };
      int i = k + 1;
      begin_column(k, Fixed<1>{}, inverse);
      for (; i + 4 <= n; i += 4) rest(i, Fixed<4>{});
      for (; i < n; ++i) rest(i, Fixed<1>{});
    }
  }
  rcond = shares.least / shares.of_least;
  good &= (rcond >= 4e3 * n * kUnitOfDouble) & (0.0 * all == 0.0);
  return surely_definite(n, a, diagonal, shares, good);
}

template <class T>
void cholesky(int n, Source<T> a, Reads reads, bool upper, Range range, T* to, Marks marks) {
  Registers room(2 * n * n);
  V *const m = room.take(n * n), *const turned = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      fetch_to_write(n * n, first, have, to);
      load<T>(n, n, a, first, have, m);
      V rcond;
      M symmetric;
      const M good = factor_block<T>(size, m, reads, rcond, symmetric);
      if (upper)
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) turned[j * n + i] = m[i * n + j];
      store<T>(n * n, upper ? turned : m, first, have, to);
      if (marks.rcond) store_one(rcond, first, have, marks.rcond);
      mark(good, symmetric, first, have, marks.redo);
    });
  });
}
