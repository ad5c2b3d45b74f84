// σ₁/σₙ of a matrix as it is given, and how good it is.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/gemm.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// mantissa · 2^exponent: it may be beyond the range of double.
struct ConditionNumber {
  double mantissa, error;  // error: relative, at most 1, which means that no digit is sure
  int exponent = 0;
  bool by_elimination = false;
  double value() const { return std::ldexp(mantissa, exponent); }
  double log10() const { return std::log10(mantissa) + exponent * M_LN2 / M_LN10; }
};

// Of an m × n matrix that is not proved singular. scaled_sigma: its singular values, times a power of two. Each is
// off by a bound in σ₁; where that leaves σₙ an error above `enough`, ‖A‖₂‖A⁻¹‖₂ comes from 113-bit elimination
// (square matrices of up to kQuadLargest rows). T: float, double, complex64, complex128.
inline constexpr double kEnough = 1e-6;  // of a condition that is an answer
template <class T>
ConditionNumber condition_number(std::int64_t m, std::int64_t n, kernels::View<T> a,
                                 const std::vector<double>& scaled_sigma, double enough);
// As an answer in `dtype`: the value, and the verdict of it.
template <class T>
double conclude_condition(const ConditionNumber& found, std::int64_t longest, DType dtype, Verdict& v);

}  // namespace wp::linalg
