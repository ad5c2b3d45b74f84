// A stack of matrices factored once, for many right-hand sides.
#pragma once
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/diagnosis.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/setting.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

// As for solve; rtol and atol as for lstsq.
struct FactoredOptions {
  // auto: by structure, as solve; svd for matrices that are not square. lu, cholesky, ldl, qr, svd.
  std::string_view method = "auto";
  std::string_view if_ill = "raise";
  std::optional<Setting> ridge = std::nullopt;
  double noise = 0;
  double shift = 0;
  std::string_view assume = "detect";
  std::optional<bool> refine = std::nullopt;
  bool certify = false;
  std::optional<double> min_digits = std::nullopt;
  std::optional<std::vector<std::string>> names = std::nullopt;
  std::string_view accuracy = "normal";
  std::optional<double> rtol = std::nullopt;
  double atol = 0;
};

struct FactoredSolveOptions {
  bool adjoint = false;     // Aᴴ x = b
  bool transposed = false;  // Aᵀ x = b
};

// The factors that are in use, [batch…, n, n]; undefined where the method has none. With the powers of two R and C
// on the diagonals of row_scale and column_scale, [batch…, n]:
//   LU: R A C = P L U.  Cholesky: R A C = L Lᴴ.  LDL: R A C = P L D Lᴴ Pᵀ.  QR: R A C = Q U.
//   substitution: R A C = L, or U.  SVD: A = U diag(S) Vh, without scales.
struct FactoredParts {
  std::string method;
  Tensor P, L, D, U, Q, S, Vh, row_scale, column_scale;
};

// What factored() makes. solve, inv, det, … are the ops of that name, called with the matrix, the options and the
// factors: answers, diagnoses, findings and derivatives are theirs, bit for bit. With method = "svd", solve is lstsq
// and inv is pinv. Copies share; thread-safe.
class Factored {
 public:
  const Tensor& matrix() const noexcept;
  // Of the matrices: rcond, structure, method, growth, and the digits an answer can be expected to have. cond, rank
  // and null vectors are computed when they are first asked for.
  const Diagnosis& diagnosis() const noexcept;
  Tensor rank() const { return diagnosis().rank(); }
  Tensor cond() const { return diagnosis().cond(); }
  // Raises ArgumentError where members were factored by different methods, or as bands: ask for a method.
  FactoredParts parts(std::source_location where = std::source_location::current()) const;

  Tensor solve(const In& b, const FactoredSolveOptions& options = {},
               std::source_location where = std::source_location::current()) const;
  Diagnosed<Tensor> diagnosed_solve(const In& b, const FactoredSolveOptions& options = {},
                                    std::source_location where = std::source_location::current()) const;
  // min ‖A x − b‖, with the singular values; computed when first asked for, then kept.
  Tensor lstsq(const In& b, std::source_location where = std::source_location::current()) const;
  Tensor inv(std::source_location where = std::source_location::current()) const;
  Diagnosed<Tensor> diagnosed_inv(std::source_location where = std::source_location::current()) const;
  Tensor pinv(std::source_location where = std::source_location::current()) const;
  Tensor det(std::source_location where = std::source_location::current()) const;
  SlogdetResult slogdet(std::source_location where = std::source_location::current()) const;
  Tensor logdet(std::source_location where = std::source_location::current()) const;

  // How many decompositions of single matrices were made so far.
  std::int64_t decompositions() const noexcept;
  std::string to_string() const;

 private:
  friend Factored factored(const In&, const FactoredOptions&, std::source_location);
  struct State;
  explicit Factored(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};
std::ostream& operator<<(std::ostream& out, const Factored& f);

// Factors each matrix of a stack [..., m, n]. Numerical trouble does not raise here: the diagnosis has it, and solve
// and inv do with it what if_ill says.
Factored factored(const In& a, const FactoredOptions& options = {},
                  std::source_location where = std::source_location::current());

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
