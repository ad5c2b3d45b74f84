// A = Z T Zᴴ with T upper triangular: what functions of general matrices are computed from.
#pragma once
#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>

#include "linalg/dense.hpp"

namespace wp::linalg {

template <class S>
struct SchurForm {
  Dense<S> t, z;
};
// What is known of the eigenvalues of a matrix of T beside T's diagonal.
struct Spectrum {
  int info = 0;  // of LAPACK
  bool converged() const { return info == 0; }
  bool given_real = false;  // the matrix has no imaginary parts: real eigenvalues are exactly so
  bool real = false;        // all of them: T and Z are real
  bool negative = false;    // one lies on the negative real axis (of a real matrix: exactly, as computed)
  double most_negative = 0;
};

// For real T with real eigenvalues only: real factors.
template <class T>
Spectrum schur_form(const Dense<T>& a, SchurForm<T>& out);
// Of a real matrix whose eigenvalues are not all real: the 2 × 2 blocks of its real Schur form are made triangular by
// unitary rotations.
template <class T>
SchurForm<std::complex<T>> complex_form(const SchurForm<T>& real);

// Z X Zᴴ: of a real matrix, whose imaginary part is rounding.
template <class T, class S>
Dense<T> turned_back(const SchurForm<S>& form, const Dense<S>& x);

// How far Z T Zᴴ may be from A, with signs drawn once and for all: the residual, what rounding hides of it, and what
// Z lacks to be unitary. Of a triangular matrix, which is its own form: rounding of each element.
template <class T, class S>
Dense<T> uncertainty(const Dense<T>& a, const SchurForm<S>& form);
// Eigenvalues of a complex matrix that lie on the negative real axis, or nearer to it than their uncertainty (the
// diagonal of `doubt`), are put onto its upper side: roots of them have positive imaginary parts. Whether one was
// moved: then rounding decided.
template <class S>
bool put_on_cut(Dense<S>& t, const Dense<S>& doubt);

// The principal root of an upper triangular matrix (Björck & Hammarling 1983): u_ij (u_ii + u_jj) = t_ij − Σ u_ik
// u_kj. Where u_ii + u_jj = 0 and the right side is not: `exists` becomes false.
template <class S>
Dense<S> triangular_root(const Dense<S>& t, bool* exists = nullptr);

// A real matrix as one of S.
template <class S, class T>
Dense<S> as(const Dense<T>& a) {
  if constexpr (std::is_same_v<S, T>) {
    return a;
  } else {
    Dense<S> out(a.m, a.n);
    std::copy(a.data.begin(), a.data.end(), out.data.begin());
    return out;
  }
}

// f(SchurForm<T>, …) or f(SchurForm<complex>, …) by the eigenvalues of a.
template <class T, class F>
Spectrum with_schur(const Dense<T>& a, F&& f) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    if (std::all_of(a.data.begin(), a.data.end(), [](T v) { return v.imag() == 0; })) {
      // Of a real matrix: its real eigenvalues are exactly so.
      Dense<typename Dense<T>::Real> real(a.m, a.n);
      for (std::size_t i = 0; i < a.data.size(); ++i) real.data[i] = a.data[i].real();
      SchurForm<typename Dense<T>::Real> form;
      Spectrum s = schur_form(real, form);
      s.given_real = true;
      if (s.converged()) f(complex_form(form), s);
      return s;
    }
  SchurForm<T> form;
  const Spectrum s = schur_form(a, form);
  if (!s.converged()) return s;
  if constexpr (kernels::RealOf<T>::parts == 1) {
    if (s.real)
      f(form, s);
    else
      f(complex_form(form), s);
  } else {
    f(form, s);
  }
  return s;
}

}  // namespace wp::linalg
