// Slopes at kinks.
#pragma once
#include "ops/derivative.hpp"

namespace wp {

// slope · g, the cotangent of x, where `kink` marks elements at which the slope is one of many, as that of |x| at 0.
// Differentiated again it is not finite there: a cotangent g that vanishes at the kink (as of |x|²) has a share in
// the second derivative which a single slope does not show; another one leaves no second derivative, unless the
// function is `straight` on both sides. What a mask has dropped stays dropped. All four have the shape of x, or
// broadcast to it.
Tensor slope_times(const Backward& b, const Tensor& x, const Tensor& slope, const Tensor& kink, const Tensor& g,
                   bool straight = false);

}  // namespace wp
