// Exponentials of stacks of small real matrices.
#pragma once
#include "kernels/batched/lanes.hpp"

namespace wp::kernels::batched {

// X = exp(A). In doubt are norms beyond 600, answers that grow and shrink again on their way (far from normal), and
// triangular matrices that are squared, whose diagonals are known better. Answers beyond the range of T are to be
// told, also of norms up to 2²⁰.
template <class T>
void exponential(std::int64_t n, Source<T> a, Range range, T* x, Marks marks);

}  // namespace wp::kernels::batched
