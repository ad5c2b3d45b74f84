// Gaussian elimination in 113-bit arithmetic, for matrices whose condition leaves too few digits in double.
#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
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

// P Â = L U with partial pivoting, of the matrix Â = 2^rows · A · 2^columns, which is equilibrated if no scales are
// given. T: float, double, complex64, complex128.
template <class T>
class QuadLu {
 public:
  using Number = std::conditional_t<kernels::RealOf<T>::parts == 2, ComplexQuad, Quad>;
  QuadLu(std::int64_t n, kernels::View<T> a);
  QuadLu(std::int64_t n, kernels::View<T> a, std::vector<int> rows, std::vector<int> columns);

  bool zero_pivot() const noexcept { return zero_pivot_; }
  // 1/(‖Â‖₁‖Â⁻¹‖₁), estimated.
  double rcond() const noexcept { return rcond_; }
  // Of solutions of Â y = 2^rows b, relative to their largest element, and of the determinant.
  double error() const { return static_cast<double>(m_.size()) * growth_ * kQuadRoundOff / std::max(rcond_, 1e-300); }
  const std::vector<int>& rows() const noexcept { return rows_; }
  const std::vector<int>& columns() const noexcept { return columns_; }
  // y, from b in elements `stride` apart.
  std::vector<Number> solve(const T* b, std::int64_t stride) const;
  // det A = mantissa · 2^exponent, the largest part of the mantissa in [1/2, 1), or 0.
  struct Scaled {
    std::complex<long double> mantissa = 1;
    std::int64_t exponent = 0;
  };
  Scaled determinant() const;

 private:
  void take(kernels::View<T> a);
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

// A x = b in place (x, of elements `stride` apart, holds b), each element rounded once. Where elements count with
// factors that are far apart, the system is scaled again, by a matching and by the answer itself, as long as there
// are `rounds`. is_zero(i): whether x_i is exactly 0. Returns the error relative to the largest element; 1: none is
// known.
template <class T>
double quad_solve(const QuadLu<T>& first, kernels::View<T> a, T* x, std::int64_t stride, int rounds,
                  const std::function<bool(std::int64_t i)>& is_zero);

// 2^power · A⁻¹, row-major, of a matrix of up to kQuadLargest rows. It is in the range of T also where A⁻¹ is not.
template <class T>
struct QuadInverse {
  std::vector<T> x;
  int power;
  double error;  // of each column, relative to its largest element
};
// None: 113 bits leave an error above 1e-3.
template <class T>
std::optional<QuadInverse<T>> quad_inverse(std::int64_t n, kernels::View<T> a);

// Whether a Hermitian matrix is positive definite: by the signs of its pivots. Then `l` gets the lower triangle of
// its factor, if there is anywhere to put it.
template <class T>
bool quad_cholesky(std::int64_t n, kernels::View<T> a, kernels::MutableView<T> l = {});

}  // namespace wp::linalg
