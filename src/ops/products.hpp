// Products over axes: what matmul, vecdot, tensordot and einsum share.
#pragma once
#include "kernels/matmul.hpp"
#include "ops/op.hpp"
#include "ops/shapes.hpp"

namespace wp {

// x in this dtype: x itself, or a row-major copy.
Tensor brought(const Tensor& x, DType dtype);

// A factor of a product: x with its axes put into three groups, of which rows and columns each act as one axis.
struct Factor {
  Tensor holder;  // owns the memory: x, or a copy where a group has no single stride
  kernels::Stack stack;
};
Factor factor(const Tensor& x, const Dims& batch_axes, const Dims& row_axes, const Dims& column_axes);

// y = a·b over the batch; a and b are of product_dtype(y's dtype). Adds to the call's status.
void multiply(Call& c, const Tensor& y, const Dims& batch, std::int64_t m, std::int64_t n, std::int64_t k,
              const kernels::Stack& a, const kernels::Stack& b, bool conjugate = false);

// Samples: whole numbers and halves, small enough that every result is exact in every dtype.
Tensor small_numbers(DType dtype, const Dims& shape, int start = 0);

}  // namespace wp
