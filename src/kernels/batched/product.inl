// Included once per instruction set. Rows of C are packs; a member is not spread over lanes: turning members to lanes
// and back takes longer than their product.
#include "kernels/lines.inl"

// The wider of a register and four numbers.
template <class T>
using Wide = std::conditional_t<(sizeof(Vec<T>) > sizeof(Four<T>)), Vec<T>, Four<T>>;
template <class P, class T>
inline constexpr int width_of = static_cast<int>(sizeof(P) / sizeof(T));

// a·b + c.
template <class P>
WP_PACK P plus_product(P a, P b, P c) {
  if constexpr (sizeof(P) == kPackBytes)
    return fma(a, b, c);
  else
    return multiply_add(a, b, c);
}
template <class P, class T>
struct Anywhere {
  typedef T type __attribute__((vector_size(sizeof(P)), aligned(alignof(T)), may_alias));
};
// One pack, or of the last one of a row the part that is there.
template <bool whole, class P, class T>
WP_PACK P load_row(const T* p, First<T> last) {
  if constexpr (whole)
    return *reinterpret_cast<const typename Anywhere<P, T>::type*>(p);
  else
    return load_first<P>(p, last);
}
template <bool whole, class P, class T>
WP_PACK void store_row(T* p, P v, First<T> last) {
  if constexpr (whole)
    *reinterpret_cast<typename Anywhere<P, T>::type*>(p) = v;
  else
    store_first(p, v, last);
}

// ---- C = A·B
// ---------------------------------------------------------------------------------------------------------
// R rows and V packs of C, of every member: chains of multiply-adds in the order of k. a, b, c: where the tile's
// rows, columns and results begin. K: the number of terms, if the compiler knows it.
template <class T, class P, int R, int V, bool whole, int K>
void tiles(const Some<T>& s, const T* a, const T* b, T* c, int columns) {
  constexpr int W = width_of<P, T>;
  const int k = K ? K : s.k;
  const First<T> last = first_of<T>(columns - (V - 1) * W);
  const std::int64_t a_row = s.a.rows, a_k = s.a.columns, b_k = s.b.rows, c_row = s.n, c_step = c_row * s.m;
  for (std::int64_t member = 0; member < s.count; ++member, a += s.a.step, b += s.b.step, c += c_step) {
    P sum[R][V] = {};
    const T* left = a;
    const T* right = b;
#pragma GCC unroll 4
    for (int p = 0; p < k; ++p, left += a_k, right += b_k) {
      P row[V];
#pragma GCC unroll 3
      for (int v = 0; v + 1 < V; ++v) row[v] = load_row<true, P>(right + v * W, last);
      row[V - 1] = load_row<whole, P>(right + (V - 1) * W, last);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const P x = left[r * a_row] - P{};  // broadcast: x − 0 is x, also for −0
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) sum[r][v] = plus_product(x, row[v], sum[r][v]);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v + 1 < V; ++v) store_row<true>(c + r * c_row + v * W, sum[r][v], last);
      store_row<whole>(c + r * c_row + (V - 1) * W, sum[r][V - 1], last);
    }
  }
}

template <class T>
using Tiles = void (*)(const Some<T>&, const T*, const T*, T*, int);
inline constexpr int kTallest = kPackBytes == 64 ? 8 : kPackBytes == 32 ? 6 : 4, kPacks = kPackBytes == 64 ? 3 : 2;

template <class T, class P, int V, bool whole, int... R>
WP_PACK Tiles<T> tiles_of(int rows, std::integer_sequence<int, R...>) {
  static constexpr Tiles<T> all[] = {tiles<T, P, R + 1, V, whole, 0>...};
  return all[rows - 1];
}
template <class T>
Tiles<T> choose(const Some<T>& s, int rows, int columns) {
  constexpr auto heights = std::make_integer_sequence<int, kTallest>{};
  if (columns <= 4) {
    if (rows == s.k) switch (rows) {
        case 2: return columns == 4 ? tiles<T, Four<T>, 2, 1, true, 2> : tiles<T, Four<T>, 2, 1, false, 2>;
        case 3: return columns == 4 ? tiles<T, Four<T>, 3, 1, true, 3> : tiles<T, Four<T>, 3, 1, false, 3>;
        case 4: return columns == 4 ? tiles<T, Four<T>, 4, 1, true, 4> : tiles<T, Four<T>, 4, 1, false, 4>;
        default: break;
      }
    return columns == 4 ? tiles_of<T, Four<T>, 1, true>(rows, heights)
                        : tiles_of<T, Four<T>, 1, false>(rows, heights);
  }
  constexpr int W = width_of<Wide<T>, T>;
  const bool whole = columns % W == 0;
  if (columns <= W)
    return whole ? tiles_of<T, Wide<T>, 1, true>(rows, heights) : tiles_of<T, Wide<T>, 1, false>(rows, heights);
  if constexpr (kPacks > 2 && 2 * W < kLargest)
    if (columns > 2 * W)
      return whole ? tiles_of<T, Wide<T>, 3, true>(rows, heights) : tiles_of<T, Wide<T>, 3, false>(rows, heights);
  return whole ? tiles_of<T, Wide<T>, 2, true>(rows, heights) : tiles_of<T, Wide<T>, 2, false>(rows, heights);
}

