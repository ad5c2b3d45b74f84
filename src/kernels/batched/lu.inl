// Included once per instruction set: elimination with partial pivoting, every lane by its own pivots.
#include "kernels/batched/tiles.inl"

#include "kernels/batched/columns.inl"

// Whether some lanes are not; those have been multiplied by powers of two, with their norms, but for those that would
// lose digits of their small elements by it. `down`: by which, 1 in the others, whose bits must not depend on their
// neighbours.
WP_PACK bool brought_near(int count, V& norm, V* a, V& down) {
  const M far = ~moderate(norm);
  if (!any(far)) return false;
  M possible = far & (norm >= kFarBelow) & (norm <= kFarAbove);
  down = possible ? power_of(possible ? norm : V{} + 1.0).down : V{} + 1.0;
  for (int e = 0; e < count; ++e) possible &= a[e] * down / down == a[e];
  down = possible ? down : V{} + 1.0;
  for (int e = 0; e < count; ++e) a[e] *= down;
  norm *= down;
  return true;
}

// The largest element of column k from row k on to row k, with all of its row.
WP_PACK void take_pivot(int m, int n, int k, V* a, Elimination<Sized>& e) {
  V best = magnitude(a[k * n + k]);
  M pivot = M{} + k;
  for (int i = k + 1; i < m; ++i) {
    const V size = magnitude(a[i * n + k]);
    pivot = size > best ? M{} + i : pivot;
    best = larger(size, best);
  }
  e.pivots[k] = pivot;
  exchange_rows(n, k, pivot, a);
}
// Row i of P A is row order[i] of A.
WP_PACK void order_of(Sized m, int pivots, const Elimination<Sized>& e, M* order) {
  for (int i = 0; i < m; ++i) order[i] = M{} + i;
  for (int k = 0; k < pivots; ++k) exchange_rows(1, k, e.pivots[k], order);
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
// P A = L U by tiles, in Crout's order: some columns catch up with all before them and are eliminated, then their
// rows catch up. An element is read and written once, and what is subtracted from it is summed first.
WP_PACK void eliminate(Sized n, const V* from, V* a, Elimination<Sized>& e) {
  if (from != a) std::copy(from, from + n * n, a);
  e.largest = V{};
  const Lines<V> m{a, n};
  const Lines<const V> known{a, n};
  for (int first = 0; first < n; first += kTall) {
    const int rows = std::min<int>(kTall, n - first), next = first + rows, rest = n - next;
    for (int i = first; first > 0 && i < n; i += kTall)
      settle_rows<Triangle::none>(std::min<int>(kTall, n - i), rows, first, known.from(i, 0), known.from(0, first),
                                  known, m.from(i, first));
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
    if (rest > 0)
      settle_rows<Triangle::lower>(rows, rest, first, known.from(first, 0), known.from(0, next),
                                   known.from(first, first), m.from(first, next));
  }
  for (int k = 0; k < n; ++k) {
    e.largest = larger(magnitude(e.diagonal[k]), e.largest);
    for (int j = k + 1; j < n; ++j) e.largest = larger(magnitude(m(k, j)), e.largest);
  }
}

// X ← U⁻¹ L⁻¹ X with `columns` columns.
WP_PACK void substitute(Sized n, int columns, const V* a, V* x) {
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
// X ← A⁻¹ X from the factors, X with `columns` columns.
WP_PACK void apply_factors(Sized n, int columns, const V* factors, const Elimination<Sized>& e, V* x) {
  for (int k = 0; k < n; ++k) exchange_rows(columns, k, e.pivots[k], x);
  substitute(n, columns, factors, x);
}
// A⁻¹ from the factors.
WP_PACK void invert(Sized n, const V* factors, const Elimination<Sized>& e, V* x) {
  M order[kLargest];
  order_of(n, n, e, order);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) x[i * n + j] = order[i] == j ? V{} + 1.0 : V{};
  substitute(n, n, factors, x);
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
template <class S>
[[gnu::noinline]] M uneven(S n, const V* a) {
  V columns[S::most], most = V{}, least = V{} + HUGE_VAL;
  each<S>(
      0, n, WP_EACH(j) { columns[j] = V{}; });
  const auto take = [&](V top) __attribute__((always_inline)) {
    least = lesser(top, least);
    most = larger(top, most);
  };
  steps<S>(
      0, n, WP_EACH(i) {
        V row = V{};
        each<S>(
            0, n, WP_EACH(j) {
              const V size = magnitude(a[i * n + j]);
              row = larger(size, row);
              columns[j] = larger(size, columns[j]);
            });
        take(row);
      });
  const M rows = most > 8.0 * least;
  const V lowest = least;
  least = V{} + HUGE_VAL;
  each<S>(
      0, n, WP_EACH(j) { take(columns[j]); });  // the largest of all is that of the rows
  return rows | (most > 8.0 * least) | (most > 0x1p256) | (lesser(lowest, least) < 0x1p-256);
}
// Below it, uneven lines may be the reason.
inline constexpr double kSurelyWell = 0x1p-17;
// Where it is good and rcond means what it says.
template <class S>
WP_PACK M meant(S n, const V* a, V rcond, M good) {
  const M low = rcond < kSurelyWell;
  return any(good & low) ? good & ~(uneven(n, a) & low) : good;
}
// Corrections so small that the next one would be below the last digit.
inline constexpr double kOneIsEnough = 0x1p-27;
