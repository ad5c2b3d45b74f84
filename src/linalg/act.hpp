// The policy for members that are not ok.
#pragma once
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// Raises with the diagnosis and the values, warns, or records, as the policy says; `advice` is what to do about a
// singular matrix, `about` the entry that is not finite.
void act(const Diagnosis& d, Policy policy, std::string_view advice, const Tensors& values,
         const std::shared_ptr<const Subject>& about = nullptr);

}  // namespace wp::linalg
