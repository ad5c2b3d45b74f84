// Included once per instruction set, after tiles.inl: columns of matrices whose size is known. A column stays in
// registers while everything is done to it that the columns before it ask for.

// Sums of the sizes of lines: the largest, and their sum, which is not finite if an element is not.
struct LineSums {
  V most = V{}, all = V{};
  WP_PACK void take(V sum) {
    most = larger(sum, most);
    all += sum;
  }
};
template <class S>
WP_PACK LineSums column_sums(S n, const V* a) {
  V sums[S::most];
  each<S>(
      0, n, WP_EACH(j) { sums[j] = magnitude(a[j]); });
  steps<S>(
      1, n, WP_EACH(i) {
        each<S>(
            0, n, WP_EACH(j) { sums[j] += magnitude(a[i * n + j]); });
      });
  LineSums out;
  each<S>(
      0, n, WP_EACH(j) { out.take(sums[j]); });
  return out;
}

// What elimination leaves beside the factors: row k was exchanged with row pivots[k]. R: the size of columns.
template <class R>
struct Elimination {
  M pivots[R::most];
  V diagonal[R::most];  // of U; in its place stand the reciprocals
  V largest;            // |u|
};

// Element k of a column is exchanged with element `pivot`. E: V, M.
template <int N, int k, class E>
WP_PACK void bring_to(M pivot, E* x) {
  const E old = x[k];
  each<Fixed<N>>(
      k + 1, N, WP_EACH(i) {
        const M here = pivot == i;
        x[k] = here ? x[i] : x[k];
        x[i] = here ? old : x[i];
      });
}
// The same with all pivots so far.
template <int N, int count, class E>
WP_PACK void bring_all(const M* pivots, E* x) {
  unrolled<0, count>(WP_KNOWN(k) { bring_to<N, k>(pivots[k], x); });
}
// The largest size of elements from … to − 1, by pairs: a chain of comparisons would take longer than all else.
template <int from, int to>
WP_PACK V largest_of(const V* x) {
  constexpr int middle = (from + to) / 2;
  if constexpr (to - from == 1)
    return magnitude(x[from]);
  else
    return larger(largest_of<middle, to>(x), largest_of<from, middle>(x));
}
// Which element from k on has this size, the first of them?
template <int N, int k>
WP_PACK M place_of(V size, const V* x) {
  M place = M{} + (N - 1);
  each<Fixed<N>>(
      1, N - k, WP_EACH(up) {
        const int i = N - 1 - up;
        place = magnitude(x[i]) == size ? M{} + i : place;
      });
  return place;
}

template <int N>
WP_PACK void take_column(const V* a, int columns, V* x) {
  each<Fixed<N>>(
      0, N, WP_EACH(i) { x[i] = a[i * columns]; });
}
template <int N, int from = 0>
WP_PACK void put_column(const V* x, int columns, V* a) {
  each<Fixed<N>>(
      from, N, WP_EACH(i) { a[i * columns] = x[i]; });
}

// Row k of the columns before k is exchanged with row pivot.
template <int N, int k>
WP_PACK void bring_before(M pivot, V* a) {
#pragma GCC unroll 1
  for (int c = 0; c < k; ++c) {
    V x[N];
    each<Fixed<N>>(
        k, N, WP_EACH(i) { x[i] = a[i * N + c]; });
    bring_to<N, k>(pivot, x);
    put_column<N, k>(x, N, a + c);
  }
}

inline constexpr int kColumns = W == 8 ? 2 : 1;  // at a time: half of the registers that there are

// P A = L U into `a`, of a square A in `from`, which may be the same. Columns are eliminated from left to right, each
// with its rows exchanged and reduced by all columns before it.
template <int N>
WP_PACK void eliminate(Fixed<N>, const V* from, V* a, Elimination<Fixed<N>>& e) {
  e.largest = V{};
  unrolled<0, (N + kColumns - 1) / kColumns>(WP_KNOWN(group) {
    constexpr int first = group * kColumns, K = std::min(kColumns, N - first);
    V x[K][N];
    const auto each_column = [](int begin, auto f) __attribute__((always_inline)) {
      each<Fixed<K>>(begin, K, f);
    };
    // x[c] is reduced by column k, whose factors are given.
    const auto reduce = [&](auto k, auto factor, int begin) __attribute__((always_inline)) {
      each<Fixed<N>>(
          k + 1, N, WP_EACH(i) {
            const V by = factor(i);
            each_column(
                begin, WP_EACH(c) { x[c][i] = less(by, x[c][k], x[c][i]); });
          });
      each_column(
          begin, WP_EACH(c) { e.largest = larger(magnitude(x[c][k]), e.largest); });
    };
    each_column(
        0, WP_EACH(c) { take_column<N>(from + first + c, N, x[c]); });
    unrolled<0, first>(WP_KNOWN(k) {
      each_column(
          0, WP_EACH(c) { bring_to<N, k>(e.pivots[k], x[c]); });
    });
    unrolled<0, first>(WP_KNOWN(k) {
      reduce(
          k, WP_EACH(i) { return a[i * N + k]; }, 0);
    });
    unrolled<0, K>(WP_KNOWN(own) {
      constexpr std::integral_constant<int, first + own> k;
      V* const column = x[own];
      const V size = largest_of<k, N>(column), inverse_size = 1.0 / size;
      const M pivot = place_of<N, k>(size, column);
      e.pivots[k] = pivot;
      e.largest = larger(size, e.largest);
      bring_before<N, k>(pivot, a);
      each_column(
          own, WP_EACH(c) { bring_to<N, k>(pivot, x[c]); });
      const V inverse = with_sign<double>(inverse_size, column[k]);
      e.diagonal[k] = column[k];
      column[k] = inverse;
      each<Fixed<N>>(
          k + 1, N, WP_EACH(i) { column[i] *= inverse; });
      put_column<N>(column, N, a + k);
      reduce(
          k, WP_EACH(i) { return column[i]; }, own + 1);
    });
  });
}

