// Generated from the op table by tools/generate.py; edit the room, not this file.
// Utility functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct AllOptions {
  std::optional<Ints> axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// Whether all elements over axes are true (not zero; NaN is not zero). True for an empty run.
Tensor all(const In& x, const AllOptions& options = {}, std::source_location where = std::source_location::current());

struct AnyOptions {
  std::optional<Ints> axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// Whether any element over axes is true (not zero; NaN is not zero). False for an empty run.
Tensor any(const In& x, const AnyOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
