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

// 2^−kBeside of the largest element is as far below it as a row or column may be without losing what counts below the
// range of T.
template <class T>
inline constexpr int kBeside = std::is_same_v<T, float> ? 100 : 700;
template <class T>
WP_PACK V small_for(V top) {
  constexpr double with_digits = std::is_same_v<T, float> ? 0x1p-102 : 0x1p-969;
  return larger((std::is_same_v<T, float> ? 0x1p-100 : 0x1p-700) * top, V{} + with_digits);
}
// Where all pivots of a square matrix are at least q times the largest element of A and U, a step of elimination
// makes what is left of a row at most 2/q times as large, and of a column twice: (2/q)ⁿ⁺¹ ≤ 2^kBeside leaves no room
// for a row that is too small.
template <class T>
double least_share(int n) {
  return std::ldexp(1.0, 1 - kBeside<T> / (n + 1));
}
// Where there are smaller ones: are the largest of every row and every column that is not 0, and every pivot, above
// that bound?
template <class T>
[[gnu::noinline]] M kept_in_range(int m, int n, const V* a, const V* u, V bound) {
  M good = ~M{};
  const auto line = [&](int count, int step, const V* from) {
    V most = V{};
    for (int i = 0; i < count; ++i) most = larger(magnitude(from[i * step]), most);
    good &= (most == 0.0) | (most >= bound);
  };
  for (int i = 0; i < m; ++i) line(n, 1, a + i * n);
  for (int j = 0; j < n; ++j) line(m, n, a + j);
  for (int k = 0; k < std::min(m, n); ++k) good &= magnitude(u[k * n + k]) >= bound;
  return good;
}

// The largest element of A, the least that is not 0 (unless A is square), and the largest of U.
struct Sizes {
  V top, least, largest;
};
// The rows' order, L (m × k) and U (k × n). Where are all of them numbers, and A too?
template <class R, class S>
[[gnu::noinline]] M factor_lanes(R m, S n, V* a, V* order, V* l, V* u, Sizes& sizes) {
  const int rank = std::min<int>(m, n);
  V top = V{}, least = V{} + HUGE_VAL, down = V{} + 1.0, all = V{};
  for (int e = 0; e < m * n; ++e) top = larger(magnitude(a[e]), top);
  for (int e = 0; m != n && e < m * n; ++e) {
    const V size = magnitude(a[e]);
    least = lesser(size == 0.0 ? V{} + HUGE_VAL : size, least);
  }
  sizes.top = top;
  sizes.least = least;
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
  sizes.largest = moved ? e.largest / down : e.largest;
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
  const double share = least_share<T>(n);
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
      Sizes sizes;
      M good = factor_lanes(rows, columns, matrix, order, left, right, sizes);
      const V bound = small_for<T>(sizes.top);
      const V enough = larger(share * larger(sizes.largest, sizes.top), 0x1p32 * bound);
      M sure = m == n ? ~M{} : sizes.least >= bound;
      for (int k = 0; m == n && k < n; ++k) sure &= magnitude(right[k * n + k]) >= enough;
      if (any(good & ~sure)) {
        load<T>(m, n, a, first, have, matrix);
        good &= sure | kept_in_range<T>(m, n, matrix, right, bound);
      }
      store<std::int64_t>(m, order, first, have, p);
      store<T>(m * rank, left, first, have, l);
      store<T>(rank * n, right, first, have, u);
      mark(good & in_range<T>(sizes.largest), first, have, marks.redo);
    });
  };
  with_shape(m, n, run);
}
