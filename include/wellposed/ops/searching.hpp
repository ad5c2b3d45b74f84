// Generated from the op table by tools/generate.py; edit the room, not this file.
// Searching functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct CountNonzeroOptions {
  std::optional<Ints> axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// The number of elements over axes that are not zero, as i64. NaN counts.
Tensor count_nonzero(const In& x, const CountNonzeroOptions& options = {}, std::source_location where = std::source_location::current());

// x1 where condition is true, x2 elsewhere, element by element. What is not chosen has no part in the result, its
// Inf and NaN included.
Tensor where(const In& condition, const In& x1, const In& x2, std::source_location where = std::source_location::current());

}  // namespace wp
