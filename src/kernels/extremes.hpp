// The largest and the smallest element; a NaN wins over every number.
#pragma once
#include "kernels/reduce.hpp"

namespace wp::kernels {

// Rows for integers, f32 and f64; the partial result is an element. Blocks may have any length.
const Reductions& maxima();
const Reductions& minima();

// The first place of the largest (or smallest) of n ≥ 1 elements; of the first NaN if there is one. Integers, f32,
// f64.
std::int64_t find_extreme(DType dtype, bool largest, const void* x, std::int64_t n);

}  // namespace wp::kernels
