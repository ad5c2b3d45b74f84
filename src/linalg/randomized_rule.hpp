// The derivative of randomized_svd: of the computation that ran, its draws held fixed.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

// How a member came about, as its derivative sees it (randomized_rule.cpp).
enum class Sketch : std::int64_t { range, whole, whole_but_turning };

// Residuals: Ω and a Sketch of each member; none: the basis spans whatever A does.
Tensors vjp_randomized_svd(const Backward& b);
Tensors jvp_randomized_svd(const Forward& f);

}  // namespace wp::linalg
