// Included once per instruction set: elimination with partial pivoting, every lane by its own pivots.
#include "kernels/batched/tiles.inl"

inline constexpr double kUnitOfDouble = 0x1p-53, kNineDigits = 1e-9;

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

// Where products of four elements stay far from the ends of double.
WP_PACK M moderate(V norm) {
  return (norm >= 0x1p-200) & (norm <= 0x1p200);
}
// Whether some lanes are not; those have been multiplied by powers of two, with their norms. `down`: by which, 1 in
// the others, whose bits must not depend on their neighbours.
WP_PACK bool brought_near(int count, V& norm, V* a, V& down) {
  const M far = ~moderate(norm);
  if (!any(far)) return false;
  const M possible = far & (norm >= kFarBelow) & (norm <= kFarAbove);
  down = possible ? power_of(possible ? norm : V{} + 1.0).down : V{} + 1.0;
  for (int e = 0; e < count; ++e) a[e] *= down;
  norm *= down;
  return true;
}

// What elimination leaves beside the factors: row k was exchanged with row pivots[k]; row i of P A is row order[i] of
// A. R: the size of columns.
template <class R>
struct Elimination {
  M pivots[R::most], order[R::most];
  V diagonal[R::most];  // of U; in its place stand the reciprocals
  V largest;            // |u|
};

// The elements of column k from row k on: which is the largest?
template <class R>
WP_PACK M pivot_of(R m, int n, int k, const V* a) {
  V best = magnitude(a[k * n + k]);
  M pivot = M{} + k;
  steps<R>(
      k + 1, m, WP_EACH(i) {
        const V size = magnitude(a[i * n + k]);
        const M better = size > best;
        best = better ? size : best;
        pivot = better ? M{} + i : pivot;
      });
  return pivot;
}

// The largest element of column k to row k, with all of its row.
template <class R, class S>
WP_PACK void take_pivot(R m, S n, int k, V* a, Elimination<R>& e) {
  const M pivot = pivot_of(m, n, k, a);
  e.pivots[k] = pivot;
  bring_pivot(m, n, k, pivot, a);
  bring_pivot(m, Fixed<1>{}, k, pivot, e.order);
}
template <class R>
WP_PACK void begin(R m, Elimination<R>& e) {
  e.largest = V{};
  each<R>(
      0, m, WP_EACH(i) { e.order[i] = M{} + i; });
}

// P A = L U in place, of a square A.
template <class S>
WP_PACK void eliminate(S n, V* a, Elimination<S>& e) {
  begin(n, e);
  steps<S>(
      0, n, WP_EACH(k) {
        take_pivot(n, n, k, a, e);
        const V inverse = 1.0 / a[k * n + k];
        steps<S>(
            k + 1, n, WP_EACH(i) {
              const V factor = a[i * n + k] * inverse;
              a[i * n + k] = factor;
              each<S>(
                  k + 1, n, WP_EACH(j) { a[i * n + j] = less(factor, a[k * n + j], a[i * n + j]); });
            });
        each<S>(
            k, n, WP_EACH(j) { e.largest = larger(magnitude(a[k * n + j]), e.largest); });
        e.diagonal[k] = a[k * n + k];
        a[k * n + k] = inverse;
      });
}

// The factors of column k, and what is left of the `count` columns behind it.
template <int count>
WP_PACK void eliminate_column(int n, int k, V inverse, Lines<V> a) {
  V row[count + 1];
  each<Fixed<3>>(
      0, count, WP_EACH(j) { row[j] = a(k, k + 1 + j); });
#pragma GCC unroll 1
  for (int i = k + 1; i < n; ++i) {
    V* const at = &a(i, k);
    const V factor = at[0] * inverse;
    at[0] = factor;
    each<Fixed<3>>(
        0, count, WP_EACH(j) { at[1 + j] = less(factor, row[j], at[1 + j]); });
  }
}
// The same by tiles: some columns are eliminated, then the rest catches up with them.
WP_PACK void eliminate(Sized n, V* a, Elimination<Sized>& e) {
  begin(n, e);
  const Lines<V> m{a, n};
  const Lines<const V> known{a, n};
  for (int first = 0; first < n; first += kTall) {
    const int rows = std::min<int>(kTall, n - first), next = first + rows, rest = n - next;
    for (int k = first; k < next; ++k) {
      take_pivot(n, n, k, a, e);
      const V inverse = 1.0 / m(k, k);
      switch (next - k - 1) {
        case 0: eliminate_column<0>(n, k, inverse, m); break;
        case 1: eliminate_column<1>(n, k, inverse, m); break;
        case 2: eliminate_column<2>(n, k, inverse, m); break;
        default: eliminate_column<3>(n, k, inverse, m);
      }
      e.diagonal[k] = m(k, k);
      m(k, k) = inverse;
    }
    if (rest == 0) break;
    settle_rows<Triangle::lower>(rows, rest, 0, known, known, known.from(first, first), m.from(first, next));
    for (int i = next; i < n; i += kTall)
      settle_rows<Triangle::none>(std::min<int>(kTall, n - i), rest, rows, known.from(i, first),
                                  known.from(first, next), known, m.from(i, next));
  }
  for (int k = 0; k < n; ++k) {
    e.largest = larger(magnitude(e.diagonal[k]), e.largest);
    for (int j = k + 1; j < n; ++j) e.largest = larger(magnitude(m(k, j)), e.largest);
  }
}

