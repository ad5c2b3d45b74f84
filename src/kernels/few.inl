#include "kernels/line_sums.inl"

// ---- four right-hand sides ----
// Lower triangles with strides a_row, a_column; X has rows of four numbers, x_row apart: upper ones are lower ones
// read from the end.

template <class R>
struct UnalignedFour {
  typedef R type __attribute__((vector_size(4 * sizeof(R)), aligned(alignof(R)), may_alias));
};
template <class R>
[[gnu::always_inline]] inline Four<R> load_four(const R* p) {
  return *reinterpret_cast<const typename UnalignedFour<R>::type*>(p);
}
template <class R>
[[gnu::always_inline]] inline void store_four(R* p, Four<R> v) {
  *reinterpret_cast<typename UnalignedFour<R>::type*>(p) = v;
}
// c + a·b.
template <class R>
[[gnu::always_inline]] inline Four<R> plus(R a, Four<R> b, Four<R> c) {
  return multiply_add(a - Four<R>{}, b, c);
}

// Substitution among `rows` rows whose other terms are in `right`.
template <class R, bool unit, int rows>
[[gnu::always_inline]] inline void finish_rows(Four<R>* right, const R* a, std::int64_t a_row,
                                               std::int64_t a_column) {
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < r; ++c) right[r] = plus(a[r * a_row + c * a_column], -right[c], right[r]);
    if constexpr (!unit) right[r] = right[r] / a[r * a_row + r * a_column];
  }
}

// Rows i … i + rows − 1 by dot products with all rows before, in two sums each.
template <class R, bool unit, int rows>
[[gnu::always_inline]] inline void dot_group(std::int64_t i, const R* a, std::int64_t a_row, std::int64_t a_column,
                                             R* x, std::int64_t x_row) {
  Four<R> even[rows], odd[rows];
  const R* const lines = a + i * a_row;
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) even[r] = odd[r] = Four<R>{};
  std::int64_t j = 0;
  const R* at = lines;
  const R* y = x;
  for (; j + 2 <= i; j += 2, at += 2 * a_column, y += 2 * x_row) {
    const Four<R> first = load_four(y), second = load_four(y + x_row);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      even[r] = plus(at[r * a_row], first, even[r]);
      odd[r] = plus(at[r * a_row + a_column], second, odd[r]);
    }
  }
  if (j < i) {
    const Four<R> first = load_four(y);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) even[r] = plus(at[r * a_row], first, even[r]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) even[r] = load_four(x + (i + r) * x_row) - (even[r] + odd[r]);
  finish_rows<R, unit, rows>(even, lines + i * a_column, a_row, a_column);
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) store_four(x + (i + r) * x_row, even[r]);
}
template <class R, bool unit>
void few_by_rows(std::int64_t n, const R* a, std::int64_t a_row, std::int64_t a_column, R* x, std::int64_t x_row) {
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) dot_group<R, unit, 4>(i, a, a_row, a_column, x, x_row);
  for (; i < n; ++i) dot_group<R, unit, 1>(i, a, a_row, a_column, x, x_row);
}

// Rows j … j + columns − 1, which are then taken from all rows after.
template <class R, bool unit, int columns>
[[gnu::always_inline]] inline void update_group(std::int64_t n, std::int64_t j, const R* a, std::int64_t a_row,
                                                std::int64_t a_column, R* x, std::int64_t x_row) {
  Four<R> known[columns];
#pragma GCC unroll 4
  for (int c = 0; c < columns; ++c) known[c] = load_four(x + (j + c) * x_row);
  finish_rows<R, unit, columns>(known, a + j * (a_row + a_column), a_row, a_column);
#pragma GCC unroll 4
  for (int c = 0; c < columns; ++c) {
    store_four(x + (j + c) * x_row, known[c]);
    known[c] = -known[c];
  }
  const R* at = a + (j + columns) * a_row + j * a_column;
  R* y = x + (j + columns) * x_row;
  for (std::int64_t i = j + columns; i < n; ++i, at += a_row, y += x_row) {
    Four<R> v = load_four(y);
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) v = plus(at[c * a_column], known[c], v);
    store_four(y, v);
  }
}
template <class R, bool unit>
void few_by_columns(std::int64_t n, const R* a, std::int64_t a_row, std::int64_t a_column, R* x, std::int64_t x_row) {
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4) update_group<R, unit, 4>(n, j, a, a_row, a_column, x, x_row);
  for (; j < n; ++j) update_group<R, unit, 1>(n, j, a, a_row, a_column, x, x_row);
}

