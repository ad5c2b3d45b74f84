// Generated from the op table by tools/generate.py; edit the room, not this file.
// Sorting functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct ArgsortOptions {
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  bool descending = false;  // From the largest to the smallest.
  bool stable = true;  // Equal elements keep their order; here they do in any case.
};
// The order that sorts x along an axis, as i64 places. NaN comes last, in both directions; -0 and 0 are equal.
Tensor argsort(const In& x, const ArgsortOptions& options = {}, std::source_location where = std::source_location::current());

struct SortOptions {
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
  bool descending = false;  // From the largest to the smallest.
  bool stable = true;  // Equal elements keep their order; here they do in any case.
};
// x sorted along an axis. NaN comes last, in both directions; -0 and 0 are equal.
Tensor sort(const In& x, const SortOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
