// Jacobians and Hessians from a tape.
#pragma once
#include "autodiff/tape.hpp"

namespace wp::autodiff {

Tensor jacobian(Tape& tape, const Request& r);
Tensor batch_jacobian(Tape& tape, const Request& r);
Tensor hessian(Tape& tape, const Request& r);

}  // namespace wp::autodiff
