// Functions of square matrices that are smooth but on the closed negative real axis: logarithm, real powers.
#pragma once
#include "linalg/each.hpp"
#include "linalg/interpret.hpp"
#include "linalg/schur_form.hpp"

namespace wp::linalg {

// f on triangular matrices, f(Dense<S>), and on numbers, f(S); f.slope(x) = |f′(x)| for real x > 0; f.at_zero():
// whether f(0) is 0 and ‖f(A) − f(B)‖ ≤ f.limit(‖A − B‖) for semidefinite matrices of norm 1.
template <class F>
struct Smooth {
  std::string_view name;
  F f;
  int scale = 0;  // the matrix is 2^scale times what was given
};

// What the Schur form leaves open: a change of the matrix, and whether an eigenvalue is no larger than that.
template <class T>
struct Doubt {
  Dense<T> change;
  bool singular = false, cut = false;  // cut: rounding decided on which side of it an eigenvalue is
};

// By the Schur form. False: there is no value, and the verdict says why.
template <class T, class F>
bool by_schur(const Dense<T>& a, const Smooth<F>& s, Dense<T>& x, Verdict& v, Doubt<T>* doubt = nullptr) {
  bool good = true;
  const auto undefined = [&](std::string reason) {
    v.status = Status::undefined;
    v.reason = std::move(reason);
    good = false;
  };
  const Spectrum spectrum = with_schur(a, [&]<class S>(SchurForm<S> form, const Spectrum& found) {
    for (std::int64_t i = 0; i < a.n; ++i)
      if (form.t(i, i) == S(0)) return undefined(say("is singular: its ", s.name, " does not exist."));
    if (kernels::RealOf<T>::parts == 1 && found.negative)
      return undefined(
          say("has the eigenvalue ", std::ldexp(found.most_negative, -s.scale), ": its ", s.name, " is not real."));
    const Dense<T> change = uncertainty(a, form);
    const Dense<S> e = form.z.adjoint() * as<S>(change) * form.z;
    const bool exact = a.upper() || found.given_real;
    const bool moved = put_on_cut(form.t, exact ? Dense<S>(a.n, a.n) : e);
    x = turned_back<T>(form, s.f(form.t));
    if (!doubt) return;
    doubt->change = change;
    doubt->cut = moved;
    for (std::int64_t i = 0; i < a.n; ++i)
      doubt->singular = doubt->singular || std::abs(form.t(i, i)) <= 4 * std::abs(e(i, i));
  });
  interpret(Routine::schur, spectrum.info, a.n, a.n, v);
  good = good && spectrum.converged();
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
  if (!eigen(a, w, z, &v)) return;
  double slope = 0, most = 0, largest = 0;
  bool positive = true;
  std::vector<T> values;
  const double rounding = 4 * static_cast<double>(a.n) * Dense<T>::u * a.frobenius();
  for (R& value : w) {
    if (s.f.at_zero() && value < 0 && value >= -rounding) value = 0;
    positive = positive && value >= 0;
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

// The relative error to expect, by how much the function changes when the matrix does by what is in doubt
// (statistical condition estimation, Kenney & Laub 1994).
template <class T, class F>
double sampled_error(const Dense<T>& a, const Smooth<F>& s, const Dense<T>& x, const Doubt<T>& doubt) {
  constexpr double kStep = 8;  // above the rounding errors of both
  Dense<T> other = a, y(a.n, a.n);
  other.add(static_cast<typename Dense<T>::Real>(kStep), doubt.change);
  Verdict unused;
  if (!by_schur(other, s, y, unused)) return 1;
  y -= x;
  const double size = x.frobenius();
  return size > 0 ? 2 * y.frobenius() / size / kStep : 0;
}

template <class T, class F>
void smooth_function(const Dense<T>& a, const Smooth<F>& s, Dense<T>& x, Verdict& v) {
  if (a.hermitian()) return by_eigenvalues(a, s, x, v);
  v.method = Method::eigen;
  Doubt<T> doubt;
  if (!by_schur(a, s, x, v, &doubt)) return;
  const double error = doubt.singular && !s.f.at_zero() ? 1 : sampled_error(a, s, x, doubt);
  conclude(v, s.name, error / Dense<T>::u, std::max(error, Dense<T>::u), Dense<T>::u);
  if (doubt.cut) on_the_cut(v);
}

}  // namespace wp::linalg
