// Copies elements of one dtype between layouts. Large copies run in parallel; transposed ones go by blocks.
#pragma once
#include <cstddef>
#include <cstdint>

#include "wellposed/error.hpp"

namespace wp::kernels {

// dst[Σ i·to] = src[Σ i·from] over `shape`; strides in elements of `item` bytes (1, 2, 4, 8 or 16). Any strides may
// be negative; those of src may be 0. The memories do not overlap.
void copy(char* dst, const Dims& to, const char* src, const Dims& from, const Dims& shape, std::size_t item);

// n elements of `item` bytes, each the bytes at `value`.
void fill(char* dst, const void* value, std::size_t item, std::int64_t n);

}  // namespace wp::kernels