// ---- one right-hand side ----
// Rows in groups of four. A group's terms with the group before it, whose elements were just computed, are taken one
// by one: packs of them would wait for memory.
template <class R>
[[gnu::always_inline]] inline R minus(R a, R b, R c) {  // c − a·b
  if constexpr (kFused)
    return sizeof(R) == 8 ? static_cast<R>(__builtin_fma(-a, b, c)) : static_cast<R>(__builtin_fmaf(-a, b, c));
  else
    return c - a * b;
}

// x[0 … rows) −= A·y for contiguous rows of A and y.
template <class R, int rows>
[[gnu::always_inline]] inline void take_dots(std::int64_t count, const R* a, std::int64_t a_row, const R* y, R* x) {
  constexpr std::int64_t lanes = lanes_of<R>;
  Vec<R> even[rows] = {}, odd[rows] = {};
  std::int64_t j = 0;
  for (; j + 2 * lanes <= count; j += 2 * lanes) {
    const Vec<R> first = load_pack(y + j), second = load_pack(y + j + lanes);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      even[r] = fma(load_pack(a + r * a_row + j), first, even[r]);
      odd[r] = fma(load_pack(a + r * a_row + j + lanes), second, odd[r]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    x[r] -= sum_of<R>(even[r] + odd[r]);
    for (std::int64_t k = j; k < count; ++k) x[r] = minus(a[r * a_row + k], y[k], x[r]);
  }
}

// Substitution in `rows` unknowns among themselves; a is the corner of their triangle.
template <class R, bool unit, bool upper, int rows>
[[gnu::always_inline]] inline void finish_line(R* x, const R* a, std::int64_t a_row, std::int64_t a_column) {
#pragma GCC unroll 4
  for (int s = 0; s < rows; ++s) {
    const int r = upper ? rows - 1 - s : s;
#pragma GCC unroll 4
    for (int t = 0; t < s; ++t) {
      const int c = upper ? rows - 1 - t : t;
      x[r] = minus(a[r * a_row + c * a_column], x[c], x[r]);
    }
    if constexpr (!unit) x[r] /= a[r * a_row + r * a_column];
  }
}

// Rows of A are contiguous.
template <class R, bool unit, bool upper>
void line_by_rows(std::int64_t n, const R* a, std::int64_t a_row, R* x) {
  R last[4] = {};
  std::int64_t known = 0;
  for (; known + 4 <= n; known += 4) {
    const std::int64_t i = upper ? n - known - 4 : known;
    const R* const lines = a + i * a_row;
    R here[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) here[r] = x[i + r];
    if (known > 0) {
      const std::int64_t near = upper ? i + 4 : i - 4, far = upper ? i + 8 : 0;
      take_dots<R, 4>(known - 4, lines + far, a_row, x + far, here);
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c)
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) here[r] = minus(lines[r * a_row + near + c], last[c], here[r]);
    }
    finish_line<R, unit, upper, 4>(here, lines + i, a_row, 1);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) x[i + r] = last[r] = here[r];
  }
  for (; known < n; ++known) {
    const std::int64_t i = upper ? n - known - 1 : known, first = upper ? i + 1 : 0;
    take_dots<R, 1>(known, a + i * a_row + first, a_row, x + first, x + i);
    finish_line<R, unit, upper, 1>(x + i, a + i * a_row + i, a_row, 1);
  }
}

// x −= A·y for contiguous columns of A.
template <class R, int columns>
[[gnu::always_inline]] inline void take_columns(std::int64_t count, const R* a, std::int64_t a_column, const R* y,
                                                R* x) {
  constexpr std::int64_t lanes = lanes_of<R>;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vec<R> v = load_pack(x + i);
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) v = fma(Vec<R>{} - y[c], load_pack(a + c * a_column + i), v);
    store_pack(x + i, v);
  }
  for (; i < count; ++i)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) x[i] = minus(a[c * a_column + i], y[c], x[i]);
}
// Columns of A are contiguous.
template <class R, bool unit, bool upper>
void line_by_columns(std::int64_t n, const R* a, std::int64_t a_column, R* x) {
  std::int64_t known = 0;
  const auto group = [&]<int columns>(std::integral_constant<int, columns>) __attribute__((always_inline)) {
    const std::int64_t j = upper ? n - known - columns : known, first = upper ? 0 : j + columns;
    R here[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) here[c] = x[j + c];
    finish_line<R, unit, upper, columns>(here, a + j * a_column + j, 1, a_column);
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) x[j + c] = here[c];
    take_columns<R, columns>(n - known - columns, a + j * a_column + first, a_column, here, x + first);
    known += columns;
  };
  while (known + 4 <= n) group(std::integral_constant<int, 4>{});
  while (known < n) group(std::integral_constant<int, 1>{});
}
