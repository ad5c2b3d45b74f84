// Functions of square matrices that are smooth but on the closed negative real axis: logarithm, real powers.
#pragma once
#include "linalg/each.hpp"
#include "linalg/schur_form.hpp"

namespace wp::linalg {

// f on triangular matrices, f(Dense<S>, cut), and on numbers, f(S); f.slope(x) = |f′(x)| for real x > 0; f.at_zero():
// whether f(0) is 0 and ‖f(A) − f(B)‖ ≤ f.limit(‖A − B‖) for semidefinite matrices of norm 1.
template <class F>
struct Smooth {
  std::string_view name;
  F f;
  int scale = 0;  // the matrix is 2^scale times what was given
};

// By the Schur form. False: there is no value, and the verdict says why.
template <class T, class F>
bool by_schur(const Dense<T>& a, const Smooth<F>& s, Dense<T>& x, Verdict& v) {
  const double cut = 4 * static_cast<double>(a.n) * Dense<T>::u * a.frobenius();
  bool good = true;
  const auto undefined = [&](std::string reason) {
    v.status = Status::undefined;
    v.reason = std::move(reason);
    good = false;
  };
  const Spectrum spectrum = with_schur(a, [&]<class S>(const SchurForm<S>& form, const Spectrum& found) {
    for (std::int64_t i = 0; i < a.n; ++i)
      if (form.t(i, i) == S(0)) return undefined(say("is singular: its ", s.name, " does not exist."));
    if (kernels::RealOf<T>::parts == 1 && found.negative)
      return undefined(
          say("has the eigenvalue ", std::ldexp(found.most_negative, -s.scale), ": its ", s.name, " is not real."));
    x = turned_back<T>(form, s.f(form.t, cut));
  });
  if (!spectrum.converged) {
    v.status = Status::not_converged;
    good = false;
  }
  return good;
}

// Z f(λ) Zᴴ; the condition is that of the values, max |f′|·λ₁/max |f| (Higham 2008, §3.3).
template <class T, class F>
void by_eigenvalues(const Dense<T>& a, const Smooth<F>& s, Dense<T>& x, Verdict& v) {
  using R = typename Dense<T>::Real;
  std::vector<R> w;
  Dense<T> z;
  v.structure = Structure::symmetric;
  v.method = Method::eigen;
  if (!eigen(a, w, z)) {
    v.status = Status::not_converged;
    return;
  }
  double slope = 0, most = 0, largest = 0;
  bool positive = true;
  std::vector<T> values;
  const double rounding = 4 * static_cast<double>(a.n) * Dense<T>::u * a.frobenius();
  for (R& value : w) {
    if (s.f.at_zero() && value < 0 && value >= -rounding) value = 0;
    positive = positive && value > 0;
    values.push_back(s.f(T(value)));
    slope = std::max(slope, s.f.slope(std::fabs(value)));
    most = std::max<double>(most, std::abs(values.back()));
    largest = std::max<double>(largest, std::fabs(value));
  }
  if (!std::isfinite(most) || (kernels::RealOf<T>::parts == 1 && w.front() < 0)) {
    v.status = Status::undefined;
    v.reason = w.front() < 0
                   ? say("has the eigenvalue ", std::ldexp(w.front(), -s.scale), ": its ", s.name, " is not real.")
                   : say("is singular: its ", s.name, " does not exist.");
    return;
  }
  if (positive) {
    std::vector<R> real;
    for (const T value : values) real.push_back(std::real(value));
    x = recombined(z, real);
  } else {
    x = recombined(z, values);
  }
  const double condition = most > 0 ? slope * largest / most : 1;
  const double error = Dense<T>::u * std::max(condition, 1.0);
  conclude(v, s.name, condition, w.front() >= 0 ? std::min(error, s.f.limit(Dense<T>::u)) : error, Dense<T>::u);
}

// The relative error to expect: by how much the function changes when the matrix does by rounding, in a direction
// that is drawn once and for all (statistical condition estimation, Kenney & Laub 1994). Elements of triangular
// matrices, which are not transformed, change relative to themselves.
template <class T, class F>
double sampled_condition(const Dense<T>& a, const Smooth<F>& s, const Dense<T>& x) {
  using R = typename Dense<T>::Real;
  constexpr double kStep = 1024;
  const bool own = a.upper();
  const double each = a.frobenius() / static_cast<double>(a.n);
  Dense<T> other = a;
  std::uint64_t state = 1;
  for (T& v : other.data) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double change = (state >> 63 ? 1 : -1) * kStep * Dense<T>::u;
    v += own ? v * static_cast<R>(change) : T(static_cast<R>(change * each));
  }
  Dense<T> y(a.n, a.n);
  Verdict unused;
  if (!by_schur(other, s, y, unused)) return HUGE_VAL;
  y -= x;
  const double size = x.frobenius();
  return size > 0 ? y.frobenius() / size / (kStep * Dense<T>::u) : 1;
}

template <class T, class F>
void smooth_function(const Dense<T>& a, const Smooth<F>& s, Dense<T>& x, Verdict& v) {
  if (a.hermitian()) return by_eigenvalues(a, s, x, v);
  v.method = Method::eigen;
  if (!by_schur(a, s, x, v)) return;
  const double condition = sampled_condition(a, s, x);
  conclude(v, s.name, condition, 4 * Dense<T>::u * std::max(condition, 1.0), Dense<T>::u);
}

}  // namespace wp::linalg
