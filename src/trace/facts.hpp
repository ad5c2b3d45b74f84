// What a recording keeps of a tensor.
#pragma once
#include "trace/format.hpp"
#include "wellposed/tensor.hpp"

namespace wp::trace {

// dtype, shape, flags, and the range of at most 8 elements that are spread over it (floating-point dtypes).
void describe(const Tensor& t, Fact& to) noexcept;

}  // namespace wp::trace
