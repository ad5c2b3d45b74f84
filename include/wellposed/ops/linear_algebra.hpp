// Generated from the op table by tools/generate.py; edit the room, not this file.
// Linear algebra functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// Sums products of elements over indices: 'ij,jk->ik' is a matrix product. An index that is not in the result is
// summed over; an index that is twice in one operand takes its diagonal; '...' stands for axes that broadcast.
// Without '->' the result has the indices that occur once, in alphabetical order. Operands are multiplied in the
// order that costs least. Integers wrap around. subscripts: The indices of each operand, separated by commas, then
// '->' and those of the result.
Tensor einsum(std::string_view subscripts, const Tensors& operands, std::source_location where = std::source_location::current());

// The product of two matrices, or of stacks of them (leading axes broadcast); a 1-d argument is a row (x1) or a
// column (x2). The bits of a result element depend on its row and its column only: not on threads, batch or layout.
// Integers wrap around.
Tensor matmul(const In& x1, const In& x2, std::source_location where = std::source_location::current());

struct TensordotOptions {
  std::int64_t axes = 2;  // How many: the last ones of x1 with the first ones of x2, in order.
  OptionalInts x1_axes = std::nullopt;  // The axes of x1, instead of a number of axes.
  OptionalInts x2_axes = std::nullopt;  // The axes of x2 they are paired with.
};
// Sums products of elements of x1 and x2 over pairs of axes; the result has the other axes of x1, then those of x2.
// Nothing is conjugated. Integers wrap around.
Tensor tensordot(const In& x1, const In& x2, const TensordotOptions& options = {}, std::source_location where = std::source_location::current());

struct VecdotOptions {
  std::int64_t axis = -1;  // The axis of the vectors in both.
};
// The dot product Σ conj(x1)·x2 of vectors along an axis; the other axes broadcast. Integers wrap around.
Tensor vecdot(const In& x1, const In& x2, const VecdotOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
