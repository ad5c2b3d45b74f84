#include "kernels/triangular.hpp"

#include <algorithm>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/few.hpp"
#include "kernels/packing.hpp"
#include "kernels/quotient.hpp"
#include "simd/pack.hpp"

namespace wp::kernels {
namespace {

#define WP_PER_ISA "kernels/triangular.inl"
#include "simd/per_isa.inl"

constexpr std::int64_t kBase = 64;        // real rows solved by substitution
constexpr std::int64_t kStrips = 4;       // strips of a product's width side by side
constexpr std::int64_t kGrain = 1 << 17;  // multiply-adds of a piece of parallel work

template <class T>
constexpr std::int64_t rows_of_base = kBase / RealOf<T>::parts;

// An element as the view means it.
template <class T>
[[gnu::always_inline]] inline T value_of(View<T> a, std::int64_t i, std::int64_t j) {
  const T v = a.data[i * a.rows + j * a.columns];
  if constexpr (RealOf<T>::parts == 2) return a.conjugate ? std::conj(v) : v;
  return v;
}
// A lower triangle of at most kBase real rows, complex numbers as blocks (re, −im; im, re), and its diagonal.
template <class T>
class Base {
  using R = typename RealOf<T>::type;
  static constexpr std::int64_t parts = RealOf<T>::parts;

 public:
  Base(bool unit, std::int64_t n, View<T> a) : unit_(unit), rows_(n * parts) {
    for (std::int64_t i = 0; i < n; ++i) {
      R* const to = lines_ + parts * i * kBase;
      for (std::int64_t j = 0; j < i; ++j) {
        const T v = value_of(a, i, j);
        if constexpr (parts == 1) {
          to[j] = v;
        } else {
          to[2 * j] = to[kBase + 2 * j + 1] = v.real();
          to[2 * j + 1] = -v.imag();
          to[kBase + 2 * j] = v.imag();
        }
      }
      if (!unit) diagonal_[i] = Divisor<T>(value_of(a, i, i));
    }
  }

  void solve(std::int64_t columns, MutableView<T> x) const {
    const std::int64_t wide = kStrips * kernel_.vectors * kernel_.width;
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (rows_ * rows_ * wide / 2));
    parallel_for(ceil_div(columns, wide), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) strip(std::min(wide, columns - s * wide), x.from(0, s * wide));
    });
  }

 private:
  // Rows in groups of a tile's height: a product with the rows above, then substitution.
  void strip(std::int64_t columns, MutableView<T> x) const {
    alignas(64) R packed[kBase * kStrips * simd::kTileVectors * 64 / sizeof(R)];
    const std::int64_t width = ceil_div(columns, kernel_.width) * kernel_.width;
    const std::int64_t wide = kernel_.vectors * kernel_.width, n = rows_ / parts;
    pack_b(n, columns, width, View<T>(x), packed);
    for (std::int64_t i = 0; i < rows_; i += kernel_.rows) {
      const std::int64_t rows = std::min<std::int64_t>(kernel_.rows, rows_ - i);
      for (std::int64_t j = 0; i > 0 && j < width; j += wide) {
        const std::int64_t here = std::min(wide, width - j);
        kernel_.tile[0][rows][here / kernel_.width](i, lines_ + i * kBase, kBase, 1, packed + j, width,
                                                    packed + i * width + j, width, here, Into::subtract);
      }
      substitute_(rows, lines_ + i * kBase + i, kBase, packed + i * width, width, diagonal_ + i / parts);
    }
    unpack(n, columns, width, packed, x);
  }
  static void unpack(std::int64_t n, std::int64_t columns, std::int64_t width, const R* packed, MutableView<T> x) {
    by_lines(n, columns, x.rows, x.columns, [&](std::int64_t i, std::int64_t j) {
      const R* const from = packed + i * parts * width + j;
      T& to = x.data[i * x.rows + j * x.columns];
      if constexpr (parts == 1)
        to = from[0];
      else
        to = T(from[0], from[width]);
    });
  }

  using Substitute = void (*)(std::int64_t, const R*, std::int64_t, R*, std::int64_t, const Divisor<T>*);
  static Substitute substitution(bool unit) {
    static constexpr Substitute all[2][simd::kIsas] = {
        {baseline::substitute<T, false>, avx2::substitute<T, false>, avx512::substitute<T, false>},
        {baseline::substitute<T, true>, avx2::substitute<T, true>, avx512::substitute<T, true>}};
    return all[unit][static_cast<int>(simd::isa())];
  }

  const bool unit_;
  const std::int64_t rows_;
  const simd::Products<R>& kernel_ = simd::products<R>();
  const Substitute substitute_ = substitution(unit_);
  Divisor<T> diagonal_[rows_of_base<T>];
  alignas(64) R lines_[kBase * kBase];
};

