#include "kernels/batched/reflector.inl"

// A (m × n) to R in its upper triangle and the reflections below; the first columns of Q, m × width. Where are the
// squares of every column's elements in range?
template <class T, class R, class S, class Q>
[[gnu::noinline]] M qr_block(R m, S n, Q width, V* a, V* q, V& up) {
  V largest = V{}, least = V{} + HUGE_VAL, all = V{};
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
        const V top = tops[j];
        least = (top > 0.0) & (top < least) ? top : least;
      });
  const M good = (largest >= kFarBelow) & (largest <= kFarAbove) & (least * scale.down >= 0x1p-400) &
                 (least >= kLeastAnswer<T>)&(0.0 * all == 0.0);
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
        each<Q>(
            0, width, WP_EACH(j) { q[i * width + j] = i == j ? V{} + 1.0 : V{}; });
      });
  all_steps<S>(
      rank, WP_KNOWN(down) {
        const int k = rank - 1 - down;
        reflect(m, width, k, k, a, n, tau[k], q);
      });
  return good;
}

template <class T>
void qr(int m, int n, int width, Source<T> a, Range range, T* q, T* r, Marks marks) {
  Registers room(m * n + m * width + width * n);
  V *const matrix = room.take(m * n), *const product = room.take(m * width), *const triangle = room.take(width * n);
  const auto run = [&](auto rows, auto columns, auto wide) __attribute__((always_inline)) {
    blocks(range, [&](std::int64_t first, int have) {
      fetch_to_write(m * width, first, have, q);
      fetch_to_write(width * n, first, have, r);
      load<T>(m, n, a, first, have, matrix);
      V up;
      const M good = qr_block<T>(rows, columns, wide, matrix, product, up);
      store<T>(m * width, product, first, have, q);
      V size = V{};
      for (int i = 0; i < width; ++i)
        for (int j = 0; j < n; ++j) {
          triangle[i * n + j] = j < i ? V{} : matrix[i * n + j] * up;
          size = larger(magnitude(triangle[i * n + j]), size);
        }
      store<T>(width * n, triangle, first, have, r);
      mark(good & in_range<T>(size), first, have, marks.redo);
    });
  };
  if (m == n)
    with_size(n, [&](auto size) { run(size, size, size); });
  else
    run(Sized{m}, Sized{n}, Sized{width});
}
