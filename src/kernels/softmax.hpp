// softmax, log_softmax and logsumexp of contiguous lines.
#pragma once
#include "kernels/reduce.hpp"

namespace wp::kernels {

// `count` lines of n elements each, dtype f32 or f64:
//   y = exp(x − m) / Σ exp(x − m)   or, with `log`,   y = (x − m) − log Σ exp(x − m),   m = max x.
void softmax(DType dtype, bool log, const void* x, void* y, std::int64_t count, std::int64_t n);

// The cotangent of x from that of y = log softmax x: g (1 − e^y) − e^y (Σ g − g). Lines of 1 to kSoftmaxBack
// elements.
inline constexpr std::int64_t kSoftmaxBack = 2048;
void log_softmax_back(DType dtype, const void* y, const void* g, void* out, std::int64_t count, std::int64_t n);

// log Σ exp x as a reduction of f32 and f64.
const Reductions& log_sums();

}  // namespace wp::kernels
