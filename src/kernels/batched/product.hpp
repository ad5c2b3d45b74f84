// Products of stacks of small real matrices. Bits are those of kernels/gemm.hpp.
#pragma once
#include "kernels/batched/lanes.hpp"

namespace wp::kernels::batched {

// C = A·B for members of a range, A m × k, B k × n; results follow each other in c. All of m, n, k are in
// 1 … kLargest. Returns whether all of C is finite. T: float, double.
template <class T>
bool product(std::int64_t m, std::int64_t n, std::int64_t k, Source<T> a, Source<T> b, Range range, T* c);

}  // namespace wp::kernels::batched