// [L₁ 0; L₂₁ L₂] X = B: X₁ first, then B₂ − L₂₁ X₁.
template <class T>
void solve_lower(bool unit, std::int64_t n, std::int64_t columns, View<T> a, MutableView<T> x) {
  constexpr std::int64_t base = rows_of_base<T>;
  if (n <= base) return Base<T>(unit, n, a).solve(columns, x);
  const std::int64_t first = ceil_div(n, 2 * base) * base;
  solve_lower(unit, first, columns, a, x);
  gemm<T>(n - first, columns, first, a.from(first, 0), x, x.from(first, 0), Into::subtract);
  solve_lower(unit, n - first, columns, a.from(first, first), x.from(first, 0));
}

// a − l·x; the product of complex numbers by its formula.
template <class T>
[[gnu::always_inline]] inline T minus_product(T a, T l, T x) {
  if constexpr (RealOf<T>::parts == 2)
    return a - T(l.real() * x.real() - l.imag() * x.imag(), l.real() * x.imag() + l.imag() * x.real());
  else
    return a - l * x;
}

// One right-hand side: blocks of rows, first or last ones first, each after a matrix times vector.
template <class T>
void solve_line(Triangle triangle, std::int64_t n, View<T> a, T* x) {
  if constexpr (RealOf<T>::parts == 1)
    if (a.rows == 1 || a.columns == 1) return solve_one<T>(triangle, n, a, x);
  constexpr std::int64_t block = 32;
  T product[block];
  for (std::int64_t done = 0; done < n; done += block) {
    const std::int64_t rows = std::min(block, n - done), first = triangle.upper ? n - done - rows : done;
    if (done > 0) {
      const std::int64_t known = triangle.upper ? first + rows : 0;
      gemv<T>(rows, done, a.from(first, known), x + known, 1, product, a.conjugate);
      for (std::int64_t i = 0; i < rows; ++i) x[first + i] -= product[i];
    }
    const View<T> here = a.from(first, first);
    T* const y = x + first;
    for (std::int64_t step = 0; step < rows; ++step) {
      const std::int64_t j = triangle.upper ? rows - 1 - step : step;
      if (!triangle.unit) y[j] = Divisor<T>(value_of(here, j, j))(y[j]);
      const std::int64_t begin = triangle.upper ? 0 : j + 1, end = triangle.upper ? j : rows;
      for (std::int64_t i = begin; i < end; ++i) y[i] = minus_product(y[i], value_of(here, i, j), y[j]);
    }
  }
}
template <class T>
void solve_vector(Triangle triangle, std::int64_t n, View<T> a, MutableView<T> x) {
  if (x.rows == 1) return solve_line(triangle, n, a, x.data);
  Buffer<T> line(n);
  for (std::int64_t i = 0; i < n; ++i) line.data()[i] = x.data[i * x.rows];
  solve_line(triangle, n, a, line.data());
  for (std::int64_t i = 0; i < n; ++i) x.data[i * x.rows] = line.data()[i];
}

// [L₁ 0; L₂₁ L₂]⁻¹ = [L₁⁻¹ 0; X L₂⁻¹] with L₂ Y = L₂₁ and X L₁ = −Y: both by substitution (Du Croz & Higham 1992).
template <class T>
void invert_lower(bool unit, std::int64_t n, MutableView<T> a) {
  constexpr std::int64_t base = rows_of_base<T>;
  if (n <= base) {
    T inverse[base * base] = {};
    for (std::int64_t i = 0; i < n; ++i) inverse[i * base + i] = T(1);
    Base<T>(unit, n, a).solve(n, {inverse, base, 1});
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < i + (unit ? 0 : 1); ++j) *a.from(i, j).data = inverse[i * base + j];
    return;
  }
  const std::int64_t first = ceil_div(n, 2 * base) * base, rest = n - first;
  const MutableView<T> corner = a.from(first, 0), last = a.from(first, first);
  solve_lower<T>(unit, rest, first, last, corner);
  solve_triangular<T>({true, unit}, first, rest, View<T>(a).transposed(), corner.transposed());
  for (std::int64_t i = 0; i < rest; ++i)
    for (std::int64_t j = 0; j < first; ++j) {
      T& v = *corner.from(i, j).data;
      v = -v;
    }
  invert_lower(unit, first, a);
  invert_lower(unit, rest, last);
}

}  // namespace

template <class T>
void solve_triangular(Triangle triangle, std::int64_t n, std::int64_t columns, View<T> a, MutableView<T> x) {
  if (n == 0 || columns == 0) return;
  if (columns == 1) return solve_vector(triangle, n, a, x);
  if (triangle.upper)  // the reverse is lower
    solve_lower(triangle.unit, n, columns, a.reversed(n, n), x.reversed_rows(n));
  else
    solve_lower(triangle.unit, n, columns, a, x);
}

template <class T>
void invert_triangular(Triangle triangle, std::int64_t n, MutableView<T> a) {
  if (n == 0) return;
  invert_lower(triangle.unit, n, triangle.upper ? a.reversed(n, n) : a);
}

#define WP_INSTANTIATE(T)                                                                        \
  template void solve_triangular(Triangle, std::int64_t, std::int64_t, View<T>, MutableView<T>); \
  template void invert_triangular(Triangle, std::int64_t, MutableView<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