// X ← U⁻¹ L⁻¹ X with `columns` columns.
template <class C>
WP_PACK void substitute(Sized n, C columns, const V* a, V* x) {
  const Lines<const V> m{a, n}, known{x, columns};
  const Lines<V> y{x, columns};
  for (int i = 0; i < n; i += kTall)
    settle_rows<Triangle::lower>(std::min<int>(kTall, n - i), columns, i, m.from(i, 0), known, m.from(i, i),
                                 y.from(i, 0));
  for (int i = (n - 1) / kTall * kTall; i >= 0; i -= kTall) {
    const int rows = std::min<int>(kTall, n - i), next = i + rows;
    settle_rows<Triangle::upper>(rows, columns, n - next, m.from(i, next), known.from(next, 0), m.from(i, i),
                                 y.from(i, 0));
  }
}
template <class S, class C>
WP_PACK void substitute(S n, C columns, const V* a, V* x) {
  const auto subtract = WP_EACH2(i, k) {
    each<C>(
        0, columns, WP_EACH(j) { x[i * columns + j] = less(a[i * n + k], x[k * columns + j], x[i * columns + j]); });
  };
  steps<S>(
      1, n, WP_EACH(i) {
        steps<S>(
            0, i, WP_EACH(k) { subtract(i, k); });
      });
  steps<S>(
      0, n, WP_EACH(up) {
        const int i = n - 1 - up;
        steps<S>(
            i + 1, n, WP_EACH(k) { subtract(i, k); });
        each<C>(
            0, columns, WP_EACH(j) { x[i * columns + j] *= a[i * n + i]; });
      });
}

// A⁻¹ from the factors.
template <class S>
WP_PACK void invert(S n, const V* factors, const Elimination<S>& e, V* x) {
  steps<S>(
      0, n, WP_EACH(i) {
        each<S>(
            0, n, WP_EACH(j) { x[i * n + j] = e.order[i] == j ? V{} + 1.0 : V{}; });
      });
  substitute(n, n, factors, x);
}

// ‖A⁻¹‖∞ from above, by the comparison matrices of L and U (Higham 2002, §8.3).
template <class S>
WP_PACK LineSums inverse_from_above(S n, const V* factors) {
  V y[S::most];
  const auto add = WP_EACH2(i, k) {
    y[i] = fma(magnitude(factors[i * n + k]), y[k], y[i]);
  };
  steps<S>(
      0, n, WP_EACH(i) {
        y[i] = V{} + 1.0;
        steps<S>(
            0, i, WP_EACH(k) { add(i, k); });
      });
  LineSums out;
  steps<S>(
      0, n, WP_EACH(up) {
        const int i = n - 1 - up;
        steps<S>(
            i + 1, n, WP_EACH(k) { add(i, k); });
        y[i] *= magnitude(factors[i * n + i]);
        out.take(y[i]);
      });
  return out;
}

// 1/(‖A‖‖A⁻¹‖); not finite if A or its inverse is not.
WP_PACK V rcond_of(const LineSums& a, const LineSums& inverse) {
  return 1.0 / (a.most * inverse.most) + 0.0 * (a.all + inverse.all);
}
// Whether the error u·growth/rcond of what is computed from the factors leaves nine digits (linalg/judgement.hpp);
// the largest element of A is at least ‖A‖₁/n.
WP_PACK M trusted(int n, V rcond, V norm, V largest, double factor = 1) {
  return kUnitOfDouble * factor * larger(norm, largest * (n / 8.0)) <= kNineDigits * rcond * norm;
}

// Where the largest elements of rows or of columns differ by more than 2³, or are far from 1: rcond means little
// before they are scaled.
template <class T>
[[gnu::noinline]] M uneven(int n, Source<T> a, std::int64_t first, int have, V* room) {
  load<T>(n, n, a, first, have, room);
  M out = M{};
  for (const bool turned : {false, true}) {
    V least = V{} + HUGE_VAL, most = V{};
    for (int i = 0; i < n; ++i) {
      V top = V{};
      for (int j = 0; j < n; ++j) top = larger(magnitude(room[turned ? j * n + i : i * n + j]), top);
      least = top < least ? top : least;
      most = larger(top, most);
    }
    out |= (most > 8.0 * least) | (most > 0x1p256) | (least < 0x1p-256);
  }
  return out;
}
// Below it, uneven lines may be the reason.
inline constexpr double kSurelyWell = 0x1p-17;
// Corrections so small that the next one would be below the last digit.
inline constexpr double kOneIsEnough = 0x1p-27;
