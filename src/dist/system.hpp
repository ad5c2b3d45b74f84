// One square distributed matrix: its structure, its factors, and what they say of answers computed from them. The
// sequence is that of linalg/system.hpp; vectors are on every rank, so that its judgement, estimator and refinement
// run here as they are.
#pragma once
#include <optional>
#include <vector>

#include "dist/matrix.hpp"
#include "kernels/condition.hpp"
#include "linalg/judgement.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::dist {

using linalg::Method;
using linalg::Options;
using linalg::Policy;
using linalg::Status;
using linalg::Structure;
using linalg::Verdict;

// Right-hand sides that are on every rank at a time.
inline constexpr std::int64_t kPanel = 64;

// rcond from which on nothing depends on a factor of 10 in it where answers are improved in any case: its estimate
// ends early there, as a substitution costs as much as all of its messages. 2⁻²³ in f64; in f32 there is none.
template <class T>
inline constexpr double kSurelyWell = 0x1p30 * linalg::kUnit<T>;

// T: float, double, complex64, complex128, the dtype that is computed in; a matrix of a narrower one is converted,
// and the factors take the memory of that: where A is needed after them, it is converted again. Every member function
// is collective.
template <class T>
class System {
 public:
  using R = typename kernels::RealOf<T>::type;
  static constexpr double u = linalg::kUnit<T>;

  // Looks at the matrix, scales and factors it. thorough: rcond is estimated to the end, as on one machine, also
  // where nothing depends on it.
  System(const Matrix& a, const Options& options, bool thorough = false);
  const Verdict& verdict() const noexcept { return verdict_; }  // of the matrix alone, once judge() has run
  bool factored() const noexcept {
    return verdict_.status != Status::nonfinite_input && verdict_.status != Status::not_spd;
  }

  // Estimates rcond and judges; solve() does it on the way, if nobody has.
  void judge();
  // A X = B (Aᴴ X = B) for all columns of B; the verdict of X.
  Verdict solve(const Matrix& b, Matrix& x, bool adjoint = false);
  // A⁻¹; the factors are used up. Memory beyond A: that of the factors, where no right-hand sides need improving.
  Verdict inverse(Matrix& x);
  // Σ log |pivots|, without the scaling that was applied; of Cholesky twice those of L.
  double log_determinant() const;

  // Whether rcond proves that all singular values count: σₙ/σ₁ ≥ rcond/n, the estimate being within a factor of 10,
  // and values up to 2 n u σ₁ count as zero.
  bool full_rank() const noexcept {
    const auto n = static_cast<double>(n_);
    return judged_ && rows_.empty() && verdict_.rcond > 20 * n * n * u;
  }

  // Why the matrix is singular: null vector, rows and columns that depend on each other; exactly, if that is proved;
  // and the rank, if it is clear (else −1), `unit` being the unit round-off of the dtype that was given.
  struct Reason {
    Tensor null_vector;
    std::string rows, columns;
    bool exact = false;
    std::int64_t rank = -1;
  };
  Reason explain(double unit);
  // Which element is not finite.
  std::string nonfinite_text() const { return nonfinite_; }

 private:
  bool survey();
  void look();
  void scale();
  void factor();
  bool factor_by_cholesky();
  void factor_by_lu();
  void factor_by_qr();
  bool zero_on_diagonal() const;
  Matrix made() const;
  const Matrix& whole();
  void fresh_copy();
  void measure(std::int64_t first, std::int64_t count, std::vector<double>& sums);
  void take_norms(std::vector<double>& sums);
  Structure structure_by_elements();
  bool maybe_hermitian() const;
  void substitute(std::int64_t columns, T* x, bool adjoint);
  void substitute(Matrix& x, bool adjoint);
  void estimate(const kernels::Starts<T>& solved, double enough = 0);
  void conclude_matrix();
  template <class Fill>
  Verdict panels(std::int64_t k, Fill&& fill, Matrix& x, bool adjoint);
  Verdict panel(std::int64_t columns, T* x, bool cheap, bool adjoint);
  std::optional<Verdict> at_once(const Matrix& b, Matrix& x, bool adjoint);
  void improve(std::int64_t columns, bool cheap, bool adjoint, const T* b, T* x, Verdict& v);
  double proved_error(std::int64_t columns, bool adjoint, const T* b, const T* x);
  bool solvable() const noexcept { return factored() && !zero_pivot_ && n_ > 0; }
  Verdict no_answer(const Matrix& like, Matrix& x);
  bool invert_factors();
  double amplification(const Matrix& x, const std::vector<int>& weights) const;
  std::vector<T> null_vector(bool adjoint);
  std::vector<T> times(std::int64_t k, const std::vector<T>& x, bool adjoint);
  double largest_value();
  std::int64_t clear_rank(double unit);

  const Matrix given_;
  const Options options_;
  const bool narrow_;  // another dtype was given
  Matrix a_;           // that is meant; undefined where the factors have its memory
  const std::int64_t n_;
  const bool thorough_;
  Verdict verdict_;
  bool judged_ = false, zero_pivot_ = false;
  bool fresh_ = false;  // the memory of the factors holds A
  std::string nonfinite_;
  std::vector<int> row_tops_, column_tops_;  // exponents of the largest elements
  std::vector<int> rows_, columns_;          // of the scales; empty: none
  Matrix factors_, work_;
  std::vector<int> pivots_;
  std::vector<T> reflectors_;
  double norm_ = 0, largest_ = 0;
};

// The matrix that is meant: as given, or what the options (assume, shift) make of it. Collective.
template <class T>
Matrix meant_by(const Options& options, const Matrix& a);

// "column 31 = column 7": the few rows or columns of A that v joins, brought together and looked at; empty if they
// are not few. `exact` is set where that is proved. Collective.
template <class T>
std::string relation(const Matrix& a, const std::vector<T>& v, bool rows, const std::vector<std::string>& names,
                     bool& exact);

}  // namespace wp::dist
