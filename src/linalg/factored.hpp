// Systems whose matrix is given by its triangular factors.
#pragma once
#include "linalg/members.hpp"
#include "linalg/solving.hpp"

namespace wp::linalg {

// Right-hand sides as solve takes them: argument `at` is one vector if it is 1-d, else [..., n, k].
struct RightSides {
  Tensor b;    // [..., n, k]
  Dims batch;  // of the factors, whose leading axes are given, and b
  std::int64_t n, k;
  bool vector;
  RightSides(const Call& c, std::size_t at, std::int64_t n, const Dims& factors);
  Dims shape() const;  // of the answer
};
AttrSpec factored_policy_attr();

// A = lower · upper; of each only its triangle is read. T: float, double, complex64, complex128.
template <class T>
struct Triangles {
  std::int64_t n;
  kernels::View<T> lower, upper;

  bool finite() const;
  // X ← A⁻¹X or A⁻ᴴX.
  void solve(std::int64_t columns, kernels::MutableView<T> x, bool adjoint = false) const;
  // How good an answer X is: |x̂ − x| ≤ γ·|A⁻¹|·|L|·|U|·|x̂| (Higham 2002, theorem 9.4), relative to ‖x̂‖∞ at most
  // γ·‖A⁻¹·D‖∞ with D = diag(|L|·|U|·|x̂|/‖x̂‖∞). Scaling the rows of A does not change it.
  Verdict judge(std::int64_t columns, kernels::View<T> x) const;
  static double threshold();  // of rcond = 1/‖A⁻¹·D‖∞, below which no digit is sure
};

// One member: checks, solves in place (x, n × k, holds B), judges; NaN where no digit is sure unless `keep`.
template <class T>
Verdict solve_factored(const Triangles<T>& a, std::int64_t k, T* x, bool keep);

}  // namespace wp::linalg
