#include "kernels/batched/lu.inl"

#include "kernels/batched/form.inl"
#include "kernels/batched/minors.inl"
#include "kernels/batched/scales.inl"

// A⁻¹ into x by elimination in a; the largest element of U.
template <class S>
[[gnu::noinline]] V invert_by_elimination(S n, V* a, V* x) {
  Elimination<S> e;
  eliminate(n, a, a, e);
  invert(n, a, e, x);
  return e.largest;
}
// By minors, or by elimination.
template <class S>
WP_PACK V invert_lanes(S n, V* a, V norm, V* x) {
  if constexpr (by_minors<S>) {
    V rest[S::most * S::most + 1], down = V{} + 1.0, largest = V{};
    const bool moved = brought_near(n * n, norm, a, down);
    const auto minors = [&]() __attribute__((always_inline)) {
      const M good = invert_by_minors(n, a, norm, x, rest);
      correct_inverse(n, rest, x);
      return good;
    };
    const auto elimination = [&]() __attribute__((always_inline)) {
      largest = invert_by_elimination(n, a, x);
      if (moved) largest /= down;
      return ~M{};
    };
    by_minors_or(minors, elimination, {{x, n * n}, {&largest, 1}}, rest);
    for (int e = 0; moved && e < n * n; ++e) x[e] *= down;
    return largest;
  } else {
    return invert_by_elimination(n, a, x);
  }
}

// A⁻¹ into x; rcond and the largest column sum of x. Where nine digits are right?
template <class S>
[[gnu::noinline]] M invert_block(S n, V* a, V* x, V& rcond, V& size) {
  const LineSums before = column_sums(n, a);
  const Form form = form_of(n, a);
  const V largest = invert_lanes(n, a, before.most, x);
  const LineSums after = column_sums(n, x);
  rcond = rcond_of(before, after);
  size = after.most;
  if (any(form.symmetric | form.lower | form.upper)) restore(n, form, x);
  return trusted(n, rcond, before.most, largest);
}

// A⁻¹ = C (R A C)⁻¹ R in lanes that are not good, with rows and columns of one size; or its condition alone. Where is
// that good? kept: room.
template <class T, class S>
[[gnu::noinline]] M invert_scaled(S n, M good, bool condition_alone, V* a, V* x, V* kept, V& rcond) {
  const Form form = form_of(n, a);
  V rows[S::most], columns[S::most], own, size;
  M fresh = equilibrate(n, a, rows, columns) & ~good;
  if (!any(fresh)) return fresh;
  std::copy_n(x, n * n, kept);
  fresh &= invert_block(n, a, x, own, size);
  if (!condition_alone) fresh &= own >= kSurelyWell;  // what scaling has not cured has its inverse corrected
  for (int j = 0; j < n && !condition_alone; ++j) fresh &= unscale<T>(n, n, columns, rows[j], x + j);
  if (any(form.symmetric)) restore(n, {form.symmetric, M{}, M{}}, x);
  for (int e = 0; e < n * n; ++e) x[e] = fresh ? x[e] : kept[e];
  rcond = fresh ? own : rcond;
  return fresh;
}

template <class T>
void inverse(int n, Source<T> a, Range range, T* to, Marks marks) {
  Registers room(3 * n * n);
  V *const m = room.take(n * n), *const x = room.take(n * n), *const kept = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      if (to) fetch_to_write(n * n, first, have, to);
      load<T>(n, n, a, first, have, m);
      V rcond, largest;
      M good = invert_block(size, m, x, rcond, largest);
      // 1/‖A‖₁; a column x of the inverse has an element of 1/n of that. Minors are corrected by a residual.
      const V least = rcond * largest, bound = V{} + (n <= 4 ? kLeastUnscaled<T> : kLeastAnswer<T>);
      good &= in_range<T>(largest) & (least >= kLargest * bound) & (least <= 0x1p900);
      if (any(good & (rcond < kSurelyWell))) {
        load<T>(n, n, a, first, have, m);
        good = meant(size, m, rcond, good);
      }
      if (any(~good) && !marks.as_given) {
        load<T>(n, n, a, first, have, m);
        good |= invert_scaled<T>(size, good, !to, m, x, kept, rcond);
      }
      if (to) store<T>(n * n, x, first, have, to);
      if (marks.rcond) store_one(rcond, first, have, marks.rcond);
      mark(good, first, have, marks.redo);
    });
  });
}
