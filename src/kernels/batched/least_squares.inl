// Least squares and shortest solutions of full rank by one system (linalg/augmented.hpp):
//   [1 M; Mᵀ 0] [p; q] = [f; g],  M = Q R (m × n, m ≥ n):  h = R⁻ᵀ g,  d = Qᵀ f,  q = R⁻¹(d₁ − h),  p = Q [h; d₂].
// With g = 0 the q that minimises |M q − f|, with f = 0 the shortest p with Mᵀ p = g.
#include "kernels/batched/reflector.inl"
#include "kernels/batched/residual.inl"

// Which of f and g is not 0.
enum class Given : std::uint8_t { f, g, both };

struct LeastRoom {
  V *matrix, *factors;       // M with columns of one size, then Q and R
  V *tau, *inverse;          // of the reflections; 1/diag(R)
  V *down, *size;            // columns of M are those of A times `down`; their sizes in A, over the largest
  V *scale, *lift;           // what columns of the right-hand side were divided by, and multiplied by before
  V *right, *p, *q, *f, *g;  // the right-hand side, m or n × columns; m × columns, n × columns, and again
};

// X ← Qᵀ X, or Q X if `back`.
template <class S>
WP_PACK void rotate(int m, S n, int columns, const LeastRoom& r, bool back, V* x) {
  for (int step = 0; step < n; ++step) {
    const int k = back ? n - 1 - step : step;
    columns == 1 ? reflect(Sized{m}, Fixed<1>{}, k, 0, r.factors, n, r.tau[k], x)
                 : reflect(Sized{m}, Sized{columns}, k, 0, r.factors, n, r.tau[k], x);
  }
}
// X ← R⁻¹ X, or R⁻ᵀ X if `turned`.
template <class S>
WP_PACK void divide(S n, int columns, const LeastRoom& r, bool turned, V* x) {
  for (int step = 0; step < n; ++step) {
    const int i = turned ? step : n - 1 - step, from = turned ? 0 : i + 1, to = turned ? i : static_cast<int>(n);
    for (int k = from; k < to; ++k) {
      const V element = r.factors[turned ? k * n + i : i * n + k];
      for (int c = 0; c < columns; ++c) x[i * columns + c] = less(element, x[k * columns + c], x[i * columns + c]);
    }
    for (int c = 0; c < columns; ++c) x[i * columns + c] *= r.inverse[i];
  }
}

// p and q in the places of f and g; p without the last Q unless `whole`.
template <class S>
[[gnu::noinline]] void solve_augmented(int m, S n, int columns, const LeastRoom& r, Given given, bool whole, V* p,
                                       V* q) {
  if (given != Given::g) rotate(m, n, columns, r, false, p);
  if (given != Given::f) divide(n, columns, r, true, q);
  for (int e = 0; e < n * columns; ++e) {
    const V h = given == Given::f ? V{} : q[e];
    q[e] = given == Given::g ? -h : p[e] - h;
    p[e] = h;
  }
  for (int e = n * columns; given == Given::g && e < m * columns; ++e) p[e] = V{};
  divide(n, columns, r, false, q);
  if (whole) rotate(m, n, columns, r, true, p);
}

// Brings a size of which the power of two is next to the ends of the range, or beyond, away from them.
WP_PACK V away_from_ends(V size) {
  return size < 0x1p-700 ? V{} + 0x1p300 : size > 0x1p700 ? V{} + 0x1p-300 : V{} + 1.0;
}

