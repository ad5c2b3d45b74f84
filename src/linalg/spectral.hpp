// Answers from a singular value decomposition: pseudo-inverse, least squares, Tikhonov regularisation.
#pragma once
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/gemm.hpp"
#include "linalg/ridge.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// values: only those. thin: U m × k and Vᴴ k × n. full: U m × m and Vᴴ n × n.
enum class Parts : std::uint8_t { values, thin, full };

// A = U·diag(sigma)·Vᴴ, m × n, k = min(m, n). The matrix is scaled by a power of two before, so that everything
// scales exactly with A. T: float, double, complex64, complex128.
template <class T>
class Spectral {
 public:
  using Real = typename kernels::RealOf<T>::type;
  // high: one-sided Jacobi, which keeps the digits of small singular values of graded matrices (Demmel & Veselić
  // 1992).
  Spectral(std::int64_t m, std::int64_t n, kernels::View<T> a, Parts parts = Parts::thin, bool high = false);

  Spectral adjoint() const;  // of Aᴴ, for thin parts
  bool finite() const noexcept { return finite_; }
  bool converged() const noexcept { return info_ == 0; }
  // What became of it: not finite, or what was reached when it did not converge.
  void judge(Verdict& v) const;
  Status status() const noexcept {
    return !finite_ ? Status::nonfinite_input : !converged() ? Status::not_converged : Status::ok;
  }
  const std::vector<double>& sigma() const noexcept { return sigma_; }
  // Those of the matrix as it was scaled, by 2^exponent(): with all their digits where σ is denormal.
  const std::vector<double>& scaled_sigma() const noexcept { return scaled_; }
  int exponent() const noexcept { return exponent_; }
  // At most the largest number: limits that are made of it must be some, where σ₁ is beyond.
  double largest() const noexcept {
    return sigma_.empty() ? 0 : std::min(sigma_[0], std::numeric_limits<double>::max());
  }
  std::int64_t rank(double threshold) const;
  // σ_rank/σ₁; 1 if the rank is 0.
  double rcond(std::int64_t rank) const {
    return rank > 0 ? scaled_[static_cast<std::size_t>(rank - 1)] / scaled_[0] : 1;
  }
  kernels::View<T> u() const { return {u_.data(), u_columns_, 1}; }
  kernels::View<T> vh() const { return {vh_.data(), n_, 1}; }

  // X (n × columns) = V·diag(filter)·Uᴴ·B, B m × columns.
  void apply(const std::vector<double>& filter, std::int64_t columns, kernels::View<T> b,
             kernels::MutableView<T> x) const;
  // 2^e/σ where σ > threshold, else 0.
  std::vector<double> truncated(double threshold, int e = 0) const;
  // σ/(σ² + λ), without overflow of the squares.
  std::vector<double> tikhonov(double ridge) const;
  // λ by the rule, from one or more right-hand sides; from none (an inverse) automatic is √u·σ₁². `noise`: for the
  // discrepancy principle.
  double choose_ridge(RidgeRule rule, double noise, std::int64_t columns, kernels::View<T> b) const;
  RidgeData ridge_data(std::int64_t columns, kernels::View<T> b) const;
  // The effective degrees of freedom Σ σ²/(σ² + λ).
  double freedom(double ridge) const;

 private:
  std::int64_t m_, n_, k_, u_columns_ = 0;
  int exponent_ = 0;
  bool finite_ = true, jacobi_ = false;  // jacobi: what ran last
  int info_ = 0;
  std::vector<double> sigma_, scaled_;
  std::vector<T> u_, vh_;
};

// Scales by powers of two that do not change what the least squares solutions of an m × n matrix of full rank are:
// diag(2^rows)·A·diag(2^columns), columns of a tall matrix, rows of a wide one, both of a square one. They bring
// lines together that are far apart in size.
struct Lines {
  std::vector<int> rows, columns;
  int spread() const;  // the largest exponent over the least, of rows or of columns
};
template <class T>
Lines even_lines(std::int64_t m, std::int64_t n, kernels::View<T> a);

// A with its lines brought together, where they are far apart.
template <class T>
struct Balanced {
  Lines lines;
  std::vector<T> scaled;           // row-major
  bool exact = true;               // nothing was lost below the range
  std::optional<Spectral<T>> svd;  // none: lines are alike
  Balanced(std::int64_t m, std::int64_t n, kernels::View<T> a);
};

}  // namespace wp::linalg
