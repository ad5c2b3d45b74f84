// Included once per instruction set: tiles of a matrix that stay in registers while products are subtracted from
// them, for sizes beyond those that are unrolled.
#include "kernels/batched/block.inl"

inline constexpr int kTall = 4, kBroad = W == 8 ? 4 : 2;  // of a tile: half of the registers that there are

// Rows of a matrix, `step` registers apart.
template <class T>
struct Lines {
  T* at;
  int step;
  WP_PACK T& operator()(int i, int j) const { return at[i * step + j]; }
  WP_PACK Lines from(int i, int j) const { return {at + i * step + j, step}; }
};

enum class Triangle : std::uint8_t { none, lower, upper };
// C ← T⁻¹(C − A B) of one tile, R × K. T: unit lower; or upper, with the reciprocals of its diagonal in their place.
// A B is summed before it is subtracted: an element that is large beside it is then rounded once.
template <Triangle kind, int R, int K>
WP_PACK void settle_tile(int depth, Lines<const V> a, Lines<const V> b, Lines<const V> t, Lines<V> c) {
  V sum[R][K] = {};
  const auto each_column = [](auto f) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int j = 0; j < K; ++j) f(j);
  };
  const auto each_row = [](int from, int to, auto f) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int i = from; i < to; ++i) f(i);
  };
#pragma GCC unroll 1
  for (int p = 0; p < depth; ++p) {
    V row[K];
    each_column(WP_EACH(j) { row[j] = b(p, j); });
    each_row(
        0, R, WP_EACH(i) {
          const V factor = a(i, p);
          each_column(WP_EACH(j) { sum[i][j] = fma(factor, row[j], sum[i][j]); });
        });
  }
  each_row(
      0, R, WP_EACH(i) { each_column(WP_EACH(j) { sum[i][j] = c(i, j) - sum[i][j]; }); });
  constexpr bool up = kind == Triangle::upper;
  if constexpr (kind != Triangle::none)
    each_row(
        0, R, WP_EACH(step) {
          const int k = up ? R - 1 - step : step;
          if (up) each_column(WP_EACH(j) { sum[k][j] *= t(k, k); });
          each_row(
              up ? 0 : k + 1, up ? k : R, WP_EACH(i) {
                const V factor = t(i, k);
                each_column(WP_EACH(j) { sum[i][j] = less(factor, sum[k][j], sum[i][j]); });
              });
        });
  each_row(
      0, R, WP_EACH(i) { each_column(WP_EACH(j) { c(i, j) = sum[i][j]; }); });
}

// The same of up to kTall rows and any number of columns.
template <Triangle kind>
[[gnu::noinline]] void settle_rows(int rows, int columns, int depth, Lines<const V> a, Lines<const V> b,
                                   Lines<const V> t, Lines<V> c) {
  const auto tile = [&](int j, auto r, auto k) __attribute__((always_inline)) {
    settle_tile<kind, decltype(r)::most, decltype(k)::most>(depth, a, b.from(0, j), t, c.from(0, j));
  };
  const auto tiles = [&](auto r) __attribute__((always_inline)) {
    int j = 0;
    for (; j + kBroad <= columns; j += kBroad) tile(j, r, Fixed<kBroad>{});
    for (; j < columns; ++j) tile(j, r, Fixed<1>{});
  };
  switch (rows) {
    case 1: return tiles(Fixed<1>{});
    case 2: return tiles(Fixed<2>{});
    case 3: return tiles(Fixed<3>{});
    default: return tiles(Fixed<kTall>{});
  }
}

// Row k is exchanged with row `pivot`, lane by lane. All lanes' rows are found first: a question per row would be
// guessed wrong too often. E: V, M.
template <class E>
[[gnu::noinline]] void exchange_rows(int columns, int k, M pivot, E* a) {
  std::uint64_t rows = 0;
#pragma GCC unroll 8
  for (int l = 0; l < W; ++l) rows |= std::uint64_t{1} << pivot[l];
  rows &= ~(std::uint64_t{1} << k);
  E* const row = a + k * columns;
  const auto some = [&](int j, auto count) __attribute__((always_inline)) {
    using C = decltype(count);
    E old[C::most], fresh[C::most];
    each<C>(
        0, count, WP_EACH(c) { old[c] = fresh[c] = row[j + c]; });
    for (std::uint64_t left = rows; left; left &= left - 1) {
      const int i = __builtin_ctzll(left);
      const M here = pivot == i;
      E* const other = a + i * columns + j;
      each<C>(
          0, count, WP_EACH(c) {
            const E v = other[c];
            fresh[c] = here ? v : fresh[c];
            other[c] = here ? old[c] : v;
          });
    }
    each<C>(
        0, count, WP_EACH(c) { row[j + c] = fresh[c]; });
  };
  int j = 0;
  for (; j + 4 <= columns; j += 4) some(j, Fixed<4>{});
  for (; j < columns; ++j) some(j, Fixed<1>{});
}
