#include "kernels/batched/lu.inl"

#include "kernels/batched/estimate.inl"
#include "kernels/batched/minors.inl"
#include "kernels/batched/residual.inl"
#include "kernels/batched/scales.inl"

// 1/(‖A‖₁‖A⁻¹‖₁) from the factors, by computing A⁻¹.
template <class S>
[[gnu::noinline]] V rcond_by_inverse(S n, const V* factors, const Elimination<S>& e, const LineSums& columns,
                                     V* room) {
  invert(n, factors, e, room);
  return rcond_of(columns, column_sums(n, room));
}

struct Sums {
  LineSums rows, columns;
};
template <class S>
WP_PACK Sums sums_of(S n, const V* a) {
  Sums out;
  V columns[S::most];
  each<S>(
      0, n, WP_EACH(j) { columns[j] = V{}; });
  steps<S>(
      0, n, WP_EACH(i) {
        V sum = V{};
        each<S>(
            0, n, WP_EACH(j) {
              const V size = magnitude(a[i * n + j]);
              sum += size;
              columns[j] += size;
            });
        out.rows.take(sum);
      });
  each<S>(
      0, n, WP_EACH(j) { out.columns.take(columns[j]); });
  return out;
}

// What is known of a matrix beside its factors. `given`: the matrix, where it matters whether its lines are uneven.
template <class S>
struct Known {
  const V* given;
  const V* factors;
  const Elimination<S>& e;
  Sums sums;
};
// Whether the factors leave nine digits: `factor` times the error of a solution. A bound or an estimate mostly says
// so at little cost; where it does not, the inverse does. Bounds, up to 8 rows, are from below; `estimated`: more
// rows may have an rcond that is not, by which a good one is told all the same.
template <class S>
WP_PACK M sure(S n, const Known<S>& a, V* room, double factor, bool estimated, V& rcond) {
  const auto judged = [&] {
    const M good = trusted(n, rcond, a.sums.columns.most, a.e.largest, factor);
    return a.given ? meant(n, a.given, rcond, good) : good;
  };
  M good = M{};
  V before = V{};
  if constexpr (S::fixed) {
    rcond = before = rcond_of(a.sums.rows, inverse_from_above(n, a.factors));
    good = judged();
  } else if (estimated) {
    constexpr double kSpare = 16;
    rcond = before = rcond_of(a.sums.columns, inverse_from_below(n, a.factors)) * (1 / kSpare);
    good = judged();
  }
  if (!any(~good)) return good;
  rcond = rcond_by_inverse(n, a.factors, a.e, a.sums.columns, room);
  const M otherwise = judged();
  rcond = good ? before : rcond;  // what others need changes nothing
  return good | otherwise;
}

// X += D, and the sum of the sizes of its elements. Where is that the last digit?
template <class S>
WP_PACK M corrected(S n, int columns, const V* d, V* x, V& all) {
  V worst = V{};  // beyond what is small enough
  all = V{};
  for (int c = 0; c < columns; ++c) {
    V size = V{}, change = V{};
    each<S>(
        0, n, WP_EACH(i) {
          const V by = d[i * columns + c];
          V& to = x[i * columns + c];
          to += by;
          size = larger(magnitude(to), size);
          change = larger(magnitude(by), change);
          all += magnitude(to);
        });
    worst = larger(change - kOneIsEnough * size, worst);
  }
  return worst + 0.0 * all == 0.0;
}
WP_PACK V sum_of_sizes(int count, const V* x) {
  V all = V{};
  for (int i = 0; i < count; ++i) all += magnitude(x[i]);
  return all;
}

struct SolveRoom {
  V *a, *factors, *b, *x, *kept, *room;
  bool exact;  // rcond is asked for
};
template <class S>
[[gnu::noinline]] M solve_block(S n, int columns, const SolveRoom& r, bool refined, V& rcond, V& all) {
  for (int e = 0; e < n * columns; ++e) r.x[e] = r.b[e];
  Elimination<S> e;
  eliminate(n, r.a, r.factors, e);
  const Sums sums = sums_of(n, r.a);
  const M good =
      sure(n, {r.a, r.factors, e, sums}, r.room, 1, !r.exact, rcond) & factored_in_range(sums.columns.most);
  apply_factors(n, columns, r.factors, e, r.x);
  if (refined) {
    residual(
        n, n, columns, WP_EACH2(i, j) { return r.a[i * n + j]; }, Start{r.b}, r.x, r.room);
    apply_factors(n, columns, r.factors, e, r.room);
    return good & corrected(n, columns, r.room, r.x, all);
  }
  all = sum_of_sizes(n * columns, r.x);
  return good & (0.0 * all == 0.0);
}

