// Determinants as mantissa · 2^exponent: they leave the range of floats long before their matrices do.
#pragma once
#include <cmath>

#include "kernels/gemm.hpp"
#include "linalg/system.hpp"

namespace wp::linalg {

struct Determinant {
  std::complex<double> mantissa = 1;  // largest part in [1/2, 1), or 0: proved singular
  std::int64_t exponent = 0;
  double log = -HUGE_VAL;  // log|det|, as exact beside 0 as elsewhere
  Verdict verdict;         // of det
};
// What becomes of the verdict where the logarithm is the answer: log|det| is off by the relative error of det, which
// near |det| = 1 is much beside it, or more than all of it (an infinite error). That is told by its digits. Finding
// is made of it where it is much beside 1 too: nobody needs digits of the 0 that a rotation has. `u`: of the result.
void judge_log(double log, double u, Verdict& v);
// By the factors; where those leave fewer than 9 digits: exact singularity is decided modulo primes, and matrices of
// up to 200 rows are eliminated in 113-bit arithmetic. `factored`: the system of a, if there is one already.
template <class T>
Determinant determinant(std::int64_t n, kernels::View<T> a, const System<T>* factored = nullptr);

}  // namespace wp::linalg
