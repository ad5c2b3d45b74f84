// Generated from the op table by tools/generate.py; edit the room, not this file.
// Manipulation functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// Each array repeated to the common shape of all of them, without copying: views.
Tensors broadcast_arrays(const Tensors& arrays, std::source_location where = std::source_location::current());

// x repeated to a larger shape, without copying: a view. shape: The shape of the result; x's axes are matched with
// it from the last.
Tensor broadcast_to(const In& x, const Ints& shape, std::source_location where = std::source_location::current());

struct ConcatOptions {
  std::optional<std::int64_t> axis = 0;  // The axis to join along; none: arrays are flattened first.
};
// Arrays joined along an axis they have. Different dtypes are promoted to a common one.
Tensor concat(const Tensors& arrays, const ConcatOptions& options = {}, std::source_location where = std::source_location::current());

struct ExpandDimsOptions {
  Ints axis = {0};  // Where the new axes stand in the result.
};
// x with new axes of length 1; a view.
Tensor expand_dims(const In& x, const ExpandDimsOptions& options = {}, std::source_location where = std::source_location::current());

struct FlipOptions {
  OptionalInts axis = std::nullopt;  // Axes to reverse; none: all of them.
};
// x with the order of elements reversed along axes; a view.
Tensor flip(const In& x, const FlipOptions& options = {}, std::source_location where = std::source_location::current());

// The transpose of a matrix, or of each matrix of a stack (the last two axes change places); a view.
Tensor matrix_transpose(const In& x, std::source_location where = std::source_location::current());

// x with some axes at other positions; the others keep their order. A view. source: The axes to move. destination:
// Where they stand in the result.
Tensor moveaxis(const In& x, const Ints& source, const Ints& destination, std::source_location where = std::source_location::current());

// x with its axes in another order; a view. axes: The order: result axis i is axis axes[i] of x.
Tensor permute_dims(const In& x, const Ints& axes, std::source_location where = std::source_location::current());

struct RepeatOptions {
  std::optional<std::int64_t> axis = std::nullopt;  // The axis; none: x is flattened.
};
// x with each element along an axis repeated. repeats: How often: one number, or one per element along the axis.
Tensor repeat(const In& x, const In& repeats, const RepeatOptions& options = {}, std::source_location where = std::source_location::current());

struct ReshapeOptions {
  std::optional<bool> copy = std::nullopt;  // true: always copy; false: refuse when a view is impossible; none: copy when needed.
};
// The elements of x in row-major order, in another shape; a view when x's strides allow it. shape: The new shape;
// one length may be -1 and follows from the others.
Tensor reshape(const In& x, const Ints& shape, const ReshapeOptions& options = {}, std::source_location where = std::source_location::current());

struct RollOptions {
  OptionalInts axis = std::nullopt;  // Axes to move along; none: x is flattened, rolled and given its shape back.
};
// x with its elements moved along axes; what leaves at one end enters at the other. shift: How far: positive towards
// larger indices. One number, or one per axis.
Tensor roll(const In& x, const Ints& shift, const RollOptions& options = {}, std::source_location where = std::source_location::current());

// x without the named axes, each of which has length 1; a view. axis: The axes to drop.
Tensor squeeze(const In& x, const Ints& axis, std::source_location where = std::source_location::current());

struct StackOptions {
  std::int64_t axis = 0;  // Where the new axis stands in the result.
};
// Arrays of one shape joined along a new axis. Different dtypes are promoted to a common one.
Tensor stack(const Tensors& arrays, const StackOptions& options = {}, std::source_location where = std::source_location::current());

// Copies of x side by side along its axes. repetitions: How often along each axis, matched from the last; what is
// missing is 1.
Tensor tile(const In& x, const Ints& repetitions, std::source_location where = std::source_location::current());

struct TrilOptions {
  std::int64_t k = 0;  // The last diagonal that is kept: 0 the main one, k > 0 above it.
};
// The lower triangle of a matrix, or of each matrix of a stack; zeros elsewhere.
Tensor tril(const In& x, const TrilOptions& options = {}, std::source_location where = std::source_location::current());

struct TriuOptions {
  std::int64_t k = 0;  // The first diagonal that is kept: 0 the main one, k > 0 above it.
};
// The upper triangle of a matrix, or of each matrix of a stack; zeros elsewhere.
Tensor triu(const In& x, const TriuOptions& options = {}, std::source_location where = std::source_location::current());

struct UnstackOptions {
  std::int64_t axis = 0;  // The axis that goes.
};
// The slices of x along an axis, one array each; views.
Tensors unstack(const In& x, const UnstackOptions& options = {}, std::source_location where = std::source_location::current());

}  // namespace wp
