// How far computed singular values and eigenvalues, and their vectors, may be off.
#pragma once
#include <cmath>
#include <memory>
#include <vector>

#include "linalg/verdict.hpp"
#include "ops/op.hpp"

namespace wp::linalg {

// |λ̂ − λ| ≤ min(absolute, relative·|λ|) + rounding·|λ|, the last for values that were brought to a narrower dtype;
// among its denormal numbers + least/2 (of f64, + least).
struct Bounds {
  double absolute = HUGE_VAL, relative = HUGE_VAL, rounding = 0;
  double of_vectors = 0;     // of them in place of `absolute`, where that is less
  DType dtype = DType::f64;  // of the values
  bool beside_zero =
      false;  // singular values of a matrix that is not square: vectors of its longer side have 0 beside
};

// 16·√n: backward errors of decompositions are below this many u·‖A‖, as the roundings of n steps mostly cancel
// (Higham & Mary 2019).
double growth_of_errors(std::int64_t n);

// value_error, vector_error and clusters of a spectrum in order. Vectors are off by error/gap (Davis & Kahan 1970;
// Wedin 1972), or by the relative error over the relative gap (Demmel & Veselić 1992), whichever is less; each up to
// its phase.
void bound_spectrum(const double* values, std::int64_t n, const Bounds& b, Member& m);

// Those of a stack: each member's own; or, of a stack that went through lanes, those of some members, and for the
// others a bound relative to their largest value.
struct StackBounds {
  std::vector<Bounds> own;
  std::vector<std::int64_t> which = {};  // whose they are, rising
  double relative_to_largest = HUGE_VAL;
  double rounding = 0;  // of all
  DType dtype = DType::f64;
  bool beside_zero = false;
  Tensor relative = {};  // of those others, one number each; undefined: none has one
  Bounds of(std::int64_t member, const double* values, std::int64_t n) const;
};
// Of a stack of m × n matrices that went through lanes, `longest` = max(m, n).
StackBounds lane_bounds(std::vector<Bounds> own, std::vector<std::int64_t> which, std::int64_t longest);

// bound_spectrum when the diagnosis is asked: `values` [batch…, n].
void bound_spectra(Diagnosis::State& state, const Tensor& values, StackBounds bounds);
// And, if somebody listens, absolute, relative and rounding of every member as residual [batch…, 3] of the call, for
// derivatives: which values are equal up to that.
void keep_bounds(const Call& c, Diagnosis::State& state, const Tensor& values, StackBounds bounds);

// absolute, relative and rounding, [batch…, 3].
Tensor kept_bounds(const Dims& batch, const std::vector<Bounds>& bounds);

}  // namespace wp::linalg
