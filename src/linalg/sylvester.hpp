// A X + X B = C by Schur forms (Bartels & Stewart 1972).
#pragma once
#include "kernels/gemm.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// A m × m, B n × n; X (row-major m × n) holds C and becomes the answer. rcond compares sep(A, −B), estimated in the
// 1-norm of the operator X ↦ A X + X B, with ‖A‖ + ‖B‖; it is 0 where they have a common eigenvalue.
// T: float, double, complex64, complex128.
template <class T>
Verdict sylvester(std::int64_t m, std::int64_t n, kernels::View<T> a, kernels::View<T> b, T* x,
                  const Options& options);

}  // namespace wp::linalg
