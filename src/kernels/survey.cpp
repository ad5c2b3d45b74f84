#include "kernels/survey.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "kernels/scan.hpp"
#include "simd/pack.hpp"
#include "wellposed/dtype.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kStrip = 512;          // columns of a task
constexpr std::int64_t kRows = 16;            // rows made contiguous at once
constexpr std::int64_t kSerial = 256 * 1024;  // elements below which threads do not pay

#define WP_PER_ISA "kernels/survey.inl"
#include "simd/per_isa.inl"

// Sums of sizes within 2^±200 neither overflow nor need scaling.
template <class R>
constexpr int kFar = std::is_same_v<R, float> ? 1000 : 200;

template <class T>
void copy_block(std::int64_t m, std::int64_t n, View<T> a, T* to, std::int64_t row) {
  if (a.columns == 1) {
    for (std::int64_t i = 0; i < m; ++i) std::copy_n(a.data + i * a.rows, n, to + i * row);
    return;
  }
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) to[i * row + j] = a.data[i * a.rows + j * a.columns];
}

// Numbers of R: complex ones are two.
template <class R>
void survey_rows(std::int64_t m, std::int64_t n, const R* from, std::int64_t from_row, R* to, std::int64_t to_row,
                 R* top, R* across, double* sums) {
  using Rows = void (*)(std::int64_t, std::int64_t, const R*, std::int64_t, R*, std::int64_t, R*, R*, double*);
  static constexpr Rows all[2][simd::kIsas] = {
      {baseline::survey_rows<R, false>, avx2::survey_rows<R, false>, avx512::survey_rows<R, false>},
      {baseline::survey_rows<R, true>, avx2::survey_rows<R, true>, avx512::survey_rows<R, true>}};
  all[to != nullptr][static_cast<int>(simd::isa())](m, n, from, from_row, to, to_row, top, across, sums);
}

}  // namespace

template <class T>
Survey<T>::Survey(std::int64_t m, std::int64_t n, View<T> a, T* copy)
    : m_(m), n_(n), tops_(std::max<std::int64_t>(1, m + n)) {
  constexpr std::int64_t parts = RealOf<T>::parts;
  const std::int64_t strips = m * n <= kSerial ? 1 : (n + kStrip - 1) / kStrip, wide = strips > 1 ? kStrip : n;
  // Of parts: the strips' largest of rows, then the largest of columns.
  Buffer<Real> largest(std::max<std::int64_t>(1, strips * m + parts * n));
  Buffer<double> sums(std::max<std::int64_t>(1, parts * n));
  Real* const across = largest.data() + strips * m;
  std::fill_n(largest.data(), strips * m + parts * n, Real(0));
  std::fill_n(sums.data(), parts * n, 0.0);
  parallel_for(strips, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s)
      look(s * wide, std::min(wide, n - s * wide), a, copy, largest.data() + s * m, across, sums.data());
  });
  for (std::int64_t i = 0; i < m; ++i) {
    Real most = 0;
    for (std::int64_t s = 0; s < strips; ++s) most = std::max(most, largest.data()[s * m + i]);
    tops_.data()[i] = most;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    Real most = across[parts * j];
    if constexpr (parts == 2) most = std::max(most, across[2 * j + 1]);
    tops_.data()[m + j] = most;
  }
  conclude(a, sums.data());
}

// A strip of columns: the same bits whoever looks at it.
template <class T>
void Survey<T>::look(std::int64_t first, std::int64_t columns, View<T> a, T* copy, Real* rows, Real* across,
                     double* sums) {
  constexpr std::int64_t parts = RealOf<T>::parts;
  const auto real = [](auto* p) {
    using Plain = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(p)>>, const Real, Real>;
    return reinterpret_cast<Plain*>(p);
  };
  const View<T> strip = a.from(0, first);
  T* const to = copy ? copy + first : nullptr;
  Real* const most = across + parts * first;
  double* const totals = sums + parts * first;
  if (a.columns == 1)
    return survey_rows<Real>(m_, parts * columns, real(strip.data), parts * a.rows, to ? real(to) : nullptr,
                             parts * n_, rows, most, totals);
  Buffer<T> scratch(to ? 1 : kRows * columns + 1);
  const std::int64_t row = to ? n_ : columns;
  for (std::int64_t i = 0; i < m_; i += kRows) {
    const std::int64_t here = std::min(kRows, m_ - i);
    T* const lines = to ? to + i * n_ : scratch.data();
    copy_block(here, columns, strip.from(i, 0), lines, row);
    survey_rows<Real>(here, parts * columns, real(lines), parts * row, nullptr, 0, rows + i, most, totals);
  }
}

template <class T>
void Survey<T>::conclude(View<T> a, const double* sums) {
  constexpr std::int64_t parts = RealOf<T>::parts;
  double one = 0;
  bool whole = true;  // no sum is infinite or NaN
  for (std::int64_t j = 0; j < parts * n_; ++j) {
    one = std::max(one, sums[j]);
    whole = whole && std::isfinite(sums[j]);
  }
  if (!whole) finite_ = all_finite(m_, n_, a);
  if (!finite_ || parts == 2) return;
  double most = 0;
  for (std::int64_t i = 0; i < m_; ++i) most = std::max(most, static_cast<double>(rows()[i]));
  if (most == 0 || std::abs(std::ilogb(most)) < kFar<Real>) norms_ = {one, most};
}

template <class T>
bool all_finite(std::int64_t m, std::int64_t n, View<T> a) {
  if (std::abs(a.rows) < std::abs(a.columns)) return all_finite<T>(n, m, a.transposed());
  if (a.columns == 1 && a.rows == n) return !any_nonfinite(dtype_v<T>, a.data, m * n);
  for (std::int64_t i = 0; i < m; ++i) {
    const T* const line = a.data + i * a.rows;
    if (a.columns == 1) {
      if (any_nonfinite(dtype_v<T>, line, n)) return false;
      continue;
    }
    for (std::int64_t j = 0; j < n; ++j)
      if (!is_finite(line[j * a.columns])) return false;
  }
  return true;
}

template <class R>
R largest_of_lines(std::int64_t m, std::int64_t n, const R* a, std::int64_t row, Part part) {
  static constexpr R (*all[])(std::int64_t, std::int64_t, const R*, std::int64_t, Part) = {
      baseline::largest_of_lines<R>, avx2::largest_of_lines<R>, avx512::largest_of_lines<R>};
  return all[static_cast<int>(simd::isa())](m, n, a, row, part);
}

#define WP_INSTANTIATE(T)   \
  template class Survey<T>; \
  template bool all_finite(std::int64_t, std::int64_t, View<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE
template float largest_of_lines(std::int64_t, std::int64_t, const float*, std::int64_t, Part);
template double largest_of_lines(std::int64_t, std::int64_t, const double*, std::int64_t, Part);

}  // namespace wp::kernels
