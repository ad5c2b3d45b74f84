#include "kernels/batched/lu.inl"

// Where a equals its transpose.
template <class S>
WP_PACK M symmetric(S n, const V* a) {
  M out = ~M{};
  steps<S>(1, n, WP_EACH(i) {
    each<S>(0, i, WP_EACH(j) { out &= a[i * n + j] == a[j * n + i]; });
  });
  return out;
}

// A⁻¹ into x; rcond and the largest column sum of x. Where nine digits are right?
template <class S>
[[gnu::noinline]] M invert_block(S n, V* a, V* x, V& rcond, V& size) {
  const LineSums before = column_sums(n, a);
  const M mirrored = symmetric(n, a);
  Elimination<S> e;
  eliminate(n, a, e);
  invert(n, a, e, x);
  const LineSums after = column_sums(n, x);
  rcond = rcond_of(before, after);
  size = after.most;
  if (any(mirrored))
    steps<S>(1, n, WP_EACH(i) {
      steps<S>(0, i, WP_EACH(j) {
        const V mean = 0.5 * x[i * n + j] + 0.5 * x[j * n + i];
        x[i * n + j] = mirrored ? mean : x[i * n + j];
        x[j * n + i] = mirrored ? mean : x[j * n + i];
      });
    });
  return trusted(n, rcond, before.most, e.largest);
}

template <class T>
void inverse(int n, Source<T> a, Range range, T* to, Marks marks) {
  Registers room(2 * n * n);
  V *const m = room.take(n * n), *const x = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, m);
      V rcond, largest;
      M good = invert_block(size, m, x, rcond, largest);
      good &= in_range<T>(largest);
      if (any(good & (rcond < kSurelyWell))) good &= ~(uneven<T>(n, a, first, have, m) & (rcond < kSurelyWell));
      if (to) store<T>(n * n, x, first, have, to);
      if (marks.rcond) store_one(rcond, first, have, marks.rcond);
      mark(good, first, have, marks.redo);
    });
  });
}
