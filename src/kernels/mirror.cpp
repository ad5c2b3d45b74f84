#include "kernels/mirror.hpp"

#include <algorithm>
#include <cmath>

#include "base/pool.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "simd/pack.hpp"
#include "simd/transpose.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kBlock = 32;      // rows and columns of a block: it and its mirror image stay in cache
constexpr std::int64_t kTaskRows = 128;  // rows of a task

// What was found on the way; nothing: 0, or NaN once something was not finite.
template <class R>
struct Found {
  R largest = 0, apart = 0, nothing = 0;
};

#define WP_PER_ISA "kernels/mirror.inl"
#include "simd/per_isa.inl"

template <class R>
void mirror_block(std::int64_t rows, std::int64_t width, std::int64_t first, const R* below, std::int64_t below_row,
                  const R* above, std::int64_t above_row, R* to, std::int64_t to_row, Found<R>& found) {
  static constexpr void (*all[])(std::int64_t, std::int64_t, std::int64_t, const R*, std::int64_t, const R*,
                                 std::int64_t, R*, std::int64_t, Found<R>&) = {
      baseline::mirror_block<R>, avx2::mirror_block<R>, avx512::mirror_block<R>};
  all[static_cast<int>(simd::isa())](rows, width, first, below, below_row, above, above_row, to, to_row, found);
}

// The conjugate of Aᵀ's rows i … i + rows − 1 and columns j … j + columns − 1: [rows][kBlock].
template <class T>
void mirrored_block(std::int64_t rows, std::int64_t columns, View<T> a, std::int64_t i, std::int64_t j, T* to) {
  const T* const from = a.from(j, i).data;
  constexpr std::int64_t side = simd::kSquare<T>;
  if (RealOf<T>::parts == 1 && a.columns == 1 && rows % side == 0 && columns % side == 0) {
    for (std::int64_t r = 0; r < rows; r += side)
      for (std::int64_t c = 0; c < columns; c += side)
        simd::transpose_square(to + r * kBlock + c, kBlock, from + c * a.rows + r, a.rows);
    return;
  }
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) to[r * kBlock + c] = conjugate(from[c * a.rows + r * a.columns]);
}

template <class T>
class Mirror {
  using R = typename RealOf<T>::type;

 public:
  Mirror(std::int64_t n, View<T> a, Side side, T* to, std::int64_t row)
      : n_(n), a_(a), side_(side), to_(to), row_(row) {}

  // Rows begin … end − 1, on and below the diagonal.
  Found<R> rows(std::int64_t begin, std::int64_t end) const {
    Found<R> found;
    alignas(64) T mirrored[kBlock * kBlock], copied[kBlock * kBlock];
    for (std::int64_t i = begin; i < end; i += kBlock)
      for (std::int64_t j = 0; j < std::min(n_, i + kBlock); j += kBlock) {
        const std::int64_t height = std::min(kBlock, end - i), width = std::min(kBlock, n_ - j);
        View<T> below = a_.from(i, j), above{mirrored, kBlock, 1};
        if (side_ != Side::lower) mirrored_block(height, width, a_, i, j, mirrored);
        if (side_ != Side::upper && a_.columns != 1) {
          for (std::int64_t r = 0; r < height; ++r)
            for (std::int64_t c = 0; c < width; ++c) copied[r * kBlock + c] = *below.from(r, c).data;
          below = {copied, kBlock, 1};
        }
        if (side_ == Side::lower) above = below;
        if (side_ == Side::upper) below = above;
        block(height, width, i, j, below, above, found);
      }
    return found;
  }

 private:
  void block(std::int64_t rows, std::int64_t width, std::int64_t i, std::int64_t j, View<T> below, View<T> above,
             Found<R>& found) const {
    T* const to = to_ + i * row_ + j;
    if constexpr (RealOf<T>::parts == 1) {
      mirror_block<R>(rows, width, i + 1 - j, below.data, below.rows, above.data, above.rows, to, row_, found);
    } else {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t k = 0; k < std::min(width, i + r + 1 - j); ++k) {
          const T b = *below.from(r, k).data, a = *above.from(r, k).data;
          T v = b == a ? b : b * R(0.5) + a * R(0.5);
          if (j + k == i + r) v = T(v.real());
          const T difference = b - v;
          for (const R part : {std::fabs(v.real()), std::fabs(v.imag())}) {
            found.largest = std::max(found.largest, part);
            found.nothing += part - part;
          }
          found.apart = std::max({found.apart, std::fabs(difference.real()), std::fabs(difference.imag())});
          to[r * row_ + k] = v;
        }
    }
  }

  const std::int64_t n_;
  const View<T> a_;
  const Side side_;
  T* const to_;
  const std::int64_t row_;
};

}  // namespace

template <class T>
Mirrored mirror(std::int64_t n, View<T> a, Side side, T* to, std::int64_t row) {
  using R = typename RealOf<T>::type;
  const std::int64_t tasks = (n + kTaskRows - 1) / kTaskRows;
  Buffer<Found<R>> found(std::max<std::int64_t>(tasks, 1));
  const Mirror<T> work(n, a, side, to, row);
  parallel_for(tasks, n <= 2 * kTaskRows ? tasks : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t)
      found.data()[t] = work.rows(t * kTaskRows, std::min(n, (t + 1) * kTaskRows));
  });
  Mirrored all;
  for (std::int64_t t = 0; t < tasks; ++t) {
    const Found<R>& f = found.data()[t];
    all.largest = std::max(all.largest, static_cast<double>(f.largest));
    all.apart = std::max(all.apart, static_cast<double>(f.apart));
    all.finite = all.finite && f.nothing == 0;
  }
  if (side != Side::both) all.apart = 0;
  return all;
}

#define WP_INSTANTIATE(T) template Mirrored mirror(std::int64_t, View<T>, Side, T*, std::int64_t);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
