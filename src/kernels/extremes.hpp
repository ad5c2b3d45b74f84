// The largest and the smallest element; a NaN wins over every number.
#pragma once
#include "kernels/reduce.hpp"

namespace wp::kernels {

// Rows for integers, f32 and f64; the partial result is an element. Blocks may have any length.
const Reductions& maxima();
const Reductions& minima();

}  // namespace wp::kernels
