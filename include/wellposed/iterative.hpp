// Iterative solvers for linear operators. What they call converged was checked with the true residual b − A x,
// computed anew; where that is larger than the iteration's own, they go on from there or say so.
#pragma once
#include <functional>
#include <limits>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "wellposed/diagnosis.hpp"
#include "wellposed/linear_operator.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

struct IterativeOptions {
  std::optional<double> rtol = std::nullopt;  // ‖b − A x‖ ≤ max(rtol ‖b‖, atol); none: 1e-10, for f32 and c64 1e-5
  double atol = 0;
  std::optional<std::int64_t> max_iterations = std::nullopt;    // none: 10 n, at least 100
  Tensor x0 = {};                                               // where to start; undefined: at 0
  std::optional<LinearOperator> preconditioner = std::nullopt;  // M ≈ A⁻¹, x ↦ M x
  std::string_view if_ill =
      "raise";  // raise, warn, nan or ignore: what becomes of an x that is not what was asked for
  std::function<void(std::int64_t iteration, double residual)> progress = {};
  // Whether a converged x is judged beside its residual: 16 more products with A (lsmr: 15 with Aᴴ too), up to 64
  // columns as many as there are columns. false: forward_error and digits are NaN, the condition is what the
  // iteration met.
  bool judge = true;
};
struct GmresOptions : IterativeOptions {
  std::int64_t restart = 30;  // vectors kept; more of them converge in fewer steps and cost more each
};
struct LsmrOptions : IterativeOptions {
  double damp = 0;  // minimise ‖A x − b‖² + damp² ‖x‖²
};

struct IterativeResult {
  Tensor x;
  Status status = Status::ok;     // ok, ill_conditioned, not_converged, not_spd (cg), nonfinite_input
  std::int64_t iterations = 0;    // products with A on the way to x, but for those that check it
  std::vector<double> residuals;  // ‖r‖ as the iteration knows it, after 0, 1, 2, … iterations
  double residual = 0;            // ‖b − A x‖ of the x that is returned, computed anew
  double normal_residual = std::numeric_limits<double>::quiet_NaN();  // lsmr: ‖Aᴴ(b − A x) − damp² x‖, anew
  double target = 0;                                                  // what ‖b − A x‖ had to reach
  double condition = std::numeric_limits<double>::quiet_NaN();        // of A, estimated from below
  double forward_error = std::numeric_limits<double>::quiet_NaN();    // ‖x − A⁻¹b‖/‖x‖, estimated
  double digits = std::numeric_limits<double>::quiet_NaN();           // of x, by that estimate
  std::string message;                                                // the verdict in a sentence
};

// A x = b for Hermitian positive definite A by conjugate gradients (Hestenes & Stiefel 1952); M must be Hermitian
// positive definite too. not_spd when some pᴴA p ≤ 0. The condition comes from the Ritz values of the Lanczos matrix.
IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {},
                   std::source_location where = std::source_location::current());

// A x = b for square A by GMRES (Saad & Schultz 1986), restarted, preconditioned from the right, with modified
// Gram–Schmidt done twice. Stops when two cycles in a row bring nothing.
IterativeResult gmres(const LinearOperator& a, const Tensor& b, const GmresOptions& options = {},
                      std::source_location where = std::source_location::current());

// min ‖A x − b‖ (of all such x the one nearest to x0) by LSMR (Fong & Saunders 2011). Converged when A x = b is
// solved as above, or ‖Aᴴ r‖ ≤ rtol ‖A‖ ‖r‖. A preconditioner needs its adjoint: min ‖A M y − b‖, x = M y.
IterativeResult lsmr(const LinearOperator& a, const Tensor& b, const LsmrOptions& options = {},
                     std::source_location where = std::source_location::current());

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
