// How far computed singular values and eigenvalues, and their vectors, may be off.
#pragma once
#include <cmath>
#include <memory>
#include <vector>

#include "linalg/verdict.hpp"

namespace wp::linalg {

// |λ̂ − λ| ≤ min(absolute, relative·|λ|) + rounding·|λ|, the last for values that were brought to a narrower dtype.
struct Bounds {
  double absolute = HUGE_VAL, relative = HUGE_VAL, rounding = 0;
};

// 16·√n: backward errors of decompositions are below this many u·‖A‖, as the roundings of n steps mostly cancel
// (Higham & Mary 2019).
double growth_of_errors(std::int64_t n);

// value_error, vector_error and clusters of a spectrum in order. Vectors are off by error/gap (Davis & Kahan 1970;
// Wedin 1972), or by the relative error over the relative gap (Demmel & Veselić 1992), whichever is less.
void bound_spectrum(const double* values, std::int64_t n, const Bounds& b, Member& m);

// The same when the diagnosis is asked: `values` [batch…, n], one entry of `bounds` per member.
void bound_spectra(Diagnosis::State& state, const Tensor& values, std::vector<Bounds> bounds);

// absolute, relative and rounding of every member, [batch…, 3], for derivatives: which values are equal up to that.
Tensor kept_bounds(const Dims& batch, const std::vector<Bounds>& bounds);

}  // namespace wp::linalg
