// Looks for Inf and NaN.
#pragma once
#include <cstdint>

#include "wellposed/dtype.hpp"

namespace wp::kernels {
// Whether any of n contiguous elements is Inf or NaN. Runs at the speed of memory.
bool any_nonfinite(DType dtype, const void* data, std::int64_t n);
// The first such element at or after `from`, or −1.
std::int64_t first_nonfinite(DType dtype, const void* data, std::int64_t from, std::int64_t n);
}  // namespace wp::kernels