// Columns of M to one size by powers of two, after all of M was multiplied by `lift`. Where are they numbers of a
// size that allows it?
template <class S>
WP_PACK M balance(int m, S n, const LeastRoom& r, V& largest, V& lift) {
  V tops[S::most], all = V{};
  each<S>(
      0, n, WP_EACH(j) { tops[j] = V{}; });
  for (int i = 0; i < m; ++i)
    each<S>(
        0, n, WP_EACH(j) {
          tops[j] = larger(magnitude(r.matrix[i * n + j]), tops[j]);
          all += r.matrix[i * n + j];
        });
  M good = 0.0 * all == 0.0;
  largest = V{};
  each<S>(
      0, n, WP_EACH(j) { largest = larger(tops[j], largest); });
  lift = away_from_ends(largest);
  if (any(lift != 1.0))
    for (int e = 0; e < m * n; ++e) r.matrix[e] *= lift;
  largest *= lift;
  each<S>(
      0, n, WP_EACH(j) {
        tops[j] *= lift;
        good &= (tops[j] >= kFarBelow) & (tops[j] <= kFarAbove);
      });
  const V over = power_of(largest).down;
  each<S>(
      0, n, WP_EACH(j) {
        const PowerOfTwo scale = power_of(tops[j]);
        r.down[j] = scale.down;
        r.size[j] = scale.up * over;
      });
  for (int i = 0; i < m; ++i)
    each<S>(
        0, n, WP_EACH(j) { r.factors[i * n + j] = r.matrix[i * n + j] *= r.down[j]; });
  return good;
}

// ‖M‖ and ‖M⁻¹‖ (Frobenius), from R; `atol` in the units of the largest column. Where has A full rank, σ₁ ≤ ‖A‖ and
// 1/σ ≤ ‖A⁻¹‖ being so by a margin?
template <class S>
WP_PACK M condition(S n, const LeastRoom& r, double rtol, V atol, V& norm, V& inverse_norm) {
  V own = V{}, given = V{}, own_inverse = V{}, given_inverse = V{};
  V* const t = r.f;  // R⁻¹, a row at a time from the last
  V tallest = V{};   // of its rows in the units of A, whose squares may be beyond the range
  for (int j = 0; j < n; ++j) {
    V sum = V{};
    for (int i = 0; i <= j; ++i) sum = fma(r.factors[i * n + j], r.factors[i * n + j], sum);
    own += sum;
    given = fma(sum, r.size[j] * r.size[j], given);
  }
  for (int i = n - 1; i >= 0; --i) {
    V sum = r.inverse[i] * r.inverse[i];
    t[i * n + i] = r.inverse[i];
    for (int j = i + 1; j < n; ++j) {
      V element = V{};
      for (int k = i + 1; k <= j; ++k) element = fma(r.factors[i * n + k], t[k * n + j], element);
      element *= -r.inverse[i];
      t[i * n + j] = element;
      sum = fma(element, element, sum);
    }
    own_inverse += sum;
    given_inverse += sum / (r.size[i] * r.size[i]);
    tallest = larger(square_root(sum) / r.size[i], tallest);
  }
  norm = square_root(own);
  inverse_norm = square_root(own_inverse);
  constexpr double margin = 1 + 0x1p-20;
  V least = square_root(given_inverse);  // 1/σ, of A over the power of two next to its largest element
  least = margin * (least <= 0x1p500 ? least : tallest * std::sqrt(static_cast<double>(n)));
  const V relative = rtol * square_root(given);
  return ((relative == 0.0) | (relative * least < 1.0)) & ((atol == 0.0) | (atol * least < 1.0));
}

// Columns of the right-hand side near 1, by powers of two. Where is that possible?
WP_PACK M scale_right(int rows, int columns, const LeastRoom& r) {
  M good = ~M{};
  for (int c = 0; c < columns; ++c) {
    V top = V{}, all = V{};
    for (int i = 0; i < rows; ++i) {
      top = larger(magnitude(r.right[i * columns + c]), top);
      all += r.right[i * columns + c];
    }
    const M nothing = top == 0.0;
    r.lift[c] = away_from_ends(nothing ? V{} + 1.0 : top);
    top *= r.lift[c];
    good &= (nothing | ((top >= kFarBelow) & (top <= kFarAbove))) & (0.0 * all == 0.0);
    const PowerOfTwo scale = power_of(nothing ? V{} + 0.5 : top);
    r.scale[c] = scale.up;
    for (int i = 0; i < rows; ++i) r.right[i * columns + c] = r.right[i * columns + c] * r.lift[c] * scale.down;
  }
  return good;
}

