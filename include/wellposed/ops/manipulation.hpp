// Generated from the op table by tools/generate.py; edit the room, not this file.
// Manipulation functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// x with its axes in another order; a view. axes: The order: result axis i is axis axes[i] of x.
Tensor permute_dims(const In& x, const Ints& axes, std::source_location where = std::source_location::current());

}  // namespace wp