// X ← U⁻¹ L⁻¹ X for K columns in registers.
template <int N, int K>
WP_PACK void substitute_columns(const V* a, V (&x)[K][N]) {
  const auto subtract = WP_EACH2(i, k) {
    const V factor = a[i * N + k];
    each<Fixed<K>>(
        0, K, WP_EACH(c) { x[c][i] = less(factor, x[c][k], x[c][i]); });
  };
  unrolled<0, N>(WP_KNOWN(k) {
    each<Fixed<N>>(
        k + 1, N, WP_EACH(i) { subtract(i, k); });
  });
  unrolled<0, N>(WP_KNOWN(up) {
    constexpr int i = N - 1 - up;
    each<Fixed<N>>(
        i + 1, N, WP_EACH(k) { subtract(i, k); });
    each<Fixed<K>>(
        0, K, WP_EACH(c) { x[c][i] *= a[i * N + i]; });
  });
}
// f(c, Fixed<K>) for columns c … c + K − 1 of `columns`.
template <class F>
WP_PACK void some_columns(int columns, F f) {
  int c = 0;
#pragma GCC unroll 1
  for (; c + kColumns <= columns; c += kColumns) f(c, Fixed<kColumns>{});
  if (c < columns) f(c, Fixed<1>{});
}

// X ← A⁻¹ X from the factors, X with `columns` columns.
template <int N>
WP_PACK void apply_factors(Fixed<N>, int columns, const V* factors, const Elimination<Fixed<N>>& e, V* x) {
  some_columns(
      columns, [&](int first, auto count) __attribute__((always_inline)) {
        constexpr int K = decltype(count)::most;
        V y[K][N];
        each<Fixed<K>>(
            0, K, WP_EACH(c) {
              take_column<N>(x + first + c, columns, y[c]);
              bring_all<N, N - 1>(e.pivots, y[c]);
            });
        substitute_columns<N>(factors, y);
        each<Fixed<K>>(
            0, K, WP_EACH(c) { put_column<N>(y[c], columns, x + first + c); });
      });
}
// Row i of P A is row order[i] of A.
template <int N>
WP_PACK void order_of(Fixed<N>, int, const Elimination<Fixed<N>>& e, M* order) {
  each<Fixed<N>>(
      0, N, WP_EACH(i) { order[i] = M{} + i; });
  bring_all<N, N - 1>(e.pivots, order);
}
// A⁻¹ from the factors.
template <int N>
WP_PACK void invert(Fixed<N>, const V* factors, const Elimination<Fixed<N>>& e, V* x) {
  M order[N];
  order_of(Fixed<N>{}, N, e, order);
  some_columns(
      opaque(N), [&](int first, auto count) __attribute__((always_inline)) {
        constexpr int K = decltype(count)::most;
        V y[K][N];
        each<Fixed<K>>(
            0, K, WP_EACH(c) {
              each<Fixed<N>>(
                  0, N, WP_EACH(i) { y[c][i] = order[i] == first + c ? V{} + 1.0 : V{}; });
            });
        substitute_columns<N>(factors, y);
        each<Fixed<K>>(
            0, K, WP_EACH(c) { put_column<N>(y[c], N, x + first + c); });
      });
}

// ‖A⁻¹‖∞ from above, by the comparison matrices of L and U (Higham 2002, §8.3).
template <int N>
WP_PACK LineSums inverse_from_above(Fixed<N>, const V* factors) {
  V y[N];
  each<Fixed<N>>(
      0, N, WP_EACH(i) { y[i] = V{} + 1.0; });
  const auto add = WP_EACH2(i, k) {
    y[i] = fma(magnitude(factors[i * N + k]), y[k], y[i]);
  };
  unrolled<0, N>(WP_KNOWN(k) {
    each<Fixed<N>>(
        k + 1, N, WP_EACH(i) { add(i, k); });
  });
  LineSums out;
  unrolled<0, N>(WP_KNOWN(up) {
    constexpr int k = N - 1 - up;
    y[k] *= magnitude(factors[k * N + k]);
    out.take(y[k]);
    each<Fixed<N>>(
        0, k, WP_EACH(i) { add(i, k); });
  });
  return out;
}
