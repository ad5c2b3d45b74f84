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
#include "linalg/indefinite.hpp"
#include "linalg/judgement.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// T: float, double, complex64, complex128. The matrix must outlive it.
template <class T>
class System {
 public:
  using Real = typename kernels::RealOf<T>::type;
  static constexpr double u = kUnit<T>;
  static constexpr double threshold = kSingular<T>;

  // Looks at the matrix, scales and factors it and estimates its condition: at once, or with the first solve, which
  // must then follow and shares its substitutions.
  enum class Estimate : std::uint8_t { now, with_solve };
  System(std::int64_t n, kernels::View<T> a, const Options& options, Estimate when = Estimate::now);
  kernels::View<T> matrix() const noexcept { return a_; }  // that is meant
  const Verdict& verdict() const noexcept { return verdict_; }
  bool usable() const noexcept { return verdict_.status != Status::nonfinite_input && !zero_pivot_; }

  // A X = B in place (X, n × columns, holds B); X is improved where that pays. The verdict then tells of X.
  void solve(std::int64_t columns, kernels::MutableView<T> x);
  // A⁻¹ in rows `row` numbers apart.
  void inverse(T* x, std::int64_t row);
  // det A = mantissa · 2^exponent, 1/2 ≤ |mantissa| < 1 (or 0), from the factors.
  struct Scaled {
    std::complex<double> mantissa;
    std::int64_t exponent;
  };
  Scaled determinant() const;

 private:
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
  void substitute(std::int64_t columns, kernels::MutableView<T> x, bool adjoint) const;
  void improve(std::int64_t columns, bool cheap, kernels::View<T> b, kernels::MutableView<T> x);

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
  bool zero_pivot_ = false, judged_ = false;
};

}  // namespace wp::linalg
