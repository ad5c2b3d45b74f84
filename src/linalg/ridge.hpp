// How much to regularise: λ of min ‖A x − b‖² + λ‖x‖², from the singular values of A and what b has along them.
#pragma once
#include <cstdint>
#include <vector>

#include "linalg/options.hpp"

namespace wp::linalg {

// A = U·diag(sigma)·Vᴴ, m × n. Everything of b is relative to `norm`, its largest element; summed over columns.
struct RidgeData {
  std::vector<double> sigma;
  std::vector<double> parts;  // |uᵢᴴ b|²
  double outside = 0;         // ‖b‖² − Σ parts
  double norm = 1;
  std::int64_t rows_outside = 0;  // m − min(m, n)
};
// What λ = t·σ₁² gives: residual and solution, ρ² = Σ(λ/(σ² + λ))²β² + outside, η² = Σ(σ/(σ² + λ))²β² (in units of
// norm and norm/σ₁), and the effective degrees of freedom Σ σ²/(σ² + λ).
struct RidgePoint {
  double rho = 0, eta = 0, freedom = 0, squares = 0;
};
RidgePoint ridge_point(const RidgeData& data, double t);

// What a rule minimises over t; +inf where it says nothing.
double ridge_score(RidgeRule rule, const RidgeData& data, double t);
// λ by the rule: generalised cross-validation (automatic, gcv; Golub, Heath & Wahba 1979: ρ²/(m − freedom)²), the
// most curved point of (log ρ, log η) (l_curve; Hansen 1992), or the largest λ with ρ ≤ noise (discrepancy; Morozov
// 1966). u: the unit round-off of the data.
double choose_ridge(RidgeRule rule, const RidgeData& data, double noise, double u);

}  // namespace wp::linalg
