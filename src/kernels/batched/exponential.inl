#include "kernels/batched/lu.inl"

#include "kernels/batched/form.inl"

// R × C elements of A·B.
template <int R, int C>
WP_PACK void tile_of_product(int n, const V* a, const V* b, V* c) {
  V sum[R][C] = {};
  for (int k = 0; k < n; ++k)
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int j = 0; j < C; ++j) sum[i][j] = fma(a[i * n + k], b[k * n + j], sum[i][j]);
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < C; ++j) c[i * n + j] = sum[i][j];
}
// C = A·B.
template <class S>
[[gnu::noinline]] void times(S n, const V* a, const V* b, V* c) {
  if constexpr (S::fixed) {
    steps<S>(
        0, n, WP_EACH(i) {
          V row[S::most];
          each<S>(
              0, n, WP_EACH(j) { row[j] = a[i * n] * b[j]; });
          steps<S>(
              1, n, WP_EACH(k) {
                each<S>(
                    0, n, WP_EACH(j) { row[j] = fma(a[i * n + k], b[k * n + j], row[j]); });
              });
          each<S>(
              0, n, WP_EACH(j) { c[i * n + j] = row[j]; });
        });
  } else {
    for (int j = 0; j < n;) {
      const bool wide = j + 4 <= n;
      for (int i = 0; i < n;) {
        const bool tall = i + 4 <= n;
        const V *const rows = a + i * n, *const columns = b + j;
        V* const to = c + i * n + j;
        if (tall)
          wide ? tile_of_product<4, 4>(n, rows, columns, to) : tile_of_product<4, 1>(n, rows, columns, to);
        else
          wide ? tile_of_product<1, 4>(n, rows, columns, to) : tile_of_product<1, 1>(n, rows, columns, to);
        i += tall ? 4 : 1;
      }
      j += wide ? 4 : 1;
    }
  }
}

// exp(x) − 1 = x + x²/2! + … + x¹⁵/15! + 0.546 x¹⁶/16! from four products (Sastre, Ibáñez & Defez 2019, order 15+).
// Its terms are small beside x: what is rounded on the way does not reach the last digit of 1 + y.
inline constexpr double kSmallEnough = 0.65;  // beyond, what is left of the series would
inline constexpr double kSeries[] = {0,
                                     4.018761610201036e-4,
                                     2.945531440279683e-3,
                                     -8.709066576837676e-3,
                                     4.017568440673568e-1,
                                     3.230762888122312e-2,
                                     5.768988513026145,
                                     2.338576034271299e-2,
                                     2.381070373870987e-1,
                                     2.224209172496374,
                                     -5.792361707073261,
                                     -4.130276365929783e-2,
                                     1.040801735231354e1,
                                     -63.317124558833676,
                                     0.34846658633645755};

struct ExponentialRoom {
  V *a, *square, *first, *second, *left, *right, *x;
};
// x ← exp(a) − 1; `square` is a².
template <class S>
[[gnu::noinline]] void series(S n, const ExponentialRoom& r) {
  const auto& c = kSeries;
  const auto all = [&](auto f) __attribute__((always_inline)) {
    for (int e = 0; e < n * n; ++e) f(e);
  };
  all(WP_EACH(e) { r.left[e] = fma(V{} + c[1], r.square[e], c[2] * r.a[e]); });
  times(n, r.square, r.left, r.first);
  all(WP_EACH(e) {
    r.left[e] = fma(V{} + c[4], r.a[e], fma(V{} + c[3], r.square[e], r.first[e]));
    r.right[e] = fma(V{} + c[5], r.square[e], r.first[e]);
  });
  times(n, r.left, r.right, r.second);
  all(WP_EACH(e) {
    r.second[e] += fma(V{} + c[6], r.first[e], c[7] * r.square[e]);
    r.left[e] = fma(V{} + c[9], r.a[e], fma(V{} + c[8], r.square[e], r.second[e]));
    r.right[e] = fma(V{} + c[11], r.a[e], fma(V{} + c[10], r.first[e], r.second[e]));
  });
  times(n, r.left, r.right, r.x);
  all(WP_EACH(e) {
    const V more = fma(V{} + c[13], r.first[e], fma(V{} + c[12], r.second[e], r.x[e]));
    r.x[e] = r.a[e] + fma(V{} + c[14], r.square[e], more);
  });
}

