// Jacobians and Hessians from a tape.
#pragma once
#include "autodiff/tape.hpp"

namespace wp::autodiff {

// Row k of the identity in the shape of y.
Tensor unit(const Tensor& y, std::int64_t k);

Tensor jacobian(Tape& tape, const Request& r);
Tensor batch_jacobian(Tape& tape, const Request& r);
Tensor hessian(Tape& tape, const Request& r);

}  // namespace wp::autodiff
