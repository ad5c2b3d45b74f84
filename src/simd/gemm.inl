// Included once per instruction set, which gives kBytes (of a vector), kRows, kVectors and multiply_add.

template <class T>
struct PackOf {
  typedef T type __attribute__((vector_size(kBytes)));
  typedef T unaligned __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Pack = typename PackOf<T>::type;
template <class T>
inline constexpr int width_of = kBytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Pack<T> load(const T* p) {
  return *reinterpret_cast<const typename PackOf<T>::unaligned*>(p);
}
template <class T>
[[gnu::always_inline]] inline void store(T* p, Pack<T> v) {
  *reinterpret_cast<typename PackOf<T>::unaligned*>(p) = v;
}

// The left part of a tile.
template <class T>
[[gnu::noinline]] void store_part(const T* part, std::int64_t part_row, int rows, std::int64_t columns, T* c,
                                  std::int64_t c_row, Into into) {
  for (int r = 0; r < rows; ++r, c += c_row, part += part_row)
    for (std::int64_t j = 0; j < columns; ++j)
      c[j] = into == Into::set   ? part[j]
             : into == Into::add ? static_cast<T>(c[j] + part[j])
                                 : static_cast<T>(c[j] - part[j]);
}

template <class T, int R, int V, bool unit>
void tile(std::int64_t k, const T* a, std::int64_t a_row, std::int64_t a_k, const T* b, std::int64_t b_k, T* c,
          std::int64_t c_row, std::int64_t columns, Into into) {
  constexpr int W = width_of<T>;
  if constexpr (unit) a_row = 1;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)  // C is needed at the end: ask for it now
    __builtin_prefetch(c + r * c_row, 1);
  Pack<T> sum[R][V] = {};
  for (std::int64_t p = 0; p < k; ++p, a += a_k, b += b_k) {
    Pack<T> row[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) row[v] = load(b + v * W);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Pack<T> x = a[r * a_row] - Pack<T>{};  // broadcast: x − 0 is x, also for −0
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] = multiply_add(x, row[v], sum[r][v]);
    }
  }
  if (columns == V * W) {
    const bool set = into == Into::set;
    const Pack<T> sign = static_cast<T>(into == Into::subtract ? -1 : 1) - Pack<T>{};  // c ± sum is one rounding
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) {
        T* const to = c + r * c_row + v * W;
        store(to, set ? sum[r][v] : multiply_add(sign, sum[r][v], load(to)));
      }
    return;
  }
  T part[R * V * W];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(part + (r * V + v) * W, sum[r][v]);
  store_part(part, V * W, R, columns, c, c_row, into);
}

// ---- dot products
// --------------------------------------------------------------------------------------------------- Element p is
// added to partial sum p mod 32.
inline constexpr int kSums = 32;

template <class T>
[[gnu::always_inline]] inline T join_sums(T* sum) {
  for (int width = kSums / 2; width > 0; width /= 2)
    for (int s = 0; s < width; ++s) sum[s] = static_cast<T>(sum[s] + sum[s + width]);
  return sum[0];
}

template <class T>
void dot_rows(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_row, const T* x, T* y) {
  constexpr int W = width_of<T>, V = kSums / W;
  const std::int64_t whole = k - k % kSums;
  for (std::int64_t i = 0; i < m; ++i, a += a_row) {
    Pack<T> sum[V] = {};
    for (std::int64_t p = 0; p < whole; p += kSums)
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[v] = multiply_add(load(a + p + v * W), load(x + p + v * W), sum[v]);
    T sums[kSums];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store(sums + v * W, sum[v]);
    for (std::int64_t p = whole; p < k; ++p) sums[p - whole] = scalar_multiply_add(a[p], x[p], sums[p - whole]);
    y[i] = join_sums(sums);
  }
}

template <class T>
void dot_columns(std::int64_t m, std::int64_t k, const T* a, std::int64_t a_k, const T* x, T* y) {
  constexpr std::int64_t kChunk = 1024 / sizeof(T);
  alignas(64) T sums[kSums][kChunk];
  for (std::int64_t from = 0; from < m; from += kChunk) {
    const std::int64_t n = from + kChunk < m ? kChunk : m - from;
    for (auto& line : sums)
      for (std::int64_t i = 0; i < n; ++i) line[i] = T(0);
    for (std::int64_t p = 0; p < k; ++p) {
      const T* const column = a + from + p * a_k;
      T* const sum = sums[p % kSums];
      const T factor = x[p];
      for (std::int64_t i = 0; i < n; ++i) sum[i] = scalar_multiply_add(column[i], factor, sum[i]);
    }
    for (int width = kSums / 2; width > 0; width /= 2)
      for (int s = 0; s < width; ++s)
        for (std::int64_t i = 0; i < n; ++i) sums[s][i] = static_cast<T>(sums[s][i] + sums[s + width][i]);
    for (std::int64_t i = 0; i < n; ++i) y[from + i] = sums[0][i];
  }
}

// ---- the table
// ------------------------------------------------------------------------------------------------------
template <class T, int V, int... R>
constexpr void fill_tiles(Products<T>& t, std::integer_sequence<int, R...>) {
  ((t.tile[0][R + 1][V] = tile<T, R + 1, V, false>), ...);
  ((t.tile[1][R + 1][V] = tile<T, R + 1, V, std::is_floating_point_v<T>>), ...);
}
// Integers multiply in many instructions each: small tiles serve them as well.
template <class T>
constexpr Products<T> table() {
  constexpr bool real = std::is_floating_point_v<T>;
  constexpr int rows = real ? kRows : 4, vectors = real ? kVectors : 1;
  Products<T> t{rows, vectors, width_of<T>, {}, dot_rows<T>, dot_columns<T>};
  const auto all_rows = std::make_integer_sequence<int, rows>{};
  fill_tiles<T, 1>(t, all_rows);
  if constexpr (vectors > 1) fill_tiles<T, 2>(t, all_rows);
  if constexpr (vectors > 2) fill_tiles<T, 3>(t, all_rows);
  return t;
}
