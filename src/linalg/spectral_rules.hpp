// Derivatives of svd and eigh, also where values repeat or vanish.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

Tensors vjp_svd(const Backward& b);   // outputs U, S, Vh
Tensors vjp_eigh(const Backward& b);  // outputs eigenvalues, eigenvectors
Tensors jvp_svd(const Forward& f);
Tensors jvp_eigh(const Forward& f);
// Of values alone: the vectors are computed now.
Tensors vjp_svdvals(const Backward& b);
Tensors vjp_eigvalsh(const Backward& b);
Tensors jvp_svdvals(const Forward& f);
Tensors jvp_eigvalsh(const Forward& f);

}  // namespace wp::linalg
