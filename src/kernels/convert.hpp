// Moves elements between dtypes and layouts.
#pragma once
#include <cstdint>

#include "wellposed/dtype.hpp"

namespace wp::kernels {

// dst[i] = src[i * stride] converted, i < n; stride in elements (0 repeats one element). Out-of-range float → integer
// conversions must have been refused before (first_unfit).
void convert(void* dst, DType to, const void* src, DType from, std::int64_t stride, std::int64_t n);
// The first i for which src[i * stride] has no value in the integer type `to` (NaN, Inf, out of range; integers too),
// or −1.
std::int64_t first_unfit(DType to, const void* src, DType from, std::int64_t stride, std::int64_t n);

// Round to nearest, ties to even; NaN stays NaN.
std::uint16_t half_bits(float v) noexcept;
float half_value(std::uint16_t bits) noexcept;
std::uint16_t bfloat16_bits(float v) noexcept;
float bfloat16_value(std::uint16_t bits) noexcept;

}  // namespace wp::kernels
