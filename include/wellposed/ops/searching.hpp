// Generated from the op table by tools/generate.py; edit the room, not this file.
// Searching functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct ArgmaxOptions {
  std::optional<std::int64_t> axis = std::nullopt;  // The axis; none: all elements, flattened.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// Where the largest element is along an axis, as i64: the first of equals, and of NaN if there is one.
Tensor argmax(const In& x, const ArgmaxOptions& options = {}, std::source_location where = std::source_location::current());

struct ArgminOptions {
  std::optional<std::int64_t> axis = std::nullopt;  // The axis; none: all elements, flattened.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// Where the smallest element is along an axis, as i64: the first of equals, and of NaN if there is one.
Tensor argmin(const In& x, const ArgminOptions& options = {}, std::source_location where = std::source_location::current());

struct CountNonzeroOptions {
  OptionalInts axis = std::nullopt;  // Axes to reduce; none: all of them.
  bool keepdims = false;  // Keep reduced axes with length 1.
};
// The number of elements over axes that are not zero, as i64. NaN counts.
Tensor count_nonzero(const In& x, const CountNonzeroOptions& options = {}, std::source_location where = std::source_location::current());

// The places of the elements that are not zero, in row-major order: one i64 tensor of indices per axis of x. How
// many there are depends on the values. x: At least 1-d.
Tensors nonzero(const In& x, std::source_location where = std::source_location::current());

struct SearchsortedOptions {
  std::string_view side = "left";  // Before or after equal elements.
};
// For each element v of x2 the place in the sorted x1 where it could be inserted, as i64: side 'left' gives i with
// x1[i-1] < v <= x1[i], 'right' x1[i-1] <= v < x1[i]. NaN counts as larger than every number. x1: 1-d, in ascending
// order (unless sorter is given); not checked. x2: The values to place. sorter: The order that sorts x1:
// argsort(x1).
Tensor searchsorted(const In& x1, const In& x2, const In& sorter = std::nullopt, const SearchsortedOptions& options = {}, std::source_location where = std::source_location::current());

// x1 where condition is true, x2 elsewhere, element by element. What is not chosen has no part in the result, its
// Inf and NaN included.
Tensor where(const In& condition, const In& x1, const In& x2, std::source_location where = std::source_location::current());

}  // namespace wp
