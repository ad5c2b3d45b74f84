// Norms, the 1-norm of an inverse from a few solves, and scaling by powers of two. T: float, double, complex64,
// complex128.
#pragma once
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/survey.hpp"

namespace wp::kernels {

// Of an m × n matrix: largest column sum, largest row sum, largest element, root of the sum of squares. In double,
// scaled by a power of two: a norm is infinite only if it is above the largest double. NaN if an element is.
struct Norms {
  double one = 0, infinity = 0, largest = 0, frobenius = 0;
};
template <class T>
Norms norms(std::int64_t m, std::int64_t n, View<T> a);

// ‖A⁻¹‖₁ from below, nearly always within a factor 3: Hager's algorithm as in Higham 1988, Algorithm 4.1 (LAPACK's
// xLACN2), 4 or 5 solves as a rule, 11 at most. `vector` = A⁻¹w attains it: ‖vector‖₁ = estimate·‖w‖₁, so it is
// nearly a null vector if A is nearly singular. Infinite if a solve overflows or gives NaN. An estimate of `enough`
// at most, after the first unit vector, is not made better: 2 solves beside the starts.
template <class T>
struct InverseNorm {
  typename RealOf<T>::type estimate = 0;
  std::vector<T> vector;
  int solves = 0;
};
// apply(state, x, false): x ← A⁻¹x; apply(state, x, true): x ← A⁻ᴴx.
template <class T>
using Apply = void (*)(void* state, T* x, bool transposed);
// The two vectors that are solved for in any case: constant, and with alternating signs and rising sizes. `solved`:
// A⁻¹ times them, n numbers that are `stride` apart, from those who solve for both at once.
template <class T>
void inverse_norm_starts(std::int64_t n, T* constant, T* alternating, std::int64_t stride);
template <class T>
struct Starts {
  const T *constant = nullptr, *alternating = nullptr;
  std::int64_t stride = 1;
};
template <class T>
InverseNorm<T> estimate_inverse_norm(std::int64_t n, Apply<T> apply, void* state, const Starts<T>& solved,
                                     double enough);

// With solve(x), solve_transposed(x) as callables.
template <class T, class Solve, class SolveTransposed>
InverseNorm<T> inverse_norm(std::int64_t n, Solve&& solve, SolveTransposed&& solve_transposed,
                            const Starts<T>& solved = {}, double enough = 0) {
  struct Both {
    std::remove_reference_t<Solve>& plain;
    std::remove_reference_t<SolveTransposed>& transposed;
  } both{solve, solve_transposed};
  const Apply<T> apply = [](void* state, T* x, bool transposed) {
    Both& b = *static_cast<Both*>(state);
    transposed ? static_cast<void>(b.transposed(x)) : static_cast<void>(b.plain(x));
  };
  return estimate_inverse_norm<T>(n, apply, &both, solved, enough);
}

// Â = 2^rows · A · 2^columns (diagonal matrices of powers of two). A x = b is Â y = 2^rows b, x = 2^columns y.
// |z| = max(|re|, |im|) throughout.
struct Equilibration {
  std::vector<int> rows, columns;                // exponents; all 0 where nothing was needed
  bool needed = false;                           // false: all exponents are 0
  std::int64_t zero_rows = 0, zero_columns = 0;  // how many lines are 0 throughout (their exponent is 0)
  std::int64_t first_zero_row = -1, first_zero_column = -1;
};
// General: after it the largest element of every row and column is in [1/2, 1) (LAPACK's xGEEQUB). Rows, columns are
// left alone while their largest elements are within a factor of 8 of each other and far from overflow.
template <class T>
Equilibration equilibrate(std::int64_t m, std::int64_t n, View<T> a);
// Of a symmetric or Hermitian matrix: rows = columns, the largest element of every row ends in [1/4, 2) (Ruiz 2001:
// each step takes the root of the row's norm). All of A is read.
template <class T>
Equilibration equilibrate_symmetric(std::int64_t n, View<T> a);
// The same of a finite matrix that was surveyed, and whether they would scale at all.
template <class T>
Equilibration equilibrate(std::int64_t m, std::int64_t n, View<T> a, const Survey<T>& survey);
template <class T>
Equilibration equilibrate_symmetric(std::int64_t n, View<T> a, const Survey<T>& survey);
template <class T>
bool needs_scaling(std::int64_t m, std::int64_t n, const Survey<T>& survey);
// General, n × n: no element of the result exceeds 1, and n of them, one in every row and column, are in [1/2, 1): a
// heaviest matching (Olschowka & Neumaier 1996; Duff & Koster 2001). It sees through zeros, which hide from the
// largest elements what rows and columns weigh. None: no such n elements are there, A is singular whatever its
// numbers are. O(n³) at worst.
template <class T>
std::optional<Equilibration> equilibrate_by_matching(std::int64_t n, View<T> a);
// 2^e · A has its largest element in [1/2, 1); 0 for A = 0.
template <class T>
int prescale_exponent(std::int64_t m, std::int64_t n, View<T> a);
// to = 2^rows · A · 2^columns, row-major, maybe of a wider type. Returns whether that is exact: it is unless an
// element falls below the normal numbers (or overflows).
template <class T, class To>
bool scale(std::int64_t m, std::int64_t n, View<T> a, const int* rows, const int* columns, To* to);

}  // namespace wp::kernels
