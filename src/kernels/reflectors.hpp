// Reflectors as LAPACK leaves them, many at a time: compact WY form (Schreiber & Van Loan 1989).
#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::kernels {

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

}  // namespace wp::kernels
