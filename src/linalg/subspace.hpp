// Subspaces from singular vectors: ranges, null spaces, leading parts.
#pragma once
#include <cmath>

#include "linalg/each.hpp"
#include "linalg/spectral.hpp"

namespace wp::linalg {

inline constexpr std::string_view kSubspaceAdvice =
    "Give rtol or atol, between the singular values that count and those that do not.";

// Singular values above the cut-off.
template <class T>
std::int64_t rank_of(const Spectral<T>& svd, Cutoff cutoff) {
  return svd.rank(cutoff(svd.largest()));
}

// The singular vectors of the first `rank` values are off by u σ₁/(σ_rank − σ_rank+1) (Wedin 1972).
template <class T>
void judge_subspace(const Spectral<T>& svd, std::int64_t rank, Verdict& v) {
  const std::vector<double>& s = svd.sigma();
  const auto r = static_cast<std::size_t>(rank);
  if (r == 0) return;
  const double below = r < s.size() ? s[r] : 0, gap = s[r - 1] - below;
  const double condition = gap > 0 ? s[0] / gap : HUGE_VAL;
  conclude(v, "subspace", condition, Dense<T>::u * condition, Dense<T>::u);
  if (v.status == Status::ok) return;
  v.status = Status::ill_conditioned;
  char text[160];
  std::snprintf(text, sizeof text, "has singular values %.6g and %.6g on both sides of rank %lld: ", s[r - 1], below,
                static_cast<long long>(rank));
  v.reason = say(text, "the subspace has about ", std::lround(std::floor(v.digits)), " digits.");
}

}  // namespace wp::linalg