struct Spread {  // of one column: its largest element and its length
  V top, length;
};
WP_PACK Spread spread_of(int from, int to, int columns, int c, const V* x) {
  V top = V{}, sum = V{};
  for (int i = from; i < to; ++i) {
    const V v = x[i * columns + c];
    top = larger(magnitude(v), top);
    sum = fma(v, v, sum);
  }
  return {top, square_root(sum)};
}

// The largest element of column c of q in the units of X, over the largest of these: columns of M are those of A
// times `down`.
struct Units {
  V over;
  template <class S>
  WP_PACK V largest(S n, int columns, int c, const LeastRoom& r) const {
    V top = V{};
    for (int i = 0; i < n; ++i) top = larger(magnitude(r.q[i * columns + c]) * (r.down[i] * over), top);
    return top;
  }
};
template <class S>
WP_PACK Units units_of(S n, const LeastRoom& r) {
  V most = r.down[0];
  for (int i = 1; i < n; ++i) most = larger(r.down[i], most);
  return {1.0 / most};
}

// The error before anything is corrected, from above (Wedin 1973; Higham 2002, §20.1); what m roundings leave of a
// condition of 1 beside.
template <class S>
WP_PACK V estimated(int m, S n, int columns, const LeastRoom& r, bool shortest, V norm, V condition) {
  const Units units = units_of(n, r);
  V error = kUnitOfDouble * (2.0 * condition + m);
  for (int c = 0; c < columns && !shortest; ++c) {
    const V top = spread_of(0, n, columns, c, r.q).top, size = units.largest(n, columns, c, r),
            rest = spread_of(n, m, columns, c, r.p).length;
    const V apart = rest * std::sqrt(static_cast<double>(n)) / norm;  // σ₁ ≥ ‖M‖/√n
    const V worse = kUnitOfDouble * condition * fma(condition + 1.0, apart / size, 2.0 * (top / size));
    error = (worse <= error) | ((top == 0.0) & (rest == 0.0)) ? error : worse;  // a NaN stays
  }
  return error;
}

// One correction, in lanes that are not `kept`. What is left after it is as much less again: where is that below the
// last digit?
template <class S>
[[gnu::noinline]] M correct(int m, S n, int columns, const LeastRoom& r, bool shortest, V norm, V condition, M kept) {
  constexpr double kSpare = 64;
  if (!shortest && m > n) rotate(m, n, columns, r, true, r.p);
  residual(
      Sized{m}, n, columns, WP_EACH2(i, j) { return r.matrix[i * n + j]; }, Start{shortest ? nullptr : r.right, r.p},
      r.q, r.f);
  const bool square = !shortest && m == n;  // p = 0
  if (!square)
    residual(
        Sized{n}, Sized{m}, columns, WP_EACH2(i, j) { return r.matrix[j * n + i]; },
        Start{shortest ? r.right : nullptr}, r.p, r.g);
  solve_augmented(m, n, columns, r, square ? Given::f : Given::both, false, r.f, r.g);
  M good = ~M{};
  const Units units = units_of(n, r);
  for (int c = 0; c < columns; ++c) {
    const V other = shortest ? norm * spread_of(0, n, columns, c, r.g).length
                             : condition * condition / norm * spread_of(0, m, columns, c, r.f).length,
            own = condition * (shortest ? spread_of(0, m, columns, c, r.f) : spread_of(0, n, columns, c, r.g)).length;
    good &=
        kSpare * (own + other) <= (shortest ? spread_of(0, m, columns, c, r.p).top : units.largest(n, columns, c, r));
  }
  if (shortest) rotate(m, n, columns, r, true, r.f);
  V *const to = shortest ? r.p : r.q, *const by = shortest ? r.f : r.g;
  for (int e = 0; e < (shortest ? m : static_cast<int>(n)) * columns; ++e) to[e] = kept ? to[e] : to[e] + by[e];
  return good;
}

