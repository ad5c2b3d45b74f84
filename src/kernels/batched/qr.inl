#include "kernels/batched/reflector.inl"

// A (m × n) to R in its upper triangle and the reflections below; Q (m × k) into q, n wide. Where are the squares of
// every column's elements in range?
template <class R, class S>
[[gnu::noinline]] M qr_block(R m, S n, V* a, V* q, V& up) {
  V largest = V{}, least = V{} + 1.0, all = V{};
  V tops[S::most];
  each<S>(
      0, n, WP_EACH(j) { tops[j] = V{}; });
  steps<R>(
      0, m, WP_EACH(i) {
        each<S>(
            0, n, WP_EACH(j) {
              tops[j] = larger(magnitude(a[i * n + j]), tops[j]);
              all += a[i * n + j];
            });
      });
  each<S>(
      0, n, WP_EACH(j) { largest = larger(tops[j], largest); });
  const PowerOfTwo scale = power_of(largest);
  up = scale.up;
  each<S>(
      0, n, WP_EACH(j) {
        const V top = tops[j] * scale.down;
        least = (top > 0.0) & (top < least) ? top : least;
      });
  const M good = (largest >= kFarBelow) & (largest <= kFarAbove) & (least >= 0x1p-400) & (0.0 * all == 0.0);
  steps<R>(
      0, m, WP_EACH(i) {
        each<S>(
            0, n, WP_EACH(j) { a[i * n + j] *= scale.down; });
      });
  const int rank = m < n ? static_cast<int>(m) : static_cast<int>(n);
  V tau[S::most];
  triangularise(m, n, a, tau);
  steps<R>(
      0, m, WP_EACH(i) {
        each<S>(
            0, n, WP_EACH(j) { q[i * n + j] = i == j ? V{} + 1.0 : V{}; });
      });
  all_steps<S>(
      rank, WP_KNOWN(down) {
        const int k = rank - 1 - down;
        reflect(m, n, k, k, a, n, tau[k], q);
      });
  return good;
}

template <class T>
void qr(int m, int n, Source<T> a, Range range, T* q, T* r, Marks marks) {
  const int rank = std::min(m, n);
  Registers room(3 * m * n);
  V *const matrix = room.take(m * n), *const product = room.take(m * n), *const packed = room.take(m * n);
  const auto run = [&](auto rows, auto columns) __attribute__((always_inline)) {
    blocks(range, [&](std::int64_t first, int have) {
      fetch_to_write(m * rank, first, have, q);
      fetch_to_write(rank * n, first, have, r);
      load<T>(m, n, a, first, have, matrix);
      V up;
      const M good = qr_block(rows, columns, matrix, product, up);
      if (rank < n)
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < rank; ++j) packed[i * rank + j] = product[i * n + j];
      store<T>(m * rank, rank < n ? packed : product, first, have, q);
      for (int i = 0; i < rank; ++i)
        for (int j = 0; j < n; ++j) packed[i * n + j] = j < i ? V{} : matrix[i * n + j] * up;
      store<T>(rank * n, packed, first, have, r);
      V size = V{};
      for (int e = 0; e < rank * n; ++e) size = larger(magnitude(packed[e]), size);
      mark(good & in_range<T>(size), first, have, marks.redo);
    });
  };
  with_shape(m, n, run);
}
