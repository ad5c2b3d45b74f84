// Cholesky factors A = L Lᴴ of Hermitian positive definite matrices, and what follows from them. Bit-equal for any
// number of threads. T: float, double, complex64, complex128.
#pragma once
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// L in the place of A's lower triangle; the upper one is neither read nor written, nor are imaginary parts of the
// diagonal read. For A = UᴴU from the upper triangle give the transposed view: it then holds U. Returns the first
// pivot that is not positive (or NaN), where the factorisation stopped, or −1.
template <class T>
std::int64_t cholesky_factor(std::int64_t n, MutableView<T> a);

// A X = B in place (X, n × columns, holds B) from the factor L.
template <class T>
void cholesky_solve(std::int64_t n, std::int64_t columns, View<T> l, MutableView<T> x);

// The same for X [n][kFew] (kernels/few.hpp). T: float, double.
template <class T>
void cholesky_solve_few(std::int64_t n, View<T> l, T* x);

// A⁻¹ = L⁻ᴴ L⁻¹, both triangles, rows `row` numbers apart, from the factor L. May not overlap it.
template <class T>
void cholesky_inverse(std::int64_t n, View<T> l, T* inverse, std::int64_t row);

}  // namespace wp::kernels