// From M and the right-hand side to the answer in p (the shortest) or in q, still in the units of this block. Where
// is it beyond doubt?
template <class S>
[[gnu::noinline]] M least_block(int m, S n, int columns, const LeastRoom& r, Limits limits, bool shortest,
                                bool refined, V& lift, V& error) {
  V largest, norm, inverse_norm;
  M good = balance(m, n, r, largest, lift);
  triangularise(Sized{m}, n, r.factors, r.tau);
  for (int i = 0; i < n; ++i) r.inverse[i] = 1.0 / r.factors[i * n + i];
  good &= condition(n, r, limits.rtol, limits.atol * lift * power_of(largest).down, norm, inverse_norm);
  const int rows = shortest ? static_cast<int>(n) : m;
  if (shortest)
    for (int e = 0; e < n * columns; ++e) r.right[e] *= r.down[e / columns];
  good &= scale_right(rows, columns, r);
  V* const start = shortest ? r.q : r.p;
  for (int e = 0; e < rows * columns; ++e) start[e] = r.right[e];
  solve_augmented(m, n, columns, r, shortest ? Given::g : Given::f, shortest, r.p, r.q);
  const V kappa = norm * inverse_norm;
  // Beyond it gradients lose half of their digits, which is for the careful way to say.
  good &= kappa <= 0x1p26;
  error = estimated(m, n, columns, r, shortest, norm, kappa);
  M sure = refined ? M{} : error <= kNineDigits;
  error = sure ? error : V{} + kUnitOfDouble;
  if (any(good & ~sure)) sure |= correct(m, n, columns, r, shortest, norm, kappa, sure);
  return good & sure;
}

// b.data null: the identity.
template <class T>
void least(int m, int n, int columns, Source<T> a, Source<T> b, Limits limits, bool shortest, bool turned,
           Range range, T* to, bool refined, Marks marks) {
  const int rows = shortest ? n : m, answer = shortest ? m : n;
  Registers room(2 * m * n + 4 * n + 2 * columns + rows * columns + 2 * (m + n) * columns + n * n);
  LeastRoom r{};
  r.matrix = room.take(m * n);
  r.factors = room.take(m * n);
  r.tau = room.take(n);
  r.inverse = room.take(n);
  r.down = room.take(n);
  r.size = room.take(n);
  r.scale = room.take(columns);
  r.lift = room.take(columns);
  r.right = room.take(rows * columns);
  r.p = room.take(m * columns);
  r.q = room.take(n * columns);
  r.g = room.take(n * columns);
  r.f = room.take(std::max(m * columns, n * n));
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(m, n, a, first, have, r.matrix);
      if (b.data)
        load<T>(rows, columns, b, first, have, r.right);
      else
        for (int e = 0; e < rows * columns; ++e) r.right[e] = V{} + (e / columns == e % columns ? 1.0 : 0.0);
      V lift, error, all = V{};
      M good = least_block(m, size, columns, r, limits, shortest, refined, lift, error);
      V *const x = shortest ? r.p : r.q, *const out = r.f;
      for (int i = 0; i < answer; ++i)
        for (int c = 0; c < columns; ++c) {
          V v = x[i * columns + c] * r.scale[c];
          if (!shortest) v *= r.down[i];
          v = v * lift / r.lift[c];
          out[turned ? c * answer + i : i * columns + c] = v;
          all += magnitude(v);
        }
      good &= in_range<T>(all);
      if (!b.data)  // where 1 is the right-hand side, a row of zeros is the only reason for 0
        good &= all >= kLargest * kLargest * kLeastAnswer<T>;
      else
        good &= large_enough(kLeastAnswer<T>, answer, columns, out, rows, r.right);
      store<T>(answer * columns, out, first, have, to);
      if (marks.error) store_one(error, first, have, marks.error);
      mark(good, first, have, marks.redo);
    });
  });
}

template <class T>
void least_squares(int m, int n, int columns, Source<T> a, Source<T> b, Limits limits, Range range, T* x,
                   bool refined, Marks marks) {
  const bool wide = made_tall(m, n, a);
  least(m, n, columns, a, b, limits, wide, false, range, x, refined, marks);
}
template <class T>
void pseudo_inverse(int m, int n, Source<T> a, Limits limits, Range range, T* x, bool refined, Marks marks) {
  const bool wide = made_tall(m, n, a);
  least(m, n, n, a, Source<T>{}, limits, true, !wide, range, x, refined, marks);
}