// X = M Y.
template <class S>
WP_PACK void multiply(S n, int columns, const V* m, const V* y, V* x) {
  for (int c = 0; c < columns; ++c)
    each<S>(
        0, n, WP_EACH(i) {
          V sum = m[i * n] * y[c];
          each<S>(
              1, n, WP_EACH(k) { sum = fma(m[i * n + k], y[k * columns + c], sum); });
          x[i * columns + c] = sum;
        });
}

// The same by the inverse from minors, with a correction: without it, an error of A X = I would count twice with the
// condition where x is small beside A⁻¹b of other right-hand sides.
template <class S>
[[gnu::noinline]] M solve_by_minors(S n, int columns, const SolveRoom& r, V& rcond, V& all) {
  V inverse[S::most * S::most], rest[S::most * S::most];
  LineSums before = column_sums(n, r.a);
  V down = V{} + 1.0;
  const bool moved = brought_near(n * n, before.most, r.a, down);
  M good = invert_by_minors(n, r.a, before.most, inverse, rest);
  rcond = rcond_of(before, column_sums(n, inverse));
  good &= trusted(n, rcond, before.most, V{});
  multiply(n, columns, inverse, r.b, r.x);
  residual(
      n, n, columns, WP_EACH2(i, j) { return r.a[i * n + j]; }, Start{r.b}, r.x, r.room);
  V* const change = r.room + n * columns;
  multiply(n, columns, inverse, r.room, change);
  good &= corrected(n, columns, change, r.x, all);
  if (moved) {
    for (int e = 0; e < n * n; ++e) r.a[e] /= down;
    for (int e = 0; e < n * columns; ++e) r.x[e] *= down;
    all *= down;
  }
  return good & (0.0 * all == 0.0);
}

// By minors, which needs a correction, or by elimination.
template <class S>
WP_PACK M solve_lanes(S n, int columns, const SolveRoom& r, bool refined, V& rcond, V& all) {
  const auto elimination = [&]() __attribute__((always_inline)) {
    return solve_block(n, columns, r, refined, rcond, all);
  };
  if constexpr (by_minors<S>)
    if (refined) {
      const M good = by_minors_or(
          [&]() __attribute__((always_inline)) { return solve_by_minors(n, columns, r, rcond, all); }, elimination,
          {{r.x, n * columns}, {&rcond, 1}, {&all, 1}}, r.kept);
      return meant(n, r.a, rcond, good);
    }
  return elimination();
}

// x = C y with R A C y = R b in lanes that are not good, with rows and columns of one size. Where is that good?
template <class T, class S>
[[gnu::noinline]] M solve_scaled(S n, int columns, M good, const SolveRoom& r, bool refined, V& rcond) {
  V rows[S::most], scales[S::most], own, all;
  M fresh = equilibrate(n, r.a, rows, scales) & ~good;
  if (!any(fresh)) return fresh;
  for (int e = 0; e < n * columns; ++e) {
    r.kept[e] = r.x[e];
    V& b = r.b[e];
    const M nothing = b == 0.0;
    b *= rows[e / columns];
    fresh &= nothing | (magnitude(b) >= 0x1p-900);
  }
  fresh &= solve_block(n, columns, r, refined, own, all);
  for (int c = 0; c < columns; ++c) {
    V size = V{}, change = V{};  // the correction, which is still there, in the units of x
    for (int i = 0; i < n && refined; ++i) {
      size = larger(magnitude(r.x[i * columns + c]) * scales[i], size);
      change = larger(magnitude(r.room[i * columns + c]) * scales[i], change);
    }
    const M little = unscale<T>(n, columns, scales, V{} + 1.0, r.x + c);
    fresh &= little & (refined ? change <= kOneIsEnough * size : own >= kSurelyWell);
  }
  for (int e = 0; e < n * columns; ++e) r.x[e] = fresh ? r.x[e] : r.kept[e];
  rcond = fresh ? own : rcond;
  return fresh;
}

template <class T>
void solve(int n, int columns, Source<T> a, Source<T> b, Range range, T* to, bool refined, Marks marks) {
  const int wide = std::max(n, 2 * columns);
  Registers room(2 * n * n + 3 * n * columns + 2 + n * wide);
  SolveRoom r{};
  r.a = room.take(n * n);
  r.factors = room.take(n * n);
  r.b = room.take(n * columns);
  r.x = room.take(n * columns);
  r.kept = room.take(n * columns + 2);
  r.room = room.take(n * wide);
  r.exact = marks.rcond != nullptr;
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, r.a);
      load<T>(n, columns, b, first, have, r.b);
      V rcond, all;
      M good = solve_lanes(size, columns, r, refined, rcond, all);
      good &= in_range<T>(all) & large_enough(kLeastUnscaled<T>, n, columns, r.x, n, r.b);
      if (any(~good) && !marks.as_given) good |= solve_scaled<T>(size, columns, good, r, refined, rcond);
      store<T>(n * columns, r.x, first, have, to);
      if (marks.rcond) store_one(rcond, first, have, marks.rcond);
      mark(good, first, have, marks.redo);
    });
  });
}
