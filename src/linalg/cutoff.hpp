// Below what singular values count as zero, from options that are not attributes of a call.
#pragma once
#include <optional>

#include "linalg/members.hpp"

namespace wp::linalg {

// none: max(m, n)·eps of the dtype, unless there is an absolute threshold. Refuses what is negative.
Cutoff cutoff_of(const std::optional<double>& rtol, double atol, DType dtype, std::int64_t longest);

}  // namespace wp::linalg
