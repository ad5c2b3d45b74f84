// Second derivatives that are what is left of terms that cancel.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "ops/derivative.hpp"

namespace wp::linalg {

// x with other last digits, the same for every call with this seed.
Tensor rounded_otherwise(const Tensor& x, std::uint64_t seed);
// "about 4 of 15", or "none": the digits that a relative error of this size leaves.
std::string digits_left(double error, DType dtype);
// What rounding leaves of a second derivative of this size, as measured by three with other last digits, member by
// member of a stack (WP-GRD-012); nothing where that is six digits or more, three in f32.
std::optional<Finding> cancelled(const Tensor& size, std::span<const Tensor, 3> rounded);
// The size of a derivative, member by member.
Tensor derivative_size(const Tensor& x);
// The same of a rule's answer, suspected where rounding of the cotangents, divided by the `least` denominator, is
// large beside the `size` of what was found, and then measured: the way back decides (Backward::suspect). All […, 1,
// 1].
void find_cancelled(const Backward& b, const Tensor& cotangents, const Tensor& least, const Tensor& size);

}  // namespace wp::linalg
