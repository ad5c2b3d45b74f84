// Walks arrays of any layout and dtype and feeds contiguous pieces to an inner loop.
#pragma once
#include <cstdint>

#include "simd/loop.hpp"
#include "wellposed/error.hpp"

namespace wp::kernels {

inline constexpr std::int64_t kGrain = 32768;  // elements per piece of parallel work
inline constexpr int kMaxOperands = 5;

struct Operand {
  char* data;
  DType dtype;       // as stored
  DType loop_dtype;  // as the inner loop wants it
  Dims strides;      // over the common shape, in elements; 0 where broadcast
};

// Runs fn over `shape`. The last operand is the output: row-major, maybe of another dtype than the loop's.
std::uint32_t walk(const Dims& shape, Operand* operands, int count, simd::Inner fn);

// Copies n elements of a strided array, starting at row-major position `start`, to dst as dtype `to`.
void gather(char* dst, DType to, const char* src, DType from, const Dims& shape, const Dims& strides,
            std::int64_t start, std::int64_t n);

// Joins neighbouring axes that all operands cross with one stride, and drops axes of length 1.
void coalesce(Dims& shape, Dims* const* strides, int count);

}  // namespace wp::kernels
