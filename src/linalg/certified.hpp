// Proved error bounds of solutions (kernels/certify.hpp).
#pragma once
#include <optional>

#include "kernels/gemm.hpp"

namespace wp::linalg {

// At least max |x − X| / max |X| over each column of the exact solution x of A x = B, the largest over all columns; B
// n × k. None: it could not be proved that A is non-singular, or a column of X is 0 and its error is not.
template <class T>
std::optional<double> certified_error(std::int64_t n, std::int64_t k, kernels::View<T> a, kernels::View<T> b,
                                      kernels::View<T> x);

// The same for the X that minimises ‖A X − B‖² + λ‖X‖², A m × n; with λ = 0 of an A of full rank, the shortest X of a
// wide one: by a system of m + n rows, which is singular if A has not. `least`: about its least singular value.
template <class T>
std::optional<double> certified_least_squares(std::int64_t m, std::int64_t n, std::int64_t k, kernels::View<T> a,
                                              kernels::View<T> b, kernels::View<T> x, double ridge, double least);

}  // namespace wp::linalg
