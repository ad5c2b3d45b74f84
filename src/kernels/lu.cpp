#include "kernels/lu.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <type_traits>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/few.hpp"
#include "kernels/packing.hpp"
#include "kernels/quotient.hpp"
#include "kernels/survey.hpp"
#include "kernels/triangular.hpp"
#include "simd/pack.hpp"
#include "simd/transpose.hpp"

namespace wp::kernels {
namespace {

constexpr int kLine = 64;                    // bytes of a row of the narrowest panel
constexpr std::int64_t kPanelBytes = 512;    // of a row of the panels that are factored in a copy
constexpr std::int64_t kSwapColumns = 4096;  // bytes of rows swapped by one task

// Numbers from one column to the next in the copy of a panel.
template <class R>
constexpr std::int64_t panel_column(std::int64_t m) {
  constexpr std::int64_t line = kLine / static_cast<std::int64_t>(sizeof(R));
  return (ceil_div(m, line) + 1) * line;
}

#define WP_PER_ISA "kernels/lu.inl"
#include "simd/per_isa.inl"

template <class T>
std::int64_t factor_line(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots, T* copy) {
  static constexpr std::int64_t (*all[])(std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*, T*) = {
      baseline::factor_line<T>, avx2::factor_line<T>, avx512::factor_line<T>};
  return all[static_cast<int>(simd::isa())](m, n, a, row, pivots, copy);
}

// L X = B for the unit triangle of `n` rows, X beside it. `lines`: there is room for whole lines.
template <class T>
void solve_above(std::int64_t n, std::int64_t columns, const T* l, T* x, std::int64_t row, bool lines) {
  constexpr std::int64_t line = kLine / static_cast<std::int64_t>(sizeof(T)), few = 2 * line;
  if constexpr (RealOf<T>::parts == 1)
    if (lines && n <= few) {
      static constexpr void (*all[])(std::int64_t, std::int64_t, const T*, std::int64_t, T*) = {
          baseline::solve_lines<T>, avx2::solve_lines<T>, avx512::solve_lines<T>};
      return all[static_cast<int>(simd::isa())](n, ceil_div(columns, line) * line, l, row, x);
    }
  solve_triangular<T>({false, true}, n, columns, {l, row, 1}, {x, row, 1});
}

// Rows first … end − 1 change places with rows pivots[·] in the columns from x on.
template <class T>
void swap_lines(std::int64_t first, std::int64_t end, const std::int64_t* pivots, std::int64_t columns, T* x,
                std::int64_t row) {
  constexpr std::int64_t piece = kSwapColumns / static_cast<std::int64_t>(sizeof(T));
  parallel_for(columns, piece, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = first; i < end; ++i)
      if (pivots[i] != i) std::swap_ranges(x + i * row + from, x + i * row + to, x + pivots[i] * row + from);
  });
}

// The factorisation of rows whose start is `a` and whose pivots are counted from it.
template <class T>
class Factor {
  static constexpr std::int64_t line = kLine / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t panel = kPanelBytes / static_cast<std::int64_t>(sizeof(T));

 public:
  // By halves of the columns (Toledo 1997). `lines`, if given: rows have room for whole lines, and there is room for
  // the copy of a panel.
  static std::int64_t columns(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots,
                              T* lines) {
    const std::int64_t steps = std::min(m, n);
    if (steps == 0) return -1;
    if (!lines && n <= panel) return copied(m, n, a, row, pivots);
    if (lines && n <= line) return factor_line(m, n, a, row, pivots, lines);
    const std::int64_t unit = lines ? line : panel;
    const std::int64_t left = steps <= unit ? std::min(unit, n) : ceil_div(steps, 2 * unit) * unit;
    const std::int64_t first = std::min(left, m), rest = n - left;  // pivots in the left columns; the other columns
    T *const right = a + left, *const below = a + first * row;
    const std::int64_t left_zero = columns(m, left, a, row, pivots, lines);
    swap_lines(0, first, pivots, rest, right, row);
    solve_above(first, rest, a, right, row, lines != nullptr);
    gemm<T>(m - first, rest, first, {below, row, 1}, {right, row, 1}, {below + left, row, 1}, Into::subtract);
    const std::int64_t zero = columns(m - first, rest, below + left, row, pivots + first, lines);
    swap_lines(0, steps - first, pivots + first, left, below, row);
    for (std::int64_t i = first; i < steps; ++i) pivots[i] += first;
    return left_zero >= 0 || zero < 0 ? left_zero : first + zero;
  }

 private:
  // In a copy with rows of an odd number of lines, so that a column of lines fills all sets of the cache.
  static std::int64_t copied(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots) {
    const std::int64_t width = (ceil_div(n, line) | 1) * line;
    Buffer<T> copy(m * width), panel_copy(line * panel_column<T>(m));
    T* const to = copy.data();
    for (std::int64_t i = 0; i < m; ++i)
      std::fill(std::copy_n(a + i * row, n, to + i * width), to + (i + 1) * width, T(0));
    const std::int64_t zero = columns(m, n, to, width, pivots, panel_copy.data());
    for (std::int64_t i = 0; i < m; ++i) std::copy_n(to + i * width, n, a + i * row);
    return zero;
  }
};

}  // namespace

