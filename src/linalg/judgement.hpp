// From rcond, growth and errors to a status: what the solvers of linear systems have in common.
#pragma once
#include <algorithm>
#include <limits>

#include "kernels/gemm.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

template <class T>
inline constexpr double kUnit = std::numeric_limits<typename kernels::RealOf<T>::type>::epsilon() / 2;
template <class T>
inline constexpr double kSingular = 4 * kUnit<T>;  // rcond below it: singular to working precision

// The digits that a relative error leaves, at most those of a dtype with unit round-off u.
double digits_of(double error, double u);
// The status by digits; `min_digits` < 0: 6 for f64, 3 for f32.
Status status_of(double digits, double min_digits, double u);

// Singular as it seems, or only scaled badly?
template <class T>
bool in_doubt(std::int64_t n, double rcond) {
  return rcond < 1e3 * static_cast<double>(std::max<std::int64_t>(n, 1)) * kUnit<T>;
}
inline constexpr std::int64_t kExact = 300;  // rows up to which a suspicion is followed in exact arithmetic
// Whether it is worth asking for the exact determinant.
template <class T>
bool suspect(std::int64_t n, double rcond) {
  return n <= kExact && in_doubt<T>(n, rcond);
}
inline constexpr std::int64_t kRescaled = 1000;  // rows beyond which the search for better scales takes too long

// LU is backward stable but for growth: |error| ≲ u · growth / rcond (Higham 2002, §9.4); the factor 1/8 as growth of
// a few is ordinary. Near the identity, where rcond says nothing of the number of roundings, up to 5 u were seen.
template <class T>
double expected_error(const Verdict& v) {
  const double roundings = v.structure == Structure::diagonal ? 0 : 7;
  return std::min(1.0, kUnit<T> * (roundings + std::max(1.0, v.growth / 8) / std::max(v.rcond, kUnit<T> * kUnit<T>)));
}

// Right-hand sides so few that improving them costs little beside the factors: a third of their time, measured.
inline bool few(std::int64_t n, std::int64_t columns) {
  return columns <= 4 || 128 * columns <= n;
}
inline constexpr std::int64_t kSmallInverse = 32;  // rows up to which improving an inverse costs little
inline constexpr double kGoodEnough = 1e-9;        // larger errors are worth improving, whatever it costs
// `worse`: by so much the error counts more than what is expected (amplification()).
template <class T>
bool refinement_pays(const Options& options, bool cheap, const Verdict& v, double worse = 1) {
  if (options.refine != Options::Refine::when_it_pays) return options.refine == Options::Refine::always;
  return cheap || !(expected_error<T>(v) * worse <= kGoodEnough);
}

template <class T>
void conclude(Verdict& v, double error, double min_digits, double least_rcond = kSingular<T>) {
  v.forward_error = error;
  v.digits = digits_of(error, kUnit<T>);
  v.status = status_of(v.digits, min_digits, kUnit<T>);
  if (v.rcond < least_rcond || v.exactly_singular) {
    v.status = Status::singular;
    v.digits = 0;
  }
}
// Least squares by the singular values that count. An answer is given however few its digits.
template <class T>
void conclude_least_squares(Verdict& v, double error) {
  v.forward_error = error;
  v.digits = digits_of(v.forward_error, kUnit<T>);
  v.status = std::min(status_of(v.digits, -1, kUnit<T>), Status::ill_conditioned);
}

}  // namespace wp::linalg
