// Triangular systems with one right-hand side, and with up to four that go side by side: the matrix is read once for
// all. Errors are bounded as those of solve_triangular. T: float, double.
#pragma once
#include <cstdint>

#include "kernels/gemm.hpp"
#include "kernels/triangular.hpp"

namespace wp::kernels {

inline constexpr std::int64_t kFew = 4;

// A X = B in place, X [n][kFew] holds B; A in any layout, read along its smaller stride. A right-hand side's bits do
// not depend on those beside it.
template <class T>
void solve_few(Triangle triangle, std::int64_t n, View<T> a, T* x);

// A x = b in place; one of A's strides must be 1.
template <class T>
void solve_one(Triangle triangle, std::int64_t n, View<T> a, T* x);

}  // namespace wp::kernels
