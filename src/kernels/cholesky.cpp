#include "kernels/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/few.hpp"
#include "kernels/numbers.hpp"
#include "kernels/packing.hpp"
#include "kernels/triangular.hpp"
#include "simd/pack.hpp"
#include "simd/transpose.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kBase = 64;  // rows factored without recursion

#define WP_PER_ISA "kernels/cholesky.inl"
#include "simd/per_isa.inl"

template <class T>
std::int64_t factor_rows(std::int64_t first, std::int64_t end, std::int64_t width, T* a) {
  static constexpr std::int64_t (*all[])(std::int64_t, std::int64_t, std::int64_t, T*) = {
      baseline::factor_rows<T>, avx2::factor_rows<T>, avx512::factor_rows<T>};
  return all[static_cast<int>(simd::isa())](first, end, width, a);
}

// U with A = UᴴU in the place of A's upper triangle, [kBase][kBase] with zeros elsewhere. Rows go in groups of a
// tile's height: the product with the rows above, then elimination. Complex numbers are eliminated only.
template <class T>
std::int64_t factor_upper(std::int64_t n, T* u) {
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t width = ceil_div(n, line) * line;
  if constexpr (RealOf<T>::parts == 2) {
    return factor_rows(0, n, width, u);
  } else {
    const simd::Products<T>& kernel = simd::products<T>();
    const std::int64_t wide = kernel.vectors * kernel.width;
    for (std::int64_t i = 0; i < n; i += kernel.rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernel.rows, n - i);
      for (std::int64_t j = i / kernel.width * kernel.width; i > 0 && j < width; j += wide) {
        const std::int64_t here = std::min(wide, width - j);
        kernel.tile[1][rows][here / kernel.width](i, u + i, 1, kBase, u + j, kBase, u + i * kBase + j, kBase, here,
                                                  Into::subtract);
      }
      const std::int64_t bad = factor_rows(i, i + rows, width, u);
      if (bad >= 0) return bad;
    }
    return -1;
  }
}

// Squares that lie below the diagonal as a whole go through registers: square(i, j) for the one at (i, j), one(i, j)
// for each of the other elements on and below it.
template <class T, class Square, class One>
void over_lower(std::int64_t n, bool squares, Square&& square, One&& one) {
  constexpr std::int64_t side = simd::kSquare<T>;
  for (std::int64_t i = 0; i < n; i += side) {
    const bool whole = squares && side > 1 && i + side <= n;
    for (std::int64_t j = 0; whole && j < i; j += side) square(i, j);
    for (std::int64_t r = i; r < std::min(n, i + side); ++r)
      for (std::int64_t j = whole ? i : 0; j <= r; ++j) one(r, j);
  }
}

template <class T>
std::int64_t factor_base(std::int64_t n, MutableView<T> a) {
  alignas(64) T u[kBase * kBase];
  const bool squares = RealOf<T>::parts == 1 && a.columns == 1;
  for (std::int64_t i = 0; i < n; ++i)
    std::fill_n(u + i * kBase, i, T(0)), std::fill_n(u + i * kBase + n, kBase - n, T(0));
  over_lower<T>(
      n, squares,
      [&](std::int64_t i, std::int64_t j) {
        simd::transpose_square(u + j * kBase + i, kBase, a.from(i, j).data, a.rows);
      },
      [&](std::int64_t i, std::int64_t j) { u[j * kBase + i] = conjugate(*a.from(i, j).data); });
  const std::int64_t bad = factor_upper(n, u);
  over_lower<T>(
      n, squares,
      [&](std::int64_t i, std::int64_t j) {
        simd::transpose_square(a.from(i, j).data, a.rows, u + j * kBase + i, kBase);
      },
      [&](std::int64_t i, std::int64_t j) { *a.from(i, j).data = conjugate(u[j * kBase + i]); });
  return bad;
}

// The lower triangle of C = WᴴW for a lower triangular W with zeros above: [W₁ 0; X W₂] gives W₁ᴴW₁ + XᴴX, W₂ᴴX,
// W₂ᴴW₂.
template <class T>
void square(std::int64_t n, View<T> w, MutableView<T> c) {
  if (n <= kBase) return gemm<T>(n, n, n, w.transposed().conjugated(), w, c, Into::set, Part::lower);
  const std::int64_t first = ceil_div(n, 2 * kBase) * kBase, rest = n - first;
  const View<T> x = w.from(first, 0), last = w.from(first, first);
  square(first, w, c);
  gemm<T>(first, first, rest, x.transposed().conjugated(), x, c, Into::add, Part::lower);
  gemm<T>(rest, first, rest, last.transposed().conjugated(), x, c.from(first, 0));
  square(rest, last, c.from(first, first));
}

}  // namespace

// [A₁ ·; A₂₁ A₂] = [L₁ 0; X L₂][L₁ᴴ Xᴴ; 0 L₂ᴴ]: X L₁ᴴ = A₂₁, L₂L₂ᴴ = A₂ − X Xᴴ.
template <class T>
std::int64_t cholesky_factor(std::int64_t n, MutableView<T> a) {
  if (n <= kBase) return factor_base(n, a);
  const std::int64_t first = ceil_div(n, 2 * kBase) * kBase, rest = n - first;
  const std::int64_t bad = cholesky_factor(first, a);
  if (bad >= 0) return bad;
  const MutableView<T> corner = a.from(first, 0), last = a.from(first, first);
  solve_triangular<T>({false, false}, first, rest, View<T>(a).conjugated(), corner.transposed());
  gemm<T>(rest, rest, first, corner, View<T>(corner).transposed().conjugated(), last, Into::subtract, Part::lower);
  const std::int64_t later = cholesky_factor(rest, last);
  return later < 0 ? later : first + later;
}

template <class T>
void cholesky_solve(std::int64_t n, std::int64_t columns, View<T> l, MutableView<T> x) {
  solve_triangular<T>({false, false}, n, columns, l, x);
  solve_triangular<T>({true, false}, n, columns, l.transposed().conjugated(), x);
}

template <class T>
void cholesky_solve_few(std::int64_t n, View<T> l, T* x) {
  solve_few<T>({false, false}, n, l, x);
  solve_few<T>({true, false}, n, l.transposed(), x);
}
template void cholesky_solve_few(std::int64_t, View<float>, float*);
template void cholesky_solve_few(std::int64_t, View<double>, double*);

template <class T>
void cholesky_inverse(std::int64_t n, View<T> l, T* inverse, std::int64_t row) {
  Buffer<T> copy(std::max<std::int64_t>(1, n * n));
  const MutableView<T> w{copy.data(), n, 1}, c{inverse, row, 1};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      *w.from(i, j).data = j > i ? T(0) : l.conjugate ? conjugate(*l.from(i, j).data) : *l.from(i, j).data;
  invert_triangular<T>({false, false}, n, w);
  square<T>(n, w, c);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) *c.from(j, i).data = conjugate(*c.from(i, j).data);
}

#define WP_INSTANTIATE(T)                                                            \
  template std::int64_t cholesky_factor(std::int64_t, MutableView<T>);               \
  template void cholesky_solve(std::int64_t, std::int64_t, View<T>, MutableView<T>); \
  template void cholesky_inverse(std::int64_t, View<T>, T*, std::int64_t);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
