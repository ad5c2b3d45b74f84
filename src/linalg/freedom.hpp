// Forward mode carries vectors that a matrix determines up to phases or a basis only: it chooses, and what is
// computed from them must not see how.
#pragma once

namespace wp::linalg {

// Set, on this thread, by a rule that chose.
bool& met_freedom() noexcept;

}  // namespace wp::linalg
