// Templates over numbers are instantiated for these.
#pragma once
#include <complex>
#define WP_FOR_FLOATS(INSTANTIATE) \
  INSTANTIATE(float)               \
  INSTANTIATE(double)              \
  INSTANTIATE(std::complex<float>) \
  INSTANTIATE(std::complex<double>)
