// Index tensors and written values: what rooms that choose or replace elements share.
#pragma once
#include "ops/moves.hpp"

namespace wp {

// Whole numbers from 0 to length − 1 times `scale`, as contiguous i64: negative indices count from the end. Throws
// IndexError naming the first index that is out of range. `what` names the tensor, `axis` the axis it indexes.
Tensor positions(const Tensor& indices, std::int64_t length, std::string_view what, std::int64_t axis,
                 std::int64_t scale = 1);

// Throws IndexError for one of the indices: "indices[5] = 1000 <rule>". Blame finds where it came from.
[[noreturn]] void refuse_index(const Tensor& indices, std::int64_t element, std::string_view what,
                               std::string_view rule);

// `value` as dtype `to`, for writing into a tensor of that dtype: numbers may lose digits but not their kind. Throws
// DtypeError for a real value in an integer tensor (and so on), DomainError for an integer that does not fit. Sets
// the nonfinite bit when a finite value became Inf.
Tensor value_for(const Tensor& value, DType to, std::string_view what, simd::Status& status);

// x as another dtype, row-major; x itself when it is that already.
Tensor converted(const Tensor& x, DType to);

// The element of an array of this shape that stands at `index` after broadcasting (axes are matched from the last).
std::int64_t broadcast_element(const Dims& index, const Dims& shape);

// The axis given by an optional attribute; without it x must have one axis.
std::int64_t axis_or_only(const Attr& axis, const Tensor& x);

}  // namespace wp
