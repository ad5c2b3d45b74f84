// Proved bounds for the error of solutions of A x = b, from an approximate inverse R (Krawczyk 1969, Rump 1983): with
// G = I − R A and ‖G‖∞ < 1, A and R are non-singular, and x − x̃ = R(b − A x̃) + G(x − x̃), so that
//   |x − x̃| ≤ |R(b − A x̃)| + (|G| e) · ‖R(b − A x̃)‖∞ / (1 − ‖G‖∞)   component by component.
// All is computed in double, rounded to nearest; every rounding and underflow is accounted for by a-priori bounds
// (Higham 2002, §3.1; u = 2⁻⁵³, γ_k = k u/(1 − k u), η = 2⁻¹⁰⁷⁴). T: float, double, complex64, complex128.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/sums.hpp"

namespace wp::kernels {

struct Contraction {
  std::vector<double> rows;  // at least Σ_j |G_ij|
  double norm = 0;           // the largest of them, < 1
};
// None: ‖I − R A‖∞ < 1 could not be shown (or this thread does not round to nearest, or flushes denormals to 0).
template <class T>
std::optional<Contraction> contraction(std::int64_t n, View<T> a, View<Wide<T>> r);

// errors[i * k + c] ≥ |x_ic − (X + L)_ic| for the exact solution x of A x = B, B n × k. L may be null. False if a
// bound is not finite.
template <class T>
bool certified_errors(std::int64_t n, std::int64_t k, View<T> a, View<Wide<T>> r, const Contraction& g, View<T> x,
                      View<T> l, View<T> b, double* errors);

}  // namespace wp::kernels
