// Short measurements of this machine for `wellposed doctor`: best of several, in processor time of the thread (what
// other programs take does not count) unless said otherwise.
#pragma once
#include "wellposed/dtype.hpp"

namespace wp::cli {

// Cycles per second, from a chain of dependent additions of one cycle each.
double measure_clock();

// Floating-point operations per second of a product of n × n matrices, n = 384, on one thread: OpenBLAS's, and
// matmul's.
double measure_gemm();
double measure_matmul(DType dtype);
// matmul with n = 768 on all threads of the pool; wall-clock time.
double measure_matmul_threads();

struct Bandwidth {
  double read, copy;  // bytes per second on one thread; a copied byte counts twice (read and written)
};
Bandwidth measure_bandwidth();

}  // namespace wp::cli
