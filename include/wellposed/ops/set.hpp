// Generated from the op table by tools/generate.py; edit the room, not this file.
// Set functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct UniqueAllResult {
  Tensor values, indices, inverse_indices, counts;
};
// The distinct elements of x in ascending order (complex: by real, then imaginary part); where each first occurs in
// the flattened x; for each element of x the place of its value; and how often each occurs. Each NaN is distinct and
// comes last; -0 and 0 are one value, the one that occurs first. x: Taken flattened.
UniqueAllResult unique_all(const In& x, std::source_location where = std::source_location::current());

struct UniqueCountsResult {
  Tensor values, counts;
};
// The distinct elements of x in ascending order, and how often each occurs; as unique_all. x: Taken flattened.
UniqueCountsResult unique_counts(const In& x, std::source_location where = std::source_location::current());

struct UniqueInverseResult {
  Tensor values, inverse_indices;
};
// The distinct elements of x in ascending order, and for each element of x the place of its value; as unique_all. x:
// Taken flattened.
UniqueInverseResult unique_inverse(const In& x, std::source_location where = std::source_location::current());

// The distinct elements of x in ascending order; as unique_all. x: Taken flattened.
Tensor unique_values(const In& x, std::source_location where = std::source_location::current());

}  // namespace wp
