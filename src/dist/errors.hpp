// How good answers from singular values are, column by column: a small column beside a large one has a verdict of its
// own.
#pragma once
#include "dist/spectral.hpp"

namespace wp::dist {

// Of X, the shortest that minimises ‖A X − B‖ by the first `kept` singular values, or with a ridge; B null: the
// identity. Relative to the largest element of the worst column; by the bounds that linalg has of them, with the
// residual in working precision. Collective.
template <class T>
double truncated_error(const Matrix& a, const Spectral<T>& svd, std::int64_t kept, const Matrix* b, const Matrix& x);
template <class T>
double ridge_error(const Matrix& a, const Spectral<T>& svd, double ridge, const Matrix* b, const Matrix& x);

}  // namespace wp::dist
