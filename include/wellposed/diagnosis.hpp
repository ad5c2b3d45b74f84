// What linear algebra can say of its answers.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

// By the decimal digits of the answer that can be vouched for: ok (at least 6 in f64, 3 in f32, or min_digits),
// ill_conditioned (fewer, but at least 1), singular (less than 1). overflow: the answer is known, but beyond the
// range of its dtype (Inf stands for it), or below it (0, or numbers of few digits). undefined: the function has no
// value there, or none in this dtype (the square root of a real matrix with a negative eigenvalue).
enum class Status : std::uint8_t {
  ok,
  ill_conditioned,
  overflow,
  singular,
  nonfinite_input,
  not_spd,
  not_converged,
  undefined
};
std::string_view name(Status status) noexcept;

// Singular values or eigenvalues first … last that lie closer together than their error bounds allow to tell apart.
struct Cluster {
  std::int64_t first, last;
  double low, high;  // of complex eigenvalues, whose neighbours are those in their order: moduli
};

// One member of a batch. What was not measured is NaN, −1 or empty.
struct Member {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Status status = Status::ok;
  bool exactly_singular = false;  // decided in exact arithmetic: the matrix as given has not the full rank min(m, n)
  double rcond = unknown;         // 1/(‖A‖₁‖A⁻¹‖₁) after equilibration; estimated from the factors
  double cond = unknown;          // σ₁/σₙ of the matrix as given; infinite if exactly_singular
  std::int64_t rank = -1;         // singular values above rank_threshold
  double rank_threshold = unknown;  // what counts as zero: max(m, n)·eps·σ₁, or by rtol and atol
  double rank_gap = unknown;        // σ_rank/σ_rank+1: how clear the rank is
  std::string rank_doubt;           // why another rank is as plausible; empty: it is not
  std::string structure, method;    // "symmetric", "Cholesky"
  double digits = unknown;
  // Of the answer, relative to its largest element. backward_error and growth are NaN, as not measured, for f32 and
  // f64 systems of up to 32 rows without options such as refine or certify, where these go well at once.
  double forward_error = unknown, backward_error = unknown;
  bool certified = false;                    // forward_error is a proved bound
  double ridge = unknown;                    // λ that was used
  double freedom = unknown;                  // effective degrees of freedom that it left
  double growth = unknown;                   // of pivots
  Tensor null_vector;                        // of a singular matrix
  std::string dependent, dependent_columns;  // "row 1 = 1.00001 × row 0"; ≈: to within rounding, not exactly
  std::vector<Cluster> clusters;
  Tensor value_error, vector_error, eigenvalue_condition;  // one per singular value or eigenvalue
  std::string message;                                     // the verdict in a sentence
};

// One entry per member, in row-major order of the batch. What is expensive (cond, rank, null vectors) is computed
// when it is first asked for. Copies share; thread-safe.
class Diagnosis {
 public:
  struct State;
  Diagnosis() = default;  // of nothing
  explicit Diagnosis(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State* state() const noexcept { return state_.get(); }

  const Dims& batch() const;
  std::int64_t size() const;
  bool ok() const;             // every member is
  std::int64_t worst() const;  // the member with the fewest digits; −1 of none
  Status status(std::int64_t member = 0) const;
  const Member& operator[](std::int64_t member) const;

  // One entry per member.
  std::vector<std::string_view> statuses() const;
  std::vector<std::string_view> structures() const;
  std::vector<std::string_view> methods() const;

  // Arrays over the batch.
  Tensor rcond() const;
  Tensor cond() const;
  Tensor rank() const;
  Tensor rank_threshold() const;
  Tensor rank_gap() const;
  Tensor digits() const;
  Tensor forward_error() const;
  Tensor backward_error() const;
  Tensor growth() const;
  Tensor ridge() const;
  Tensor exactly_singular() const;
  Tensor certified() const;

  std::string text() const;  // the report a person reads
  std::string json() const;

 private:
  std::shared_ptr<const State> state_;
};
std::ostream& operator<<(std::ostream& out, const Diagnosis& diagnosis);

template <class R>
struct Diagnosed {
  R value;
  Diagnosis diagnosis;
};

}  // namespace linalg

// Raised by linear algebra for numerical trouble (if_ill = "raise"): good members of `value` are right, bad ones NaN.
class LinalgError : public Error {
 public:
  LinalgError(Finding f, linalg::Diagnosis d, Tensors v) : Error(std::move(f)), diagnosis_(d), value_(std::move(v)) {}
  const linalg::Diagnosis& diagnosis() const noexcept { return diagnosis_; }
  const Tensors& value() const noexcept { return value_; }  // one per result of the function

 private:
  linalg::Diagnosis diagnosis_;
  Tensors value_;
};
struct SingularMatrix : LinalgError {
  using LinalgError::LinalgError;
};
struct NotPositiveDefinite : LinalgError {
  using LinalgError::LinalgError;
};
struct NotConverged : LinalgError {
  using LinalgError::LinalgError;
};

}  // namespace gnu::visibility("default")]]wp