template <class T>
std::int64_t lu_factor(std::int64_t m, std::int64_t n, T* a, std::int64_t row, std::int64_t* pivots) {
  return Factor<T>::columns(m, n, a, row, pivots, nullptr);
}

template <class T>
void swap_rows(std::span<const std::int64_t> pivots, std::int64_t columns, MutableView<T> x, Order order) {
  const auto count = static_cast<std::int64_t>(pivots.size());
  if (order == Order::forward && x.columns == 1) return swap_lines(0, count, pivots.data(), columns, x.data, x.rows);
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t i = order == Order::forward ? step : count - 1 - step, p = pivots[static_cast<std::size_t>(i)];
    if (p == i) continue;
    for (std::int64_t j = 0; j < columns; ++j) std::swap(*x.from(i, j).data, *x.from(p, j).data);
  }
}

template <class T>
void lu_solve(Form form, std::int64_t n, std::int64_t columns, View<T> lu, const std::int64_t* pivots,
              MutableView<T> x) {
  const std::span<const std::int64_t> swaps(pivots, static_cast<std::size_t>(n));
  if (form == Form::plain) {
    swap_rows(swaps, columns, x, Order::forward);
    solve_triangular<T>({false, true}, n, columns, lu, x);
    solve_triangular<T>({true, false}, n, columns, lu, x);
    return;
  }
  const View<T> turned = form == Form::adjoint ? lu.transposed().conjugated() : lu.transposed();
  solve_triangular<T>({false, false}, n, columns, turned, x);
  solve_triangular<T>({true, true}, n, columns, turned, x);
  swap_rows(swaps, columns, x, Order::backward);
}

template <class T>
void lu_solve_few(std::int64_t n, View<T> lu, const std::int64_t* pivots, T* x) {
  for (std::int64_t i = 0; i < n; ++i)
    if (pivots[i] != i) std::swap_ranges(x + i * kFew, x + (i + 1) * kFew, x + pivots[i] * kFew);
  solve_few<T>({false, true}, n, lu, x);
  solve_few<T>({true, false}, n, lu, x);
}
template void lu_solve_few(std::int64_t, View<float>, const std::int64_t*, float*);
template void lu_solve_few(std::int64_t, View<double>, const std::int64_t*, double*);

template <class T>
void lu_inverse(std::int64_t n, View<T> lu, const std::int64_t* pivots, T* inverse, std::int64_t row) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) inverse[i * row + j] = j < i ? T(0) : *lu.from(i, j).data;
  const MutableView<T> x{inverse, row, 1};
  invert_triangular<T>({true, false}, n, x);
  solve_triangular<T>({true, true}, n, n, lu.transposed(), x.transposed());
  // A⁻¹ = X P: column c of X goes to where P takes it from.
  Buffer<std::int64_t> source(n);
  std::iota(source.data(), source.data() + n, std::int64_t{0});
  for (std::int64_t i = n; i-- > 0;) std::swap(source.data()[i], source.data()[pivots[i]]);
  parallel_for(n, 16384 / std::max<std::int64_t>(n, 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    Buffer<T> line(n);
    for (std::int64_t i = begin; i < end; ++i) {
      T* const to = inverse + i * row;
      std::copy_n(to, n, line.data());
      for (std::int64_t j = 0; j < n; ++j) to[j] = line.data()[source.data()[j]];
    }
  });
}

template <class T>
typename RealOf<T>::type largest(std::int64_t m, std::int64_t n, View<T> a, Part part) {
  using R = typename RealOf<T>::type;
  if constexpr (RealOf<T>::parts == 1)
    if (a.columns == 1) return largest_of_lines(m, n, a.data, a.rows, part);
  R most = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    const std::int64_t begin = part == Part::upper ? i : 0, end = part == Part::lower ? std::min(n, i + 1) : n;
    const T* const line = a.data + i * a.rows;
    for (std::int64_t j = begin; j < end; ++j) {
      const T v = line[j * a.columns];
      if constexpr (RealOf<T>::parts == 2)  // |z| ≤ |re| + |im|, in which NaN stays
        if (std::abs(v.real()) + std::abs(v.imag()) <= most) continue;
      const R size = std::abs(v);
      if (!(size <= most)) most = size;
      if (std::isnan(size)) return size;
    }
  }
  return most;
}

template <class T>
typename RealOf<T>::type lu_growth(std::int64_t m, std::int64_t n, View<T> lu,
                                   typename RealOf<T>::type largest_of_a) {
  return largest_of_a == 0 ? 1 : largest(m, n, lu, Part::upper) / largest_of_a;
}

#define WP_INSTANTIATE(T)                                                                                 \
  template std::int64_t lu_factor(std::int64_t, std::int64_t, T*, std::int64_t, std::int64_t*);           \
  template void swap_rows(std::span<const std::int64_t>, std::int64_t, MutableView<T>, Order);            \
  template void lu_solve(Form, std::int64_t, std::int64_t, View<T>, const std::int64_t*, MutableView<T>); \
  template void lu_inverse(std::int64_t, View<T>, const std::int64_t*, T*, std::int64_t);                 \
  template RealOf<T>::type largest(std::int64_t, std::int64_t, View<T>, Part);                            \
  template RealOf<T>::type lu_growth(std::int64_t, std::int64_t, View<T>, RealOf<T>::type);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
