#include "kernels/householder.hpp"

#include <algorithm>

#include "kernels/gemm.hpp"
#include "kernels/lapack_call.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kLeaf = 16;  // columns of a panel that LAPACK factors

template <class T>
View<T> adjoint(View<T> a) {
  return a.transposed().conjugated();
}

// k reflectors of m elements: H₀ H₁ … = I − V S Vᴴ, S upper triangular with sⱼⱼ = tauⱼ and
// S[:j, j] = −tauⱼ S[:j, :j] (Vᴴ vⱼ)[:j].
template <class T>
class Reflectors {
 public:
  Reflectors(std::int64_t m, std::int64_t k, const T* a, std::int64_t lda, const T* tau)
      : m_(m), k_(k), v_(m * k), s_(k * k) {
    for (std::int64_t j = 0; j < k; ++j) {
      T* const column = v_.data() + j * m;
      std::fill_n(column, j, T(0));
      column[j] = T(1);
      std::copy(a + j * lda + j + 1, a + j * lda + m, column + j + 1);
    }
    T* const s = s_.data();
    gemm<T>(k, k, m, adjoint(v()), v(), {s, 1, k}, Into::set, Part::upper);
    for (std::int64_t j = 0; j < k; ++j) {
      T* const column = s + j * k;
      for (std::int64_t i = 0; i < j; ++i) {  // row i reads rows i … j − 1, which are not written yet
        T sum = 0;
        for (std::int64_t l = i; l < j; ++l) sum += s[i + l * k] * column[l];
        column[i] = -tau[j] * sum;
      }
      column[j] = tau[j];
      std::fill(column + j + 1, column + k, T(0));
    }
  }
  View<T> v() const { return {v_.data(), 1, m_}; }
  View<T> s() const { return {s_.data(), 1, k_}; }

  // C (m × n) becomes H C, or Hᴴ C.
  void apply(bool adjoint_of, std::int64_t n, MutableView<T> c) const {
    if (n == 0) return;
    Buffer<T> product(k_ * n), turned(k_ * n);
    const MutableView<T> w{product.data(), 1, k_}, x{turned.data(), 1, k_};
    gemm<T>(k_, n, m_, adjoint(v()), c, w);
    gemm<T>(k_, n, k_, adjoint_of ? adjoint(s()) : s(), w, x);
    gemm<T>(m_, n, k_, v(), x, c, Into::subtract);
  }

 private:
  std::int64_t m_, k_;
  Buffer<T> v_, s_;
};

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

#define WP_INSTANTIATE(T)                                                         \
  template void householder_qr(std::int64_t, std::int64_t, T*, std::int64_t, T*); \
  template void householder_q(std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, const T*);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
