// How far answers with a ridge move with the errors of the decomposition that they come from.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "linalg/bounds.hpp"

namespace wp::linalg {

using Long = long double;  // squares of all that double holds stay in its range

// Length and largest element of a column.
struct Extent {
  Long length = 0, largest = 0;
};

// The backward error of a singular value decomposition, relative to σ₁. LAPACK's bdsqr drops elements beside the
// diagonal up to 100 u of it: singular vectors turn by as much.
inline double backward_error_of_values(std::int64_t longest, double u) {
  constexpr double kDropped = 100;
  return std::max(growth_of_errors(longest), kDropped) * u;
}

// How x moves with A: A → A + E, ‖E‖ = ε σ₁, moves x = (AᴴA + λ)⁻¹Aᴴb to first order by (AᴴA + λ)⁻¹(Eᴴr − AᴴE x)
// (Malyshev 2003; Wedin 1973 for [A; √λ I]), so that
//   ‖δx‖ ≤ ε (σ₁‖r‖/(σ² + λ) + φ(σ₁‖x‖ + ‖b‖)),   φ = max σᵢ/(σᵢ² + λ), σ the least value that counts.
// The computed decomposition is that of A + E, and b is rounded on its way through Uᴴ.
class Movement {
 public:
  // Of the first `kept` singular values. `wide`: vectors outside of them count with 0 unless the rank is known.
  Movement(const std::vector<double>& sigma, std::size_t kept, double ridge, bool wide, bool known)
      : square_(ridge), cut_(known) {
    if (kept == 0) return;
    first_ = sigma[0];
    least_ = wide && !known ? 0 : sigma[kept - 1];
    for (std::size_t i = 0; i < kept; ++i) {
      const Long s = sigma[i];
      if (s * s + square_ > 0) steepest_ = std::max(steepest_, s / (s * s + square_));
    }
  }
  // By how much a column x may be off at most, r = b − A x, with ε and the unit round-off u.
  Long operator()(double epsilon, double u, const Extent& x, const Extent& r, const Extent& b) const {
    return epsilon * moved(x.length, r.length, b.length) + 2 * u * x.length;
  }

 private:
  Long moved(Long x, Long r, Long b) const {
    const Long bottom = least_ * least_ + square_;
    if (bottom == 0) return r == 0 && x == 0 ? 0 : HUGE_VAL;
    const Long turned = cut_ ? first_ / least_ * x : 0;
    return first_ * r / bottom + steepest_ * (first_ * x + b) + turned;
  }

  Long first_ = 0, least_ = 0, steepest_ = 0, square_;  // σ₁, σ, φ, λ
  bool cut_;  // values that are exactly 0 were left out: their vectors turn with E, too
};

// The error of x that this means, relative to its largest element.
inline Long relative_to_largest(Long off, const Extent& x) {
  return x.largest > 0 ? off / x.largest : Long(1);
}

}  // namespace wp::linalg
