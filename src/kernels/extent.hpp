// The least and the largest element of contiguous memory in one pass, with NaN left out.
#pragma once
#include <cstdint>

namespace wp::kernels {

template <class T>
struct Extent {
  T low, high;  // low > high: there is no number (floats: +inf and −inf)
  bool nan;     // a NaN was there
};
// T: integers, float, double.
template <class T>
Extent<T> extent(const T* x, std::int64_t n);

}  // namespace wp::kernels
