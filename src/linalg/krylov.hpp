// What iterative solvers share: the problem, the true residual, the verdict.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "base/text.hpp"
#include "kernels/gemm.hpp"
#include "linalg/implicit.hpp"
#include "linalg/judgement.hpp"
#include "linalg/refine.hpp"
#include "linalg/stack.hpp"
#include "linalg/vectors.hpp"
#include "ops/dispatch.hpp"
#include "ops/lines.hpp"
#include "wellposed/context.hpp"
#include "wellposed/iterative.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {

// The iteration itself is nothing to a tape: what it solves is.
template <class F>
auto off_the_tape(F&& f) {
  const Unseen unseen;
  return f();
}

// Checks arguments and gives the tolerances; words for what does not fit.
struct IterativeProblem {
  std::string_view function;
  Place place;
  const LinearOperator& a;
  const Tensor& b;
  const IterativeOptions& options;
  double rtol;
  std::int64_t limit;
  IterativeProblem(std::string_view f, const LinearOperator& op, const Tensor& b, const IterativeOptions& o,
                   const Place& where, bool square);
};
// The solvers for derivatives: what is found there is told by this name, of the line that asked for the solution.
IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options, std::string_view name,
                   const Place& place);
IterativeResult gmres(const LinearOperator& a, const Tensor& b, const GmresOptions& options, std::string_view name,
                      const Place& place);
// Whether A is so small that all of it may be looked at, and A written down by products with unit vectors, [m, n].
bool is_small(const LinearOperator& a);
Tensor written_down(const LinearOperator& a);
// Fills x and the message and does what if_ill says.
void settle_iteration(const IterativeProblem& p, IterativeResult& out, std::string_view advice);

// One run in one dtype. Everything is scaled by a power of two that brings b near 1; what goes out is scaled back.
template <class T>
struct Krylov {
  const IterativeProblem& p;
  IterativeResult out;
  Vector<T> b, x;
  double b_norm = 0;
  int exponent = 0;
  bool started = false;  // x0 was given

  Krylov(const IterativeProblem& problem, const Tensor& right)
      : p(problem), b(vector_of(right)), x(static_cast<std::size_t>(problem.a.columns())) {
    if (p.options.x0.defined()) {
      x = vector_of(p.options.x0);
      started = true;
    }
    b_norm = norm(b);
    const double size = b_norm > 0 ? b_norm : norm(residual());
    if (size > 0 && std::isfinite(size)) exponent = std::ilogb(size);
    for (Vector<T>* v : {&b, &x})
      for (T& e : *v) e = times_power(e, -exponent);
    b_norm = std::ldexp(b_norm, -exponent);
    out.target = std::max(p.rtol * b_norm, std::ldexp(p.options.atol, -exponent));
  }
  double actual(double v) const { return std::ldexp(v, exponent); }
  static Vector<T> vector_of(const Tensor& t) {
    const Tensor same = packed(t, dtype_v<T>);
    const T* const v = reinterpret_cast<const T*>(same.node()->data);
    return Vector<T>(v, v + same.size());
  }
  static Tensor tensor_of(const Vector<T>& v) { return Tensor::from(v, {static_cast<std::int64_t>(v.size())}); }
  Vector<T> apply(const Vector<T>& v) const { return vector_of(p.a(tensor_of(v))); }
  Vector<T> adjoint(const Vector<T>& v) const { return vector_of(p.a.apply_adjoint(tensor_of(v))); }
  Vector<T> precondition(const Vector<T>& v) const {
    return p.options.preconditioner ? vector_of((*p.options.preconditioner)(tensor_of(v))) : v;
  }
  // b − A x, computed anew.
  Vector<T> residual() const {
    if (!started && std::all_of(x.begin(), x.end(), [](T v) { return v == T(0); })) return b;
    Vector<T> r = apply(x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    return r;
  }
  // One more iteration with this residual by its own account; false when it is the last one allowed.
  bool step(double residual) {
    ++out.iterations;
    note(residual);
    return out.iterations < p.limit;
  }
  void note(double residual) {
    out.residuals.push_back(actual(residual));
    if (p.options.progress) p.options.progress(out.iterations, out.residuals.back());
  }
  // The iteration called itself converged, and the true residual does not agree.
  void disagree() {
    out.status = Status::not_converged;
    out.message = say("the iteration's own residual converged to ", out.residuals.back(), ", the true one is ",
                      actual(out.residual), ": rounding allows no more.");
  }
  IterativeResult finish(std::string_view advice) {
    if (!std::isfinite(out.residual) && out.status != Status::not_spd) out.status = Status::nonfinite_input;
    for (T& e : x) e = times_power(e, exponent);
    out.x = tensor_of(x);
    for (double* v : {&out.residual, &out.normal_residual, &out.target}) *v = actual(*v);
    settle_iteration(p, out, advice);
    return std::move(out);
  }
};

}  // namespace wp::linalg
