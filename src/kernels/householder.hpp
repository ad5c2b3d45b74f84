// Householder QR over gemm and on the pool: reflectors k at a time as I − V S Vᴴ (compact WY form; Schreiber & Van
// Loan 1989), panels by halves (Elmroth & Gustavson 2000). Storage and conventions of LAPACK's geqrf: column-major A,
// R on and above its diagonal, vᵢ below. T: float, double, complex64, complex128.
#pragma once
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::kernels {

inline constexpr std::int64_t kHouseholderBlock = 64;

template <class T>
void householder_qr(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* tau);
// A, k reflectors as householder_qr leaves them, becomes the first n columns of their product; m ≥ n ≥ k.
template <class T>
void householder_q(std::int64_t m, std::int64_t n, std::int64_t k, T* a, std::int64_t lda, const T* tau);
// C (m × columns) becomes Q C, for the product Q of k reflectors as householder_qr leaves them.
template <class T>
void apply_householder(std::int64_t m, std::int64_t columns, std::int64_t k, const T* a, std::int64_t lda,
                       const T* tau, MutableView<T> c);

}  // namespace wp::kernels
