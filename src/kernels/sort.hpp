// Sorting one line. The order is stable; NaN comes last in both directions; −0 and +0 are alike.
#pragma once
#include <cstdint>

#include "wellposed/dtype.hpp"

namespace wp::kernels {

// y = x sorted. Real dtypes and bool.
void sort_line(DType dtype, const void* x, void* y, std::int64_t n, bool descending);
// The order: x[order[0]], x[order[1]], … is sorted. Complex numbers by real part, then imaginary part.
void argsort_line(DType dtype, const void* x, std::int64_t* order, std::int64_t n, bool descending);

}  // namespace wp::kernels