template <class T>
void multiply(const Some<T>& s) {
  // Bands of nearly one height, strips of nearly one width.
  constexpr int W = width_of<Wide<T>, T>;
  const int bands = (s.m + kTallest - 1) / kTallest, packs = (s.n + W - 1) / W;
  const int strips = (packs + kPacks - 1) / kPacks, strip = (packs + strips - 1) / strips * W;
  for (int j = 0; j < s.n; j += strip) {
    const int columns = std::min(strip, s.n - j);
    for (int band = 0, i = 0; band < bands; ++band) {
      const int rows = s.m / bands + (band < s.m % bands ? 1 : 0);
      choose(s, rows, columns)(s, s.a.data + i * s.a.rows, s.b.data + j, s.c + i * s.n + j, columns);
      i += rows;
    }
  }
}

// Right factors whose columns are contiguous, turned to contiguous rows: squares of four in registers.
template <bool whole, class T>
WP_PACK void turn_square(const T* from, std::int64_t from_row, int terms, int columns, T* to, std::int64_t to_row) {
  const First<T> down = first_of<T>(terms), across = first_of<T>(columns);
  Four<T> v[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
    v[j] = whole || j < columns ? load_row<whole, Four<T>>(from + j * from_row, down) : Four<T>{};
  const Four<T> a = __builtin_shufflevector(v[0], v[2], 0, 4, 1, 5),
                b = __builtin_shufflevector(v[0], v[2], 2, 6, 3, 7);
  const Four<T> c = __builtin_shufflevector(v[1], v[3], 0, 4, 1, 5),
                d = __builtin_shufflevector(v[1], v[3], 2, 6, 3, 7);
  const Four<T> rows[4] = {__builtin_shufflevector(a, c, 0, 4, 1, 5), __builtin_shufflevector(a, c, 2, 6, 3, 7),
                           __builtin_shufflevector(b, d, 0, 4, 1, 5), __builtin_shufflevector(b, d, 2, 6, 3, 7)};
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    if (whole || i < terms) store_row<whole>(to + i * to_row, rows[i], across);
}
template <class T>
void turn(const Some<T>& s, std::int64_t count, T* to) {
  const T* from = s.b.data;
  for (std::int64_t member = 0; member < count; ++member, from += s.b.step, to += s.k * s.n)
    for (int p = 0; p < s.k; p += 4)
      for (int j = 0; j < s.n; j += 4) {
        const int terms = std::min(4, s.k - p), columns = std::min(4, s.n - j);
        const T* const at = from + p + j * s.b.columns;
        T* const here = to + p * s.n + j;
        terms == 4 && columns == 4 ? turn_square<true>(at, s.b.columns, 4, 4, here, s.n)
                                   : turn_square<false>(at, s.b.columns, terms, columns, here, s.n);
      }
}

// ---- y = A·x
// ---------------------------------------------------------------------------------------------------------
// Sums as those of simd/gemm.inl: term p is partial sum p of 32, and these are joined pairwise. What is not there is
// zero: of k < 32 terms no sum is −0.
template <class T, class P>
WP_PACK P sum_of_terms(int k, P sum) {
  return k < 32 ? sum + T(0) : sum;
}
// Of N parts; term s is added to term s − half, from half = 16 on.
template <int N, class P>
WP_PACK P join(P* parts) {
  constexpr int half = N > 16 ? 16 : N > 8 ? 8 : N > 4 ? 4 : N > 2 ? 2 : 1;
  if constexpr (N > 1) {
#pragma GCC unroll 16
    for (int s = half; s < N; ++s) parts[s - half] += parts[s];
    return join<half>(parts);
  } else {
    return parts[0];
  }
}

// Columns of A are contiguous: rows are lanes. N: a power of two that is not below k.
template <class T, class P, int N>
void add_columns(const Some<T>& s) {
  constexpr int W = width_of<P, T>;
  const T *a = s.a.data, *x = s.b.data;
  T* y = s.c;
  for (std::int64_t member = 0; member < s.count; ++member, a += s.a.step, x += s.b.step, y += s.m)
    for (int i = 0; i < s.m; i += W) {
      const bool whole = i + W <= s.m;
      const First<T> last = first_of<T>(std::min(W, s.m - i));
      P parts[N];
#pragma GCC unroll 8
      for (int p = 0; p < N; ++p) {
        parts[p] = P{};
        if (p >= s.k) continue;
        const T* const at = a + i + p * s.a.columns;
        const P column = whole ? load_row<true, P>(at, last) : load_row<false, P>(at, last);
        parts[p] = plus_product(column, x[p * s.b.rows] - P{}, P{});
      }
      const P sum = sum_of_terms<T>(s.k, join<N>(parts));
      whole ? store_row<true>(y + i, sum, last) : store_row<false>(y + i, sum, last);
    }
}
template <class T, class P>
WP_PACK void add_some_columns(const Some<T>& s) {
  if (s.k <= 2) return add_columns<T, P, 2>(s);
  if (s.k <= 4) return add_columns<T, P, 4>(s);
  if (s.k <= 8) return add_columns<T, P, 8>(s);
  return s.k <= 16 ? add_columns<T, P, 16>(s) : add_columns<T, P, 32>(s);
}

// The upper half of the lanes is added to the lower one, down to four.
template <class T, class P, int... l>
WP_PACK auto halved(P v, std::integer_sequence<int, l...>) {
  return __builtin_shufflevector(v, v, l...) + __builtin_shufflevector(v, v, (l + static_cast<int>(sizeof...(l)))...);
}
template <class T, class P>
WP_PACK Four<T> four_of(P v) {
  if constexpr (width_of<P, T> == 4)
    return v;
  else
    return four_of<T>(halved<T>(v, std::make_integer_sequence<int, width_of<P, T> / 2>{}));
}
// Sums of four fours: (v₀ + v₂) + (v₁ + v₃) of each.
template <class T>
WP_PACK Four<T> sums_of(const Four<T>* v) {
  const Four<T> even =
      __builtin_shufflevector(v[0], v[2], 0, 4, 1, 5) + __builtin_shufflevector(v[0], v[2], 2, 6, 3, 7);
  const Four<T> odd =
      __builtin_shufflevector(v[1], v[3], 0, 4, 1, 5) + __builtin_shufflevector(v[1], v[3], 2, 6, 3, 7);
  return __builtin_shufflevector(even, odd, 0, 4, 1, 5) + __builtin_shufflevector(even, odd, 2, 6, 3, 7);
}

// Rows of A are contiguous: terms are lanes, N packs of them, and four rows are summed at a time.
template <class T, class P, bool whole, int N>
void add_rows(const Some<T>& s) {
  constexpr int W = width_of<P, T>;
  const First<T> last = first_of<T>(s.k - (N - 1) * W);
  const auto load_pack_of = [&](const T* line, int v) __attribute__((always_inline)) {
    return v + 1 < N ? load_row<true, P>(line + v * W, last) : load_row<whole, P>(line + v * W, last);
  };
  const T *a = s.a.data, *x = s.b.data;
  T* y = s.c;
  for (std::int64_t member = 0; member < s.count; ++member, a += s.a.step, x += s.b.step, y += s.m) {
    P factors[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) factors[v] = load_pack_of(x, v);
    for (int i = 0; i < s.m; i += 4) {
      Four<T> rows[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const T* const from = a + std::min(i + r, s.m - 1) * s.a.rows;
        P parts[N];
#pragma GCC unroll 8
        for (int v = 0; v < N; ++v) parts[v] = plus_product(load_pack_of(from, v), factors[v], P{});
        rows[r] = four_of<T>(join<N>(parts));
      }
      const Four<T> sum = sum_of_terms<T>(s.k, sums_of<T>(rows));
      i + 4 <= s.m ? store_row<true>(y + i, sum, last) : store_row<false>(y + i, sum, first_of<T>(s.m - i));
    }
  }
}
template <class T, bool whole, int... N>
WP_PACK void add_packs(const Some<T>& s, int packs, std::integer_sequence<int, N...>) {
  static constexpr void (*all[])(const Some<T>&) = {add_rows<T, Wide<T>, whole, N + 1>...};
  all[packs - 1](s);
}

// Any other layout.
template <class T>
WP_PACK T product_of(T a, T b) {  // a·b + 0
  if constexpr (!kFused)
    return a * b + T(0);
  else
    return sizeof(T) == 8 ? static_cast<T>(__builtin_fma(a, b, 0.0)) : static_cast<T>(__builtin_fmaf(a, b, 0.0F));
}
template <class T>
void add_terms(const Some<T>& s) {
  const T *a = s.a.data, *x = s.b.data;
  T* y = s.c;
  for (std::int64_t member = 0; member < s.count; ++member, a += s.a.step, x += s.b.step)
    for (int i = 0; i < s.m; ++i) {
      T parts[32] = {};
      for (int p = 0; p < s.k; ++p) parts[p] = product_of(a[i * s.a.rows + p * s.a.columns], x[p * s.b.rows]);
      *y++ = sum_of_terms<T>(s.k, join<32>(parts));
    }
}

template <class T>
void dots(const Some<T>& s) {
  constexpr int W = width_of<Wide<T>, T>;
  if ((s.a.columns == 1 || s.k == 1) && (s.b.rows == 1 || s.k == 1)) {
    if (s.k <= 4) return s.k == 4 ? add_rows<T, Four<T>, true, 1>(s) : add_rows<T, Four<T>, false, 1>(s);
    constexpr auto counts = std::make_integer_sequence<int, 32 / W>{};
    const int packs = (s.k + W - 1) / W;
    return s.k % W == 0 ? add_packs<T, true>(s, packs, counts) : add_packs<T, false>(s, packs, counts);
  }
  if (s.a.rows == 1 || s.m == 1) return s.m <= 4 ? add_some_columns<T, Four<T>>(s) : add_some_columns<T, Wide<T>>(s);
  add_terms(s);
}
