// Short measurements of this machine for `wellposed doctor`: best of several, in processor time of the thread (what
// other programs take does not count) unless said otherwise.
#pragma once

namespace wp::cli {

// Cycles per second, from a chain of dependent additions of one cycle each.
double measure_clock();

// Floating-point operations per second of C = A·B with n = 384.
template <class T>
double measure_gemm();
// The same on n threads of the pool at once; wall-clock time.
double measure_gemm_threads(int n);

struct Bandwidth {
  double read, copy;  // bytes per second on one thread; a copied byte counts twice (read and written)
};
Bandwidth measure_bandwidth();

}  // namespace wp::cli
