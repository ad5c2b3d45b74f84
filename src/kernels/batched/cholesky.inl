#include "kernels/batched/block.inl"
#include "kernels/batched/symmetric.inl"

// L of the symmetric part of A in its lower triangle, zeros above. Where is that positive definite beyond doubt?
template <class T, class S>
[[gnu::noinline]] M factor_block(S n, V* a, Reads reads, V& rcond, M& symmetric) {
  const Mirrored found = mirror<T>(n, a, reads);
  symmetric = found.symmetric;
  V least = V{} + HUGE_VAL, most = V{}, all = V{};
  M good = found.finite;
  steps<S>(
      0, n, WP_EACH(k) {
        V* const row = a + k * n;
        const V whole = row[k];
        V rest = whole;
        each<S>(
            0, k, WP_EACH(j) { rest = less(row[j], row[j], rest); });
        const V share = rest / whole, root = square_root(rest), inverse = 1.0 / root;
        good &= rest > 0;
        least = share < least ? share : least;
        most = larger(share, most);
        row[k] = root;
        steps<S>(
            k + 1, n, WP_EACH(i) {
              V* const below = a + i * n;
              V sum = below[k];
              each<S>(
                  0, k, WP_EACH(j) { sum = less(below[j], row[j], sum); });
              below[k] = sum * inverse;
              all += below[k];
              row[i] = V{};
            });
        all += root;
      });
  rcond = least / most;
  return good & (rcond >= 4e3 * n * kUnitOfDouble) & (0.0 * all == 0.0);
}

template <class T>
void cholesky(int n, Source<T> a, Reads reads, bool upper, Range range, T* to, Marks marks) {
  Registers room(2 * n * n);
  V *const m = room.take(n * n), *const turned = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
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
