#include "kernels/lines.inl"

template <class R>
[[gnu::always_inline]] inline Vec<R> size_of_pack(Vec<R> v) {
  return std::bit_cast<Vec<R>>(std::bit_cast<Int<R>>(v) & simd::Format<R>::magnitude);
}
template <class R>
[[gnu::always_inline]] inline Vec<R> larger(Vec<R> a, Vec<R> b) {  // b if a is NaN
  return a > b ? a : b;
}

// sums[j] += v[j] in double.
[[gnu::always_inline]] inline void add_to(double* sums, Vec<double> v) {
  store_pack(sums, load_pack(sums) + v);
}
[[gnu::always_inline]] inline void add_to(double* sums, Vec<float> v) {
  typename Pack<float>::Half half[2];
  __builtin_memcpy(half, &v, sizeof v);
  for (int h = 0; h < 2; ++h) {
    double* const to = sums + h * lanes_of<double>;
    store_pack(to, load_pack(to) + __builtin_convertvector(half[h], Vec<double>));
  }
}

// `rows` lines of n numbers: the largest size of each into top, of each column into across, and sums of sizes by
// column, row after row. NaN shows in the sums only.
template <class R, int rows, bool copies>
[[gnu::always_inline]] inline void survey_lines(std::int64_t n, const R* from, std::int64_t from_row, R* to,
                                                std::int64_t to_row, R* top, R* across, double* sums) {
  constexpr std::int64_t lanes = lanes_of<R>;
  Vec<R> most[rows] = {};
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    Vec<R> column = load_pack(across + j);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const Vec<R> v = load_pack(from + r * from_row + j), size = size_of_pack<R>(v);
      if constexpr (copies) store_pack(to + r * to_row + j, v);
      most[r] = larger<R>(size, most[r]);
      column = larger<R>(size, column);
      add_to(sums + j, size);
    }
    store_pack(across + j, column);
  }
  for (int r = 0; r < rows; ++r) {
    R all = top[r];
    for (int s = 0; s < lanes; ++s) all = most[r][s] > all ? most[r][s] : all;
    for (std::int64_t k = j; k < n; ++k) {
      const R v = from[r * from_row + k], size = std::fabs(v);
      if constexpr (copies) to[r * to_row + k] = v;
      all = size > all ? size : all;
      across[k] = size > across[k] ? size : across[k];
      sums[k] += static_cast<double>(size);
    }
    top[r] = all;
  }
}

template <class R, bool copies>
void survey_rows(std::int64_t m, std::int64_t n, const R* from, std::int64_t from_row, R* to, std::int64_t to_row,
                 R* top, R* across, double* sums) {
  constexpr int group = 4;
  std::int64_t i = 0;
  for (; i + group <= m; i += group)
    survey_lines<R, group, copies>(n, from + i * from_row, from_row, to + i * to_row, to_row, top + i, across, sums);
  for (; i < m; ++i)
    survey_lines<R, 1, copies>(n, from + i * from_row, from_row, to + i * to_row, to_row, top + i, across, sums);
}

template <class R>
R largest_of_lines(std::int64_t m, std::int64_t n, const R* a, std::int64_t row, Part part) {
  constexpr std::int64_t lanes = lanes_of<R>;
  Vec<R> most = {};
  Int<R> bad = {};
  R rest = 0, odd = 0;
  const auto see = [&](const R* p) __attribute__((always_inline)) {
    const Vec<R> v = load_pack(p);
    most = larger<R>(size_of_pack<R>(v), most);
    bad |= v != v;
  };
  for (std::int64_t i = 0; i < m; ++i, a += row) {
    const std::int64_t begin = part == Part::upper ? i : 0, end = part == Part::lower && i + 1 < n ? i + 1 : n;
    std::int64_t j = begin;
    for (; j + lanes <= end; j += lanes) see(a + j);
    if (j < end && end - begin >= lanes) {  // the last pack meets the one before
      see(a + end - lanes);
      j = end;
    }
    for (; j < end; ++j) {
      rest = std::fabs(a[j]) > rest ? std::fabs(a[j]) : rest;
      odd += a[j] != a[j] ? a[j] : R(0);
    }
  }
  for (int s = 0; s < lanes; ++s) {
    rest = most[s] > rest ? most[s] : rest;
    if (bad[s]) odd = std::numeric_limits<R>::quiet_NaN();
  }
  return odd != odd ? odd : rest;
}
