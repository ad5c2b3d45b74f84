// Derivatives along a direction from values beside a point, for what forward mode cannot pass.
#pragma once
#include <optional>

#include "autodiff/forward.hpp"

namespace wp::autodiff {

// f(x), f′(x)·v, f″(x)·v·v, … up to `order` (1 … 8), as those of the polynomial through f at nine points x + t v, |t|
// ≤ 4h. h is made less until two points fewer would give the same, and more where rounding of f hides its slope; none
// where neither helps: f has a kink, or a pole too near. The first `batch` axes count members, each with an h of its
// own.
std::optional<std::vector<std::vector<Tensor>>> sampled_taylor(const Function& f, const std::vector<Tensor>& x,
                                                               const std::vector<Tensor>& v, int order,
                                                               std::size_t batch);
// Whether that asks now.
bool sampling() noexcept;

}  // namespace wp::autodiff
