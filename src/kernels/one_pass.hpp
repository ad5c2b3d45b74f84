// Products of a column-major matrix with vectors, in one pass over its columns, on the pool: what reductions to
// condensed form wait for. Bit-equal for any number of threads. T: float, double.
#pragma once
#include <cstdint>

namespace wp::kernels {

// y = A x, A symmetric n × n, given on and below its diagonal.
template <class T>
void symmetric_product(std::int64_t n, const T* a, std::int64_t lda, const T* x, T* y);
// y += A x and y = Aᵀ x, A m × n.
template <class T>
void add_product(std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, const T* x, T* y);
template <class T>
void transposed_product(std::int64_t m, std::int64_t n, const T* a, std::int64_t lda, const T* x, T* y);

}  // namespace wp::kernels
