// Determinants as mantissa · 2^exponent: they leave the range of floats long before their matrices do.
#pragma once
#include "kernels/gemm.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

struct Determinant {
  std::complex<double> mantissa = 1;  // largest part in [1/2, 1), or 0: proved singular
  std::int64_t exponent = 0;
  Verdict verdict;
};
// By the factors; where those leave fewer than 9 digits: exact singularity is decided modulo primes, and matrices of
// up to 200 rows are eliminated in 113-bit arithmetic. `factored`: the system of a, if there is one already.
template <class T>
Determinant determinant(std::int64_t n, kernels::View<T> a, const System<T>* factored = nullptr);

}  // namespace wp::linalg
