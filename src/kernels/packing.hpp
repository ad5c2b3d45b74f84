// How the kernels of products see their operands: cut into tiles and packed; complex numbers as pairs of real rows.
#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>

#include "kernels/gemm.hpp"

namespace wp::kernels {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Rows cut into tiles of nearly one height: body(first row, rows).
template <class Body>
void for_tiles(std::int64_t rows, std::int64_t tallest, Body&& body) {
  const std::int64_t tiles = ceil_div(rows, tallest), base = rows / tiles, taller = rows % tiles;
  std::int64_t i = 0;
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t r = base + (t < taller ? 1 : 0);
    body(i, r);
    i += r;
  }
}

// f(i, j) for all elements of a matrix, eight rows at a time where columns are contiguous: a line of memory is then
// read once. Row by row it would be gone before its next element, where columns are a power of two apart: they share
// a few places of the cache.
template <class F>
[[gnu::always_inline]] inline void by_lines(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                            std::int64_t column_stride, F&& f) {
  const std::int64_t together = std::abs(row_stride) < std::abs(column_stride) ? 8 : 1;
  for (std::int64_t first = 0; first < rows; first += together) {
    const std::int64_t last = std::min(first + together, rows);
    if (together == 1)
      for (std::int64_t j = 0; j < columns; ++j) f(first, j);
    else
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = first; i < last; ++i) f(i, j);
  }
}

// k × columns of B, padded with zeros to `width` columns: [k][width].
template <class T>
void pack_b(std::int64_t k, std::int64_t columns, std::int64_t width, View<T> b, T* to) {
  if (b.columns == 1)
    for (std::int64_t p = 0; p < k; ++p) std::copy_n(b.data + p * b.rows, columns, to + p * width);
  else
    by_lines(k, columns, b.rows, b.columns,
             [&](std::int64_t p, std::int64_t j) { to[p * width + j] = b.data[p * b.rows + j * b.columns]; });
  for (std::int64_t p = 0; p < k; ++p) std::fill_n(to + p * width + columns, width - columns, T(0));
}
// Complex: each row becomes a row of real and a row of imaginary parts.
template <class R>
void pack_b(std::int64_t k, std::int64_t columns, std::int64_t width, View<std::complex<R>> b, R* to) {
  const R sign = b.conjugate ? R(-1) : R(1);
  by_lines(k, columns, b.rows, b.columns, [&](std::int64_t p, std::int64_t j) {
    const std::complex<R> v = b.data[p * b.rows + j * b.columns];
    to[2 * p * width + j] = v.real();
    to[(2 * p + 1) * width + j] = sign * v.imag();
  });
  for (std::int64_t p = 0; p < 2 * k; ++p) std::fill_n(to + p * width + columns, width - columns, R(0));
}

// rows × k of A: [k][rows].
template <std::int64_t rows, class T>
void pack_rows(std::int64_t k, View<T> a, T* to) {
  const T* from[rows];
  for (std::int64_t i = 0; i < rows; ++i) from[i] = a.data + i * a.rows;
  for (std::int64_t p = 0; p < k; ++p)
    for (std::int64_t i = 0; i < rows; ++i) to[p * rows + i] = from[i][p * a.columns];
}
template <class T>
void pack_a(std::int64_t rows, std::int64_t k, View<T> a, T* to) {
  switch (rows) {
    case 8: return pack_rows<8>(k, a, to);
    case 7: return pack_rows<7>(k, a, to);
    case 6: return pack_rows<6>(k, a, to);
    case 5: return pack_rows<5>(k, a, to);
    case 4: return pack_rows<4>(k, a, to);
    case 3: return pack_rows<3>(k, a, to);
    case 2: return pack_rows<2>(k, a, to);
    default: return pack_rows<1>(k, a, to);
  }
}
// Complex: rows (re, −im) and (im, re), so that A·B in real numbers gives a row of real and a row of imaginary parts.
template <class R>
void pack_a(std::int64_t rows, std::int64_t k, View<std::complex<R>> a, R* to) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t p = 0; p < k; ++p) {
      const std::complex<R> from = a.data[i * a.rows + p * a.columns], v = a.conjugate ? std::conj(from) : from;
      R* const at = to + 4 * p * rows + 2 * i;
      at[0] = v.real();
      at[1] = v.imag();
      at[2 * rows] = -v.imag();
      at[2 * rows + 1] = v.real();
    }
}

}  // namespace wp::kernels
