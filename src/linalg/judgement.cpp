#include "linalg/judgement.hpp"

#include <cmath>

namespace wp::linalg {

double digits_of(double error, double u) {
  const double most = -std::log10(u);
  return error > u ? std::clamp(-std::log10(error), 0.0, most) : most;
}

Status status_of(double digits, double min_digits, double u) {
  const double wanted = min_digits >= 0 ? min_digits : u < 1e-10 ? 6 : 3;
  return digits >= wanted ? Status::ok : digits >= 1 ? Status::ill_conditioned : Status::singular;
}

}  // namespace wp::linalg
