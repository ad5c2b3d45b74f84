// A = Q B Pᵀ with B upper bidiagonal, over gemm and on the pool: panels of reflectors, half of the arithmetic in
// products with vectors (Dongarra, Sorensen & Hammarling 1989). T: float, double.
#pragma once
#include <cstdint>

namespace wp::kernels {

// A is m × n, m ≥ n. d is the diagonal of B, e what is above it. The vectors of Q stand in A, those of P in an n × n
// matrix, as householder_qr leaves them (the first of P in its second row).
template <class T>
void bidiagonalise(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, T* p, std::int64_t ldp, T* d, T* e,
                   T* tau_q, T* tau_p);

}  // namespace wp::kernels
