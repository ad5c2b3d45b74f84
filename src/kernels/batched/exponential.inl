#include "kernels/batched/solve.inl"

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

struct ExponentialRoom {
  V *a, *a2, *a4, *a6, *left, *right, *x, *kept;
};
template <class S, class F>
WP_PACK void every(S n, F f) {
  for (int e = 0; e < n * n; ++e) f(e);
}
WP_PACK V weighted(double a, V x, double b, V y, double c, V z) {
  return fma(V{} + a, x, fma(V{} + b, y, c * z));
}

// x ← I + y, y = a + a²/2! + … + a¹⁵/15! + 0.546 a¹⁶/16! from a² and three products (Sastre, Ibáñez & Defez 2019,
// order 15+). The terms of y are small beside a, so that x is rounded once.
inline constexpr double kSeriesReaches = 0.65;  // in ‖a‖₁
[[maybe_unused]] inline constexpr double kSeries[] = {0,
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
template <class S>
[[gnu::noinline]] void series(S n, const ExponentialRoom& r) {
  const auto& c = kSeries;
  V *const first = r.a4, *const second = r.a6;
  every(
      n, WP_EACH(e) { r.left[e] = fma(V{} + c[1], r.a2[e], c[2] * r.a[e]); });
  times(n, r.a2, r.left, first);
  every(
      n, WP_EACH(e) {
        r.left[e] = fma(V{} + c[4], r.a[e], fma(V{} + c[3], r.a2[e], first[e]));
        r.right[e] = fma(V{} + c[5], r.a2[e], first[e]);
      });
  times(n, r.left, r.right, second);
  every(
      n, WP_EACH(e) {
        second[e] += fma(V{} + c[6], first[e], c[7] * r.a2[e]);
        r.left[e] = fma(V{} + c[9], r.a[e], fma(V{} + c[8], r.a2[e], second[e]));
        r.right[e] = fma(V{} + c[11], r.a[e], fma(V{} + c[10], first[e], second[e]));
      });
  times(n, r.left, r.right, r.x);
  every(
      n, WP_EACH(e) {
        const V more = fma(V{} + c[13], first[e], fma(V{} + c[12], second[e], r.x[e]));
        r.x[e] = r.a[e] + fma(V{} + c[14], r.a2[e], more);
      });
  for (int i = 0; i < n; ++i) r.x[i * n + i] += 1.0;
}

// x ← I + 2 (v − u)⁻¹ u, the [13/13] approximant with u odd and v even in a (Higham 2005): it reaches so far that
// little is left to be squared, and squaring doubles what is wrong.
inline constexpr double kPadeReaches = 4.25;  // in ‖a‖₁
[[maybe_unused]] inline constexpr double kPade[] = {64764752532480000,
                                                    32382376266240000,
                                                    7771770303897600,
                                                    1187353796428800,
                                                    129060195264000,
                                                    10559470521600,
                                                    670442572800,
                                                    33522128640,
                                                    1323241920,
                                                    40840800,
                                                    960960,
                                                    16380,
                                                    182,
                                                    1};
template <class S>
[[gnu::noinline]] void approximant(S n, const ExponentialRoom& r) {
  const auto c = [](int k) { return kPade[k] / kPade[0]; };
  times(n, r.a2, r.a2, r.a4);
  times(n, r.a4, r.a2, r.a6);
  every(
      n, WP_EACH(e) { r.left[e] = weighted(c(13), r.a6[e], c(11), r.a4[e], c(9), r.a2[e]); });
  times(n, r.a6, r.left, r.right);
  every(
      n, WP_EACH(e) { r.right[e] += weighted(c(7), r.a6[e], c(5), r.a4[e], c(3), r.a2[e]); });
  for (int i = 0; i < n; ++i) r.right[i * n + i] += c(1);
  times(n, r.a, r.right, r.x);  // u
  every(
      n, WP_EACH(e) { r.left[e] = weighted(c(12), r.a6[e], c(10), r.a4[e], c(8), r.a2[e]); });
  times(n, r.a6, r.left, r.right);
  every(
      n, WP_EACH(e) { r.right[e] += weighted(c(6), r.a6[e], c(4), r.a4[e], c(2), r.a2[e]) - r.x[e]; });
  for (int i = 0; i < n; ++i) r.right[i * n + i] += 1.0;
  Elimination<S> e;
  eliminate(n, r.right, r.right, e);
  apply_factors(n, n, r.right, e, r.x);
  every(
      n, WP_EACH(k) { r.x[k] *= 2.0; });
  for (int i = 0; i < n; ++i) r.x[i * n + i] += 1.0;
}

// Halvings that a norm needs, one number per lane.
WP_PACK M halvings_of(V norm) {
  using Bits = simd::Format<double>;
  const V over = larger(norm * (1 / kPadeReaches), V{} + 0.5);
  return (bits<double>(over) >> Bits::mantissa) - Bits::bias + 1;
}
WP_PACK int largest_of(M numbers) {
  std::int64_t most = 0;
  for (int l = 0; l < W; ++l) most = std::max<std::int64_t>(most, numbers[l]);
  return static_cast<int>(most);
}

inline constexpr double kThreeDigits = 1e-3;
// x ← x^(2^halvings), lane by lane; error: that of x relative to its norm, to first order, from above. Where has x
// left the range, with three digits until then?
template <class S>
[[gnu::noinline]] M square_often(S n, M halvings, V*& x, V*& other, V& error) {
  const int most = opaque(largest_of(halvings));
  V norm = column_sums(n, x).most;
  M beyond = M{};
  for (int step = 0; step < most; ++step) {
    const M active = halvings > step;
    times(n, x, x, other);
    every(
        n, WP_EACH(e) { other[e] = active ? other[e] : x[e]; });
    std::swap(x, other);
    const LineSums next = column_sums(n, x);
    beyond |= active & ~(0.0 * next.all == 0.0) & (error <= kThreeDigits);
    error = active ? fma(V{} + 2.0, error, V{} + n * kUnitOfDouble) * (norm / next.most * norm) : error;
    norm = next.most;
  }
  return beyond;
}

template <class T>
inline constexpr double least_exponential = std::is_same_v<T, float> ? 0x1p-126 : 0x1p-300;

// Sizes from which on nothing rounds to a number of T.
template <class T>
inline constexpr double above_range = std::is_same_v<T, float> ? 0x1p128 : HUGE_VAL;

// Where is x beyond doubt, and where beyond the range of T? That is known of norms from which lanes take no answer,
// and told beside the answers.
template <class T, class S>
[[gnu::noinline]] M exponential_block(S n, ExponentialRoom& r, M& beyond) {
  // How much worse than of a normal matrix the error may have become; how far ‖a‖² may be above ‖a²‖.
  constexpr double kGrowth = 64, kFarFromNormal = 64, kLargestNorm = 600, kLargestBeyond = 0x1p20;
  const LineSums sums = column_sums(n, r.a);
  const Form form = form_of(n, r.a);
  const M within = (0.0 * sums.all == 0.0) & (sums.most <= kLargestBeyond);
  const V norm = within ? sums.most : V{};
  const M halvings = halvings_of(norm), squared = halvings > 0, small = norm <= kSeriesReaches;
  const V down = power_of_two<double>(-halvings);
  every(
      n, WP_EACH(e) { r.a[e] *= down; });
  times(n, r.a, r.a, r.a2);
  const V scaled = norm * down;
  const M regular =
      within &
      (~squared | (~(form.lower | form.upper) & (scaled * scaled <= kFarFromNormal * column_sums(n, r.a2).most)));
  const bool some = any(small), others = any(~small);
  if (some) series(n, r);
  if (others) {  // where both ran, each lane takes its own
    std::swap(r.x, r.kept);
    approximant(n, r);
    if (some)
      every(
          n, WP_EACH(e) { r.x[e] = small ? r.kept[e] : r.x[e]; });
  }
  V error = V{} + 8 * kUnitOfDouble;
  beyond = regular & square_often(n, halvings, r.x, r.left, error);
  const V least = power_of_two<double>(halvings) * ((8 + n) * kUnitOfDouble);
  const LineSums after = column_sums(n, r.x);
  const M outside = regular & (error <= kThreeDigits) & ~in_range<T>(after.all);
  if (any(outside)) {
    V top = V{};
    every(
        n, WP_EACH(e) { top = larger(magnitude(r.x[e]), top); });
    beyond |= outside & (top >= above_range<T>);
  }
  if (any(form.symmetric)) restore(n, {form.symmetric, M{}, M{}}, r.x);
  return regular & (norm <= kLargestNorm) & (error <= kGrowth * least) &
         (after.most >= least_exponential<T>)&in_range<T>(after.all);
}

template <class T>
void exponential(int n, Source<T> a, Range range, T* to, Marks marks) {
  Registers room(8 * n * n);
  ExponentialRoom r{};
  for (V** part : {&r.a, &r.a2, &r.a4, &r.a6, &r.left, &r.right, &r.x, &r.kept}) *part = room.take(n * n);
  with_size(n, [&](auto size) {
    blocks(range, [&](std::int64_t first, int have) {
      load<T>(n, n, a, first, have, r.a);
      M good, beyond;
      if (n == 1) {
        good = 0.0 * r.a[0] == 0.0;
        r.x[0] = exp<double>(r.a[0]);
        beyond = good & (r.x[0] >= above_range<T>);
        good &= in_range<T>(r.x[0]) & (r.x[0] >= least_exponential<T>);
      } else {
        good = exponential_block<T>(size, r, beyond);
      }
      store<T>(n * n, r.x, first, have, to);
      mark(good | beyond, ~beyond, first, have, marks.redo);
    });
  });
}