// Halvings that a norm needs, one number per lane; and the largest.
WP_PACK M halvings_of(V norm, M good, int& most) {
  using Bits = simd::Format<double>;
  const V over = norm * (1 / kSmallEnough);
  const M exponent = (bits<double>(good & (over >= 1.0) ? over : V{} + 0.5) >> Bits::mantissa) - Bits::bias + 1;
  most = 0;
  for (int l = 0; l < W; ++l) most = std::max(most, static_cast<int>(exponent[l]));
  return exponent;
}

// x ← x^(2^halvings), lane by lane; error: that of x relative to its norm, to first order, from above.
template <class S>
[[gnu::noinline]] void square_often(S n, M halvings, int most, V*& x, V*& other, V& error) {
  V norm = column_sums(n, x).most;
  for (int step = 0; step < opaque(most); ++step) {
    const M active = halvings > step;
    times(n, x, x, other);
    for (int e = 0; e < n * n; ++e) other[e] = active ? other[e] : x[e];
    std::swap(x, other);
    const V next = column_sums(n, x).most;
    error = active ? fma(V{} + 2.0, error, V{} + n * kUnitOfDouble) * (norm * norm / next) : error;
    norm = next;
  }
}

template <class T, class S>
[[gnu::noinline]] M exponential_block(S n, ExponentialRoom& r) {
  // How much worse than of a normal matrix the error may have become.
  constexpr double kGrowth = 64, kLargestNorm = 600, kNilpotent = 64;
  const LineSums sums = column_sums(n, r.a);
  const Form form = form_of(n, r.a);
  M good = (0.0 * sums.all == 0.0) & (sums.most <= kLargestNorm);
  int most = 0;
  const M halvings = halvings_of(sums.most, good, most);
  const M squared = halvings > 0;
  const V down = power_of_two<double>(-halvings);
  for (int e = 0; e < n * n; ++e) r.a[e] *= down;
  times(n, r.a, r.a, r.square);
  const V norm = sums.most * down, of_square = column_sums(n, r.square).most;
  good &= ~squared | (~(form.lower | form.upper) & (norm * norm <= kNilpotent * of_square));
  series(n, r);
  for (int i = 0; i < n; ++i) r.x[i * n + i] += 1.0;
  V error = V{} + 4 * kUnitOfDouble;
  square_often(n, halvings, most, r.x, r.left, error);
  const V least = power_of_two<double>(halvings) * (4 + n) * kUnitOfDouble;
  const LineSums after = column_sums(n, r.x);
  good &= (error <= kGrowth * least) & (after.most >= 0x1p-300) & in_range<T>(after.all);
  if (any(form.symmetric)) restore(n, {form.symmetric, M{}, M{}}, r.x);
  return good;
}

template <class T>
void exponential(int n, Source<T> a, Range range, T* to, Marks marks) {
  Registers room(7 * n * n);
  ExponentialRoom r{};
  for (V** part : {&r.a, &r.square, &r.first, &r.second, &r.left, &r.right, &r.x}) *part = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, r.a);
      M good;
      if (n == 1) {
        good = 0.0 * r.a[0] == 0.0;
        r.x[0] = exp<double>(r.a[0]);
        good &= in_range<T>(r.x[0]);
      } else {
        good = exponential_block<T>(size, r);
      }
      store<T>(n * n, r.x, first, have, to);
      mark(good, first, have, marks.redo);
    });
  });
}
