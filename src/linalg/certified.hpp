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

}  // namespace wp::linalg
