// One banded matrix: LU in O(n) for a fixed band, and what it says of answers computed from it, as linalg/system.hpp.
#pragma once
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/lapack.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// Diagonals below and above the main one that are not all zero.
struct Band {
  std::int64_t below = 0, above = 0;
  std::int64_t width() const { return below + above + 1; }
};
// Of the matrix, if its band is so narrow against n that the factors of the band are cheaper; else n − 1 both.
template <class T>
Band narrow_band(std::int64_t n, kernels::View<T> a);
inline bool is_narrow(std::int64_t n, Band band) {
  return 8 * (band.width() + band.below) <= n;
}

template <class T>
class Banded {
 public:
  using Real = typename kernels::RealOf<T>::type;
  // aᵢⱼ is rows[i * width + j − i + below]; what lies outside the matrix is not read.
  Banded(std::int64_t n, Band band, std::vector<T> rows, const Options& options);
  static std::vector<T> rows_of(std::int64_t n, Band band, kernels::View<T> a);

  const Verdict& verdict() const noexcept { return verdict_; }  // of the matrix alone
  // It looks singular, but may only be scaled badly: a dense System finds better scales.
  bool misjudged() const;
  // A X = B (or Aᴴ X = B) in place (X, n × columns, holds B), improved where that pays. The verdict of X.
  Verdict solve(std::int64_t columns, kernels::MutableView<T> x, bool adjoint = false) const;
  // The diagonal of U and how often rows were exchanged; A = 2^-rows (P L U) 2^-columns.
  T pivot(std::int64_t i) const { return factors_[static_cast<std::size_t>(band_.below + band_.above + i * ld_)]; }
  bool exchanged(std::int64_t i) const { return pivots_[static_cast<std::size_t>(i)] != i + 1; }
  int exponent(std::int64_t i) const {
    return row_scales_[static_cast<std::size_t>(i)] + column_scales_[static_cast<std::size_t>(i)];
  }

 private:
  void scale();
  void factor();
  void estimate();
  void judge();
  void substitute(std::int64_t columns, kernels::MutableView<T> x, lapack::Op op) const;
  void residual(const std::vector<T>& rows, Band band, std::int64_t columns, kernels::View<T> x, kernels::View<T> b,
                T* r, Real* sizes) const;
  std::vector<T> adjoint_rows() const;
  template <class F>
  void each(F&& f) const;  // f(i, j, element)

  const std::int64_t n_, ld_;
  const Band band_;
  const Options& options_;
  std::vector<T> rows_, factors_;  // rows_: of the scaled matrix
  std::vector<lapack::Pivot> pivots_;
  std::vector<int> row_scales_, column_scales_;
  Verdict verdict_;
  double norm_ = 0, largest_ = 0;
  bool zero_pivot_ = false;
};

}  // namespace wp::linalg
