// How a square matrix is factored, whatever holds it: on one machine, or spread over many.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/gemm.hpp"
#include "linalg/options.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

inline constexpr double kGrowth = 1e6;  // of pivots, beyond which LU gives way to QR

// Element (i, j) of the matrix that is meant, from those of the one that was given: a shift; one triangle only; the
// Hermitian part. `mirrored` is the conjugate of element (j, i).
template <class T>
T meant_element(const Options& o, std::int64_t i, std::int64_t j, T v, T mirrored) {
  using R = typename kernels::RealOf<T>::type;
  const Assume s = o.assume;
  if ((s == Assume::lower && j > i) || (s == Assume::upper && j < i) || (s == Assume::diagonal && i != j)) v = T(0);
  if ((s == Assume::symmetric || s == Assume::spd) && v != mirrored)  // halves may vanish
    v = v * R(0.5) + mirrored * R(0.5);
  return i == j ? v + static_cast<R>(o.shift) : v;
}
inline bool as_given(const Options& o) {
  return o.shift == 0 &&
         (o.assume == Assume::detect || o.assume == Assume::general || o.assume == Assume::triangular);
}

// Takes the steps in the order that structure and options ask for. cholesky and ldl return whether they did it and
// leave the matrix as it was if not; lu and qr write the growth.
template <class Steps>
void choose_factors(const Options& o, Verdict& v, Steps&& steps) {
  if (v.structure >= Structure::lower) {
    v.method = Method::substitution;
    v.growth = 1;
    return steps.substitution();
  }
  if (o.method == Method::qr) return steps.qr();
  if (v.structure == Structure::spd && o.method != Method::ldl) {
    v.method = Method::cholesky;
    v.growth = 1;
    if (steps.cholesky()) return;
    v.structure = Structure::symmetric;
  }
  if (o.method == Method::cholesky) {
    v.method = Method::cholesky;
    v.status = Status::not_spd;
    return;
  }
  if ((v.structure == Structure::symmetric || o.method == Method::ldl) && steps.ldl()) return;
  v.method = Method::lu;
  steps.lu();
  if (v.growth > kGrowth) steps.qr();
}
template <class Substitution, class Cholesky, class Ldl, class Lu, class Qr>
struct FactorSteps {
  Substitution substitution;
  Cholesky cholesky;
  Ldl ldl;
  Lu lu;
  Qr qr;
};

// How much of a diagonal element Cholesky's elimination left, the least over the most: an upper bound of rcond.
// `whole`: the diagonal before; `left`: that of L.
inline double least_share(const std::vector<double>& whole, const std::vector<double>& left) {
  double least = HUGE_VAL, most = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const double share = left[i] * left[i] / whole[i];
    least = std::min(least, share);
    most = std::max(most, share);
  }
  return whole.empty() ? 1 : least / most;
}

}  // namespace wp::linalg
