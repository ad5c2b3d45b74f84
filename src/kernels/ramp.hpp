// Evenly spaced numbers.
#pragma once
#include <cstdint>

namespace wp::kernels {

// out[i] = start + (first + i)·step, rounded once.
void ramp(double* out, std::int64_t first, std::int64_t n, double start, double step);

// out[i] = ((parts − k)·start + k·stop) / parts with k = first + i, within 0.51 ulp. start and stop are finite;
// nothing in between overflows or loses digits.
void spread(double* out, std::int64_t first, std::int64_t n, double start, double stop, std::int64_t parts);

}  // namespace wp::kernels
