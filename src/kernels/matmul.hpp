// Products of matrices of any layout. Work is cut by shape; an element's bits depend on its row, its column and k
// only: not on threads, batch, position or layout. (With fused multiply-add they are the same on AVX2 and AVX-512.)
#pragma once
#include <cstdint>

#include "wellposed/dtype.hpp"
#include "wellposed/error.hpp"

namespace wp::kernels {

// A stack of matrices: element (i, j) of member b is data[Σ b·batch + i * rows + j * columns]; strides in elements.
struct Stack {
  const char* data;
  Dims batch;
  std::int64_t rows, columns;
};

// C[b] = A[b]·B[b] for every member of `batch`, A m × k, B k × n, C row-major. With `conjugate` A is conjugated (m =
// 1 or n = 1 only). Integers wrap around. Returns Status bits. dtype: i32, i64, u32, u64, f32, f64, c64 or c128.
std::uint32_t matmul(DType dtype, const Dims& batch, std::int64_t m, std::int64_t n, std::int64_t k, const Stack& a,
                     const Stack& b, char* c, bool conjugate = false);
// The dtype in which products of this one are computed.
DType product_dtype(DType dtype) noexcept;

}  // namespace wp::kernels
