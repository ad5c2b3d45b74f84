// Slopes at kinks.
#pragma once
#include "ops/derivative.hpp"

namespace wp {

// straight: the function is, on both sides; one_sided: forward mode carries |dx| there, as that of |x| does.
enum class Kink : std::int64_t { curved = 0, straight = 1, one_sided = 2, both = 3 };

// slope · g, the cotangent of x, where `kink` marks elements at which the slope is one of many, as that of |x| at 0.
// Differentiated again it is not finite there: a cotangent g that vanishes at the kink (as of |x|²) has a share in
// the second derivative which a single slope does not show; another one leaves no second derivative, unless the
// function is straight. What a mask has dropped stays dropped. All four have the shape of x, or broadcast to it.
Tensor slope_times(const Backward& b, const Tensor& x, const Tensor& slope, const Tensor& kink, const Tensor& g,
                   Kink kind = Kink::curved);

}  // namespace wp
