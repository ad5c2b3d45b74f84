// Generated from the op table by tools/generate.py; edit the room, not this file.
// Statistical functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct SumOptions {
  std::optional<Ints> axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
  std::optional<DType> dtype = std::nullopt;  // The dtype of the sum.
};
// The sum of elements over axes. Floats are added pairwise: the error grows with log n. Integers give i64 or u64.
Tensor sum(const In& x, const SumOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
