#include "kernels/one_pass.hpp"

#include <algorithm>
#include <cmath>

#include "base/pool.hpp"
#include "kernels/gemm.hpp"
#include "simd/pack.hpp"

namespace wp::kernels {
namespace {

#define WP_PER_ISA "kernels/one_pass.inl"
#include "simd/per_isa.inl"

template <class R, bool rows, bool columns>
void pass(std::int64_t m, std::int64_t n, const R* a, std::int64_t lda, const R* x, R* dots, const R* factors, R* y) {
  using Run = void (*)(std::int64_t, std::int64_t, const R*, std::int64_t, const R*, R*, const R*, R*);
  static constexpr Run all[simd::kIsas] = {baseline::one_pass<R, rows, columns>, avx2::one_pass<R, rows, columns>,
                                           avx512::one_pass<R, rows, columns>};
  all[static_cast<int>(simd::isa())](m, n, a, lda, x, dots, factors, y);
}
template <class R>
void symmetric(std::int64_t n, std::int64_t first, std::int64_t last, const R* a, std::int64_t lda, const R* x,
               R* y) {
  using Run = void (*)(std::int64_t, std::int64_t, std::int64_t, const R*, std::int64_t, const R*, R*);
  static constexpr Run all[simd::kIsas] = {baseline::symmetric_pass<R>, avx2::symmetric_pass<R>,
                                           avx512::symmetric_pass<R>};
  all[static_cast<int>(simd::isa())](n, first, last, a, lda, x, y);
}

constexpr std::int64_t kPieceElements = 1 << 15, kMostPieces = 16;
std::int64_t pieces_of(std::int64_t elements) {
  return std::clamp<std::int64_t>(elements / kPieceElements, 1, kMostPieces);
}

// y of m numbers += what some(k, to) adds to a vector, k = 0 … pieces − 1, in this order.
template <class T, class Some>
void add_pieces(std::int64_t m, std::int64_t pieces, T* y, Some&& some) {
  if (pieces == 1) return some(0, y);
  Buffer<T> others((pieces - 1) * m);
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      T* const to = k == 0 ? y : others.data() + (k - 1) * m;
      if (k > 0) std::fill_n(to, m, T(0));
      some(k, to);
    }
  });
  for (std::int64_t k = 0; k + 1 < pieces; ++k)
    for (std::int64_t i = 0; i < m; ++i) y[i] += others.data()[k * m + i];
}

}  // namespace

template <class T>
void symmetric_product(std::int64_t n, const T* a, std::int64_t lda, const T* x, T* y) {
  const std::int64_t pieces = pieces_of(n * n / 2);
  // Piece k begins where k of `pieces` parts of the triangle are to the left.
  const auto begin = [&](std::int64_t k) {
    if (k == pieces) return n;
    const double left = 1 - std::sqrt(1 - static_cast<double>(k) / static_cast<double>(pieces));
    return static_cast<std::int64_t>(left * static_cast<double>(n)) / 4 * 4;
  };
  std::fill_n(y, n, T(0));
  add_pieces(n, pieces, y, [&](std::int64_t k, T* to) { symmetric(n, begin(k), begin(k + 1), a, lda, x, to); });
}

template <class T>
void add_product(std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, const T* x, T* y) {
  const std::int64_t pieces = pieces_of(m * n), each = (n + pieces - 1) / pieces;
  add_pieces(m, pieces, y, [&](std::int64_t k, T* to) {
    const std::int64_t first = std::min(k * each, n), count = std::min(each, n - first);
    pass<T, false, true>(m, count, a + first * lda, lda, nullptr, nullptr, x + first, to);
  });
}

template <class T>
void transposed_product(std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, const T* x, T* y) {
  std::fill_n(y, n, T(0));
  parallel_for(n, std::max<std::int64_t>(4, n / pieces_of(m * n) / 4 * 4), [&](std::int64_t begin, std::int64_t end) {
    pass<T, true, false>(m, end - begin, a + begin * lda, lda, x, y + begin, nullptr, nullptr);
  });
}

#define WP_INSTANTIATE(T)                                                                      \
  template void symmetric_product(std::int64_t, const T*, std::int64_t, const T*, T*);         \
  template void add_product(std::int64_t, std::int64_t, const T*, std::int64_t, const T*, T*); \
  template void transposed_product(std::int64_t, std::int64_t, const T*, std::int64_t, const T*, T*);
WP_INSTANTIATE(float)
WP_INSTANTIATE(double)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
