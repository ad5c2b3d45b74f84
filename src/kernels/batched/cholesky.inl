#include "kernels/batched/block.inl"
#include "kernels/batched/symmetric.inl"

// L of the symmetric part of A in its lower triangle, zeros above. Where is that positive definite beyond doubt?
template <class T, class S>
[[gnu::noinline]] M factor_block(S n, V* a, Reads reads, V& rcond, M& symmetric) {
  const Mirrored found = mirror<T>(n, a, reads);
  symmetric = found.symmetric;
  // Shares of the diagonal that are left, as fractions: dividing would take longer than all else.
  V least = V{} + 1.0, of_least = least, most = V{}, of_most = least, all = V{};
  M good = found.finite & (found.largest >= 0x1p-200) & (found.largest <= 0x1p200);
  steps<S>(
      0, n, WP_EACH(k) {
        V* const row = a + k * n;
        const V whole = row[k];
        V rest = whole;
        each<S>(
            0, k, WP_EACH(j) { rest = less(row[j], row[j], rest); });
        good &= rest >= 0x1p-500;
        V root;
        const V inverse = inverse_root(good ? rest : V{} + 1.0, root);
        const M smaller = (rest * of_least) < (least * whole);
        const M greater = (rest * of_most) > (most * whole);
        least = smaller ? rest : least;
        of_least = smaller ? whole : of_least;
        most = greater ? rest : most;
        of_most = greater ? whole : of_most;
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
  rcond = least * of_most / (of_least * most);
  return good & (rcond >= 4e3 * n * kUnitOfDouble) & (0.0 * all == 0.0);
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
