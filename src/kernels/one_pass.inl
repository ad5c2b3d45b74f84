#include "kernels/line_sums.inl"

// Some columns at once, so that x and y are read once for all of them.
template <class R, bool rows, bool columns, int some>
[[gnu::always_inline]] inline void pass_some(std::int64_t m, const R* a, std::int64_t lda, const R* x, R* dots,
                                             const R* factors, R* y) {
  constexpr std::int64_t lanes = lanes_of<R>;
  Vec<R> sum[some] = {}, factor[some] = {};
  R rest[some] = {};
#pragma GCC unroll 4
  for (int c = 0; c < some; ++c)
    if constexpr (columns) factor[c] = Vec<R>{} + factors[c];
  std::int64_t i = 0;
  for (; i + lanes <= m; i += lanes) {
    Vec<R> to = {}, from = {};
    if constexpr (columns) to = load_pack(y + i);
    if constexpr (rows) from = load_pack(x + i);
#pragma GCC unroll 4
    for (int c = 0; c < some; ++c) {
      const Vec<R> v = load_pack(a + c * lda + i);
      if constexpr (columns) to = fma(v, factor[c], to);
      if constexpr (rows) sum[c] = fma(v, from, sum[c]);
    }
    if constexpr (columns) store_pack(y + i, to);
  }
  for (; i < m; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < some; ++c) {
      if constexpr (columns) y[i] += a[c * lda + i] * factors[c];
      if constexpr (rows) rest[c] += a[c * lda + i] * x[i];
    }
#pragma GCC unroll 4
  for (int c = 0; c < some; ++c)
    if constexpr (rows) dots[c] += sum_of<R>(sum[c]) + rest[c];
}

template <class R, bool rows, bool columns>
void one_pass(std::int64_t m, std::int64_t n, const R* a, std::int64_t lda, const R* x, R* dots, const R* factors,
              R* y) {
  std::int64_t j = 0;
  const auto next = [&]<int some>(std::integral_constant<int, some>) __attribute__((always_inline)) {
    pass_some<R, rows, columns, some>(m, a + j * lda, lda, x, rows ? dots + j : nullptr,
                                      columns ? factors + j : nullptr, y);
    j += some;
  };
  while (j + 4 <= n) next(std::integral_constant<int, 4>{});
  while (j < n) next(std::integral_constant<int, 1>{});
}

// Columns first … last − 1 of a symmetric n × n matrix given below its diagonal: y += A x as far as they say it.
template <class R>
void symmetric_pass(std::int64_t n, std::int64_t first, std::int64_t last, const R* a, std::int64_t lda, const R* x,
                    R* y) {
  for (std::int64_t j = first; j < last; j += 4) {
    const std::int64_t some = std::min<std::int64_t>(4, last - j), below = j + some;
    const R* const corner = a + j * lda + j;
    for (std::int64_t c = 0; c < some; ++c) {
      y[j + c] += corner[c * lda + c] * x[j + c];
      for (std::int64_t r = c + 1; r < some; ++r) {
        y[j + r] += corner[c * lda + r] * x[j + c];
        y[j + c] += corner[c * lda + r] * x[j + r];
      }
    }
    one_pass<R, true, true>(n - below, some, a + j * lda + below, lda, x + below, y + j, x + j, y + below);
  }
}
