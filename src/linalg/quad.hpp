// Gaussian elimination in 113-bit arithmetic, for matrices whose condition leaves too few digits in double.
#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/gemm.hpp"
#include "wellposed/dtype.hpp"

namespace wp::linalg {

using Quad = __float128;
inline constexpr double kQuadRoundOff = 0x1p-113;
inline constexpr std::int64_t kQuadLargest = 200;  // rows: about 0.2 s

struct ComplexQuad {
  Quad re = 0, im = 0;
  ComplexQuad operator*(const ComplexQuad& b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
  ComplexQuad operator-(const ComplexQuad& b) const { return {re - b.re, im - b.im}; }
  ComplexQuad operator/(const ComplexQuad& b) const {
    const Quad s = b.re * b.re + b.im * b.im;
    return {(re * b.re + im * b.im) / s, (im * b.re - re * b.im) / s};
  }
};

// P Â = L U with partial pivoting, of the equilibrated matrix Â = 2^rows · A · 2^columns. T: float, double,
// complex64, complex128.
template <class T>
class QuadLu {
 public:
  using Number = std::conditional_t<kernels::RealOf<T>::parts == 2, ComplexQuad, Quad>;
  QuadLu(std::int64_t n, kernels::View<T> a);

  bool zero_pivot() const noexcept { return zero_pivot_; }
  // 1/(‖Â‖₁‖Â⁻¹‖₁), estimated.
  double rcond() const noexcept { return rcond_; }
  // Of solutions, relative to their largest element, and of the determinant; before they are rounded.
  double error() const { return static_cast<double>(m_.size()) * growth_ * kQuadRoundOff / std::max(rcond_, 1e-300); }
  // A X = B in place, B n × columns; each element is rounded once.
  void solve(std::int64_t columns, kernels::MutableView<T> x) const;
  // det A = mantissa · 2^exponent, the largest part of the mantissa in [1/2, 1), or 0.
  struct Scaled {
    std::complex<double> mantissa = 1;
    std::int64_t exponent = 0;
  };
  Scaled determinant() const;

 private:
  const Number& at(std::size_t i, std::size_t j) const { return m_[order_[i]][j]; }
  void eliminate(Quad largest);
  double estimated_rcond() const;
  void substitute(std::vector<Number>& x, bool adjoint) const;
  std::vector<std::vector<Number>> m_;  // rows of L and U in the order of Â
  std::vector<std::size_t> order_;      // row i of P Â is row order_[i] of Â
  std::vector<int> rows_, columns_;
  double norm_ = 0, growth_ = 1;  // growth: the largest element of U over the largest of Â
  double rcond_ = 1;
  bool odd_ = false, zero_pivot_ = false;
};

// Whether a Hermitian matrix is positive definite: by the signs of its pivots.
template <class T>
bool quad_positive(std::int64_t n, kernels::View<T> a);

}  // namespace wp::linalg
