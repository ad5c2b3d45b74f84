// Gradients of answers that rest on an inverse, where the matrix is ill-conditioned.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

// Keeps the diagnosis of a call with an ill-conditioned member for the way back.
void keep_conditions(const Call& c);
// Says what the condition leaves of the gradient's digits (WP-GRD-012); nothing where it leaves half of them or more.
void find_lost_digits(const Backward& b);

}  // namespace wp::linalg
