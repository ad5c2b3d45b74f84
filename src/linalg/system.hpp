// One square matrix: its structure, its factors, and what they say of answers computed from them (the sequence and
// its reasons: docs/linear-algebra.md).
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "kernels/condition.hpp"
#include "kernels/gemm.hpp"
#include "kernels/survey.hpp"
#include "linalg/banded.hpp"
#include "linalg/dense.hpp"
#include "linalg/indefinite.hpp"
#include "linalg/judgement.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// Which triangle of a row-major matrix is empty; are mirrored elements conjugate? spd: those with a positive
// diagonal, whatever a factorisation will say. Without `triangles`, triangular and diagonal ones count as what else
// they are.
template <class T>
Structure structure_of(std::int64_t n, const T* m, bool triangles = true);

// T: float, double, complex64, complex128. The matrix and the options must outlive it. Threads may share it.
template <class T>
class System {
 public:
  using Real = typename kernels::RealOf<T>::type;
  static constexpr double u = kUnit<T>;
  static constexpr double threshold = kSingular<T>;

  // Looks at the matrix, scales and factors it and estimates its condition: at once, or with first_solve, which must
  // then come before all else and shares its substitutions.
  enum class Estimate : std::uint8_t { now, with_solve };
  System(std::int64_t n, kernels::View<T> a, const Options& options, Estimate when = Estimate::now);
  kernels::View<T> matrix() const noexcept { return a_; }       // that is meant
  const Verdict& verdict() const noexcept { return verdict_; }  // of the matrix alone
  bool usable() const noexcept { return factored() && !zero_pivot_; }

  // A X = B (or Aᴴ X = B) in place (X, n × columns, holds B); X is improved where that pays. The verdict of X.
  Verdict solve(std::int64_t columns, kernels::MutableView<T> x, bool adjoint = false) const;
  Verdict first_solve(std::int64_t columns, kernels::MutableView<T> x);  // the same bits, and the estimate
  // A⁻¹ in rows `row` numbers apart.
  Verdict inverse(T* x, std::int64_t row) const;
  // det A = mantissa · 2^exponent, 1/2 ≤ |mantissa| < 1 (or 0), from the factors.
  struct Scaled {
    std::complex<long double> mantissa;
    std::int64_t exponent;
  };
  Scaled determinant() const;
  // diag(2^rows) A diag(2^columns) = P L U, L Lᴴ, P L D Lᴴ Pᵀ or Q R by `method`, or the triangle itself in l or u.
  // Row i of PᵀA is row order[i] of A. None: a band, or nothing was factored.
  struct Parts {
    Method method;
    std::vector<std::int64_t> order;
    Dense<T> l, d, u, q, r;
    std::vector<int> rows, columns;
  };
  std::optional<Parts> parts() const;

 private:
  bool factored() const noexcept {
    return verdict_.status != Status::nonfinite_input && verdict_.status != Status::not_spd;
  }
  kernels::Survey<T> take();
  void look();
  std::optional<typename kernels::Survey<T>::Norms> scale(const kernels::Survey<T>& survey);
  void factor(std::optional<typename kernels::Survey<T>::Norms> known);
  bool factor_by_cholesky();
  bool factor_by_ldl(double most);
  void factor_by_qr();
  void solve_and_estimate(std::int64_t columns, kernels::MutableView<T> x);
  void estimate(const kernels::Starts<T>& solved);
  void judge();
  bool scale_again();
  bool side_by_side(std::int64_t columns) const;
  void substitute_few(std::int64_t columns, kernels::MutableView<T> x, T* lines) const;
  void substitute_right_sides(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const;
  void substitute(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const;
  template <class Substitute>
  Verdict answer(std::int64_t columns, kernels::MutableView<T> x, bool adjoint, const Substitute& substituted) const;
  void improve(std::int64_t columns, bool cheap, bool adjoint, kernels::View<T> b, kernels::MutableView<T> x,
               Verdict& v) const;

  const std::int64_t n_;
  kernels::View<T> a_;
  std::vector<T> meant_;  // what a_ shows, if that is not the matrix as given
  const Options& options_;
  Verdict verdict_;
  std::unique_ptr<Banded<T>> banded_;  // does everything, if the band is narrow
  std::unique_ptr<Indefinite<T>> indefinite_;
  std::vector<int> rows_, columns_;  // exponents: row i was multiplied by 2^rows_[i]; empty: nothing was
  kernels::Buffer<T> factors_;
  std::vector<std::int64_t> pivots_;
  std::vector<T> reflectors_;  // tau, with QR: the factors are then column-major
  double norm_ = 0;            // ‖A‖₁ of the scaled matrix
  bool zero_pivot_ = false;
};

}  // namespace wp::linalg
