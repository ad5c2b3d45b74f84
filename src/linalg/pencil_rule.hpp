// Derivatives of the eigenvalues and eigenvectors of A x = λ B x, also where eigenvalues repeat.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

Tensors vjp_eigh_generalized(const Backward& b);  // outputs eigenvalues, eigenvectors
Tensors jvp_eigh_generalized(const Forward& f);

}  // namespace wp::linalg
