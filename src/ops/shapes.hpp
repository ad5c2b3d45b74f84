// Shape rules that many rooms share.
#pragma once
#include "ops/op.hpp"

namespace wp {

// The common shape of two shapes (NumPy's rule); throws ShapeError naming the axis.
Dims broadcast(const Dims& a, const Dims& b);
// Whether a shape broadcasts to another.
bool broadcasts_to(const Dims& from, const Dims& to) noexcept;
// Strides of t over a larger shape: 0 where it repeats.
Dims broadcast_strides(const Tensor& t, const Dims& shape);
// −1 counts from the end; throws IndexError naming the range.
std::int64_t normal_axis(std::int64_t axis, std::int64_t ndim);
// Axes of a reduction as flags; none means all. Throws on repeats.
SmallVector<bool, 8> reduced_axes(const Attr& axis, std::int64_t ndim);
// The shape after reducing them.
Dims reduced_shape(const Dims& shape, const SmallVector<bool, 8>& reduced, bool keepdims);
// The common dtype of the arguments that take part in promotion. Weak scalars adapt to arrays: an integer stays with
// float arrays' dtype, a float with an integer array gives f64, a complex number makes a float array complex.
DType common_dtype(const Call& c);

}  // namespace wp
