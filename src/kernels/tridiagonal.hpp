// Symmetric A = Q T Qᵀ with T tridiagonal, over gemm and on the pool: panels of reflectors, half of the arithmetic in
// products with a vector (Dongarra, Sorensen & Hammarling 1989). T: float, double.
#pragma once
#include <cstdint>

namespace wp::kernels {

// Conventions of LAPACK's sytrd for lower triangles: d is the diagonal of T and e what is below it; vᵢ stands in
// column i of A, below the element under the diagonal; n − 1 reflectors (householder_qr's of A without its first
// row).
template <class T>
void tridiagonalise(std::int64_t n, T* a, std::int64_t lda, T* d, T* e, T* tau);

}  // namespace wp::kernels
