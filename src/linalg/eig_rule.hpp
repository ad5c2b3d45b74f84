// Derivatives of the eigenvalues and right eigenvectors of matrices that need not be Hermitian.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

Tensors vjp_eig(const Backward& b);  // outputs eigenvalues, eigenvectors
Tensors vjp_eigvals(const Backward& b);

}  // namespace wp::linalg
