// Triangular systems and inverses by substitution, cut recursively into products. Bit-equal for any number of
// threads; a right-hand side's bits do not depend on those beside it (but one alone is solved as a vector).
#pragma once
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// The triangle of a matrix that is read; with `unit` its diagonal counts as ones and is not read.
struct Triangle {
  bool upper, unit;
};

// op(A) X = B in place: X (n × columns) holds B. op is the view's: its transpose, its conjugate. Zeros on the
// diagonal give Inf and NaN. The computed X solves (A + ΔA) X = B with |ΔA| ≤ γ |A| elementwise (Higham 2002,
// theorem 8.5). T: float, double, complex64, complex128.
template <class T>
void solve_triangular(Triangle triangle, std::int64_t n, std::int64_t columns, View<T> a, MutableView<T> x);

// A⁻¹ in the place of A; the other triangle (and a unit diagonal) is left alone. n³/3 multiply-adds.
template <class T>
void invert_triangular(Triangle triangle, std::int64_t n, MutableView<T> a);

}  // namespace wp::kernels
