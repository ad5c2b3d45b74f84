// Exponentials, logarithms and real powers of square matrices.
#pragma once
#include "linalg/dense.hpp"
#include "linalg/schur_form.hpp"

namespace wp::linalg {

template <class T>
struct Exponential {
  Dense<T> value;
  double error = 0;  // relative, in the Frobenius norm: an estimate that follows the rounding errors to first order
  bool beyond = false;  // the range of T, above or below; there is no error then
};
// Scaling and squaring with the norms of powers, which does not scale more than a matrix far from normal needs
// (Al-Mohy & Higham 2009); the diagonal and the one beside it are exact for triangular matrices.
template <class T>
Exponential<T> exponential(const Dense<T>& a);

// log of an upper triangular matrix without zeros on its diagonal, by roots until it is near I, Padé approximation in
// partial fractions, and exact diagonals (Al-Mohy & Higham 2012).
template <class S>
Dense<S> triangular_log(const Dense<S>& t);
// t^p for −1 < p < 1, by roots and Padé approximation of (1 − x)^p, then squaring with exact diagonals (Higham & Lin
// 2011).
template <class S>
Dense<S> triangular_power(const Dense<S>& t, double p);

}  // namespace wp::linalg
