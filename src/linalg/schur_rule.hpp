// Derivatives of the Schur form A = Z T Zᴴ.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

Tensors vjp_schur(const Backward& b);  // outputs T, Z
Tensors jvp_schur(const Forward& f);

}  // namespace wp::linalg
