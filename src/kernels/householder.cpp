#include "kernels/householder.hpp"

#include <algorithm>

#include "kernels/lapack_call.hpp"
#include "kernels/reflectors.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kLeaf = 16;  // columns of a panel that LAPACK factors

// A panel by halves: the right one is turned by the reflectors of the left one, and factored below them.
template <class T>
void factor_panel(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau) {
  if (n <= kLeaf) {
    lapack::qr<T>(m, n, a, lda, tau);
    return;
  }
  const std::int64_t half = n / 2;
  factor_panel(m, half, a, lda, tau);
  Reflectors<T>(m, half, a, lda, tau).apply(true, n - half, {a + half * lda, 1, lda});
  factor_panel(m - half, n - half, a + half * lda + half, lda, tau + half);
}

}  // namespace

template <class T>
void householder_qr(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau) {
  const std::int64_t k = std::min(m, n);
  for (std::int64_t i = 0; i < k; i += kHouseholderBlock) {
    const std::int64_t width = std::min(kHouseholderBlock, k - i), after = i + width;
    T* const panel = a + i * lda + i;
    factor_panel(m - i, width, panel, lda, tau + i);
    if (after < n)
      Reflectors<T>(m - i, width, panel, lda, tau + i).apply(true, n - after, {a + after * lda + i, 1, lda});
  }
}

// H₀ … H_k−1 applied to the identity from the last block to the first: what a block finds above its own rows is zero.
template <class T>
void householder_q(std::int64_t m, std::int64_t n, std::int64_t k, T* a, std::int64_t lda, const T* tau) {
  for (std::int64_t j = k; j < n; ++j) {
    std::fill_n(a + j * lda, m, T(0));
    a[j * lda + j] = T(1);
  }
  for (std::int64_t i = (k - 1) / kHouseholderBlock * kHouseholderBlock; k > 0 && i >= 0; i -= kHouseholderBlock) {
    const std::int64_t width = std::min(kHouseholderBlock, k - i), rows = m - i;
    T* const panel = a + i * lda + i;
    const Reflectors<T> h(rows, width, panel, lda, tau + i);
    h.apply(false, n - i - width, {panel + width * lda, 1, lda});
    // The first columns of I − V S Vᴴ: I − V (S V₁ᴴ), V₁ the top of V.
    Buffer<T> top(width * width);
    const MutableView<T> sv{top.data(), 1, width};
    gemm<T>(width, width, width, h.s(), adjoint(h.v()), sv);
    for (std::int64_t j = 0; j < width; ++j) {
      std::fill_n(a + (i + j) * lda, m, T(0));
      panel[j * lda + j] = T(1);
    }
    gemm<T>(rows, width, width, h.v(), sv, {panel, 1, lda}, Into::subtract);
  }
}

template <class T>
void apply_householder(std::int64_t m, std::int64_t columns, std::int64_t k, const T* a, std::int64_t lda,
                       const T* tau, MutableView<T> c) {
  for (std::int64_t i = (k - 1) / kHouseholderBlock * kHouseholderBlock; k > 0 && i >= 0; i -= kHouseholderBlock)
    Reflectors<T>(m - i, std::min(kHouseholderBlock, k - i), a + i * lda + i, lda, tau + i)
        .apply(false, columns, c.from(i, 0));
}

#define WP_INSTANTIATE(T)                                                                                     \
  template void householder_qr(std::int64_t, std::int64_t, T*, std::int64_t, T*);                             \
  template void householder_q(std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, const T*);          \
  template void apply_householder(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, const T*, \
                                  MutableView<T>);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
