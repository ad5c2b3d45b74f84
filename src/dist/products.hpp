// Products of distributed matrices, as ops that differentiate.
#pragma once
#include "dist/matrix.hpp"
#include "ops/op.hpp"

namespace wp::dist {

// factor · op(A) · op(B), op the conjugate transpose where asked for.
Matrix product(double factor, const Matrix& a, bool adjoint_a, const Matrix& b, bool adjoint_b, const Place& place);
// g · A for a real number g that every rank has.
Matrix scaled_by(const Tensor& g, const Matrix& a, const Place& place);
// α A + β B.
Matrix combined(double alpha, const Matrix& a, double beta, const Matrix& b, const Place& place);

}  // namespace wp::dist
