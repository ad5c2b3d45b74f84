#include "kernels/batched/lu.inl"

// P A = L U in place, A m × n, by Crout's order: what is subtracted from an element is summed first, so that the
// product of the factors is nearer to A than by subtracting step by step. U has its diagonal.
WP_PACK void factor_by_sums(Sized m, Sized n, V* a, Elimination<Sized>& e) {
  e.largest = V{};
  const auto subtract = WP_EACH2(i, j) {
    V sum = V{};
    const int terms = i < j ? i : j;
    for (int p = 0; p < terms; ++p) sum = fma(a[i * n + p], a[p * n + j], sum);
    a[i * n + j] -= sum;
    return a[i * n + j];
  };
  for (int k = 0; k < std::min<int>(m, n); ++k) {
    for (int i = k; i < m; ++i) subtract(i, k);
    take_pivot(m, n, k, a, e);
    e.largest = larger(magnitude(a[k * n + k]), e.largest);
    for (int j = k + 1; j < n; ++j) e.largest = larger(magnitude(subtract(k, j)), e.largest);
    const V inverse = 1.0 / a[k * n + k];
    for (int i = k + 1; i < m; ++i) a[i * n + k] *= inverse;
  }
}
// The same of a square A, by columns that stay in registers.
template <int N>
WP_PACK void factor_by_sums(Fixed<N>, Fixed<N>, V* a, Elimination<Fixed<N>>& e) {
  e.largest = V{};
  unrolled<0, N>(WP_KNOWN(k) {
    V x[N], sums[N];
    take_column<N>(a + k, N, x);
    bring_all<N, k>(e.pivots, x);
    each<Fixed<N>>(
        0, N, WP_EACH(i) { sums[i] = V{}; });
    unrolled<0, k>(WP_KNOWN(p) {
      x[p] -= sums[p];
      e.largest = larger(magnitude(x[p]), e.largest);
      each<Fixed<N>>(
          p + 1, N, WP_EACH(i) { sums[i] = fma(a[i * N + p], x[p], sums[i]); });
    });
    each<Fixed<N>>(
        k, N, WP_EACH(i) { x[i] -= sums[i]; });
    const V size = largest_of<k, N>(x);
    e.largest = larger(size, e.largest);
    e.pivots[k] = place_of<N, k>(size, x);
    bring_before<N, k>(e.pivots[k], a);
    bring_to<N, k>(e.pivots[k], x);
    const V inverse = 1.0 / x[k];
    each<Fixed<N>>(
        k + 1, N, WP_EACH(i) { x[i] *= inverse; });
    put_column<N>(x, N, a + k);
  });
}

// The rows' order, L (m × k), U (k × n) and its largest element. Where are all of them numbers, and A too?
template <class R, class S>
[[gnu::noinline]] M factor_lanes(R m, S n, V* a, V* order, V* l, V* u, V& largest) {
  const int rank = std::min<int>(m, n);
  V top = V{}, down = V{} + 1.0, all = V{};
  for (int e = 0; e < m * n; ++e) top = larger(magnitude(a[e]), top);
  const bool moved = brought_near(m * n, top, a, down);
  Elimination<R> e;
  factor_by_sums(m, n, a, e);
  M rows[R::most];
  order_of(m, rank, e, rows);
  for (int i = 0; i < m; ++i) order[i] = __builtin_convertvector(rows[i], V);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < rank; ++j) {
      const V part = j < i ? a[i * n + j] : V{} + (i == j ? 1.0 : 0.0);
      l[i * rank + j] = part;
      all += part;
    }
  largest = moved ? e.largest / down : e.largest;
  for (int i = 0; i < rank; ++i)
    for (int j = 0; j < n; ++j) {
      const V part = j < i ? V{} : a[i * n + j];
      u[i * n + j] = moved ? part / down : part;
      all += part;
    }
  return moderate(top) & (0.0 * all == 0.0);
}

template <class T>
void lu(int m, int n, Source<T> a, Range range, std::int64_t* p, T* l, T* u, Marks marks) {
  const int rank = std::min(m, n);
  Registers room(3 * m * n + m);
  V *const matrix = room.take(m * n), *const left = room.take(m * rank), *const right = room.take(rank * n),
           *const order = room.take(m);
  const auto run = [&](auto rows, auto columns) __attribute__((always_inline)) {
    blocks(range, [&](std::int64_t first, int have) {
      if (2 * m * n * have * static_cast<std::int64_t>(sizeof(T)) < kFetched) {  // two results
        fetch_to_write(m * rank, first, have, l);
        fetch_to_write(rank * n, first, have, u);
      }
      load<T>(m, n, a, first, have, matrix);
      V largest;
      const M good = factor_lanes(rows, columns, matrix, order, left, right, largest);
      store<std::int64_t>(m, order, first, have, p);
      store<T>(m * rank, left, first, have, l);
      store<T>(rank * n, right, first, have, u);
      mark(good & in_range<T>(largest), first, have, marks.redo);
    });
  };
  with_shape(m, n, run);
}
