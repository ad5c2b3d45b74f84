// All that can be said of one member of a batch.
#pragma once
#include "linalg/verdict.hpp"

namespace wp::linalg {

// Computes what the verdict does not have: cond, rank, and for a singular matrix its null vector and dependent rows.
// A large matrix is decomposed only if `deep`: it may take longer than the answer did.
Member examine(const Diagnosis::State& state, std::int64_t member, bool deep = true);

// Why another rank is as plausible as r: the values on both sides of the threshold τ lie close together, or one of
// them lies close to τ, from below so close that rounding alone hardly brings a zero there. Empty: the rank is clear.
std::string rank_doubt(const std::vector<double>& sigma, std::size_t r, double threshold);

// Why this member is not ok, for a finding: "is singular to working precision: rcond 2.7e-17 < 4.4e-16".
std::string complaint(const Diagnosis::State& state, const Member& m);

}  // namespace wp::linalg
