// Generated from the op table by tools/generate.py; edit the room, not this file.
// Utility functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct AllOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// Whether all elements over axes are true (not zero; NaN is not zero). True for an empty run.
Tensor all(const In& x, const AllOptions& options = {}, std::source_location where = std::source_location::current());

struct AnyOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// Whether any element over axes is true (not zero; NaN is not zero). False for an empty run.
Tensor any(const In& x, const AnyOptions& options = {}, std::source_location where = std::source_location::current());

struct DiffOptions {
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  std::int64_t n = 1;  // How often differences are taken.
};
// The differences x[i+1] - x[i] along an axis, taken n times. Integers wrap around. prepend: Stands before x along
// the axis. append: Stands after x along the axis.
Tensor diff(const In& x, const In& prepend = std::nullopt, const In& append = std::nullopt, const DiffOptions& options = {}, std::source_location where = std::source_location::current());

// x itself, as a constant: nothing that is differentiated sees what it was computed from. A view.
Tensor stop_gradient(const In& x, std::source_location where = std::source_location::current());

}  // namespace wp
