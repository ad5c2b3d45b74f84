#include "base/text.hpp"
#include "linalg/explain.hpp"
#include "linalg/krylov_judge.hpp"
#include "linalg/rules.hpp"

namespace wp::linalg {
namespace {

// Names as in Fong & Saunders 2011, §2.8 and §5: bars and hats are written out, λ is the damping.
template <class T>
class Lsmr {
 public:
  Lsmr(Krylov<T>& k, double damp) : k_(k), damp_(damp) {}

  // Adds the solution of min ‖A d − r‖² + λ²‖d‖² to x; false when the iterations are used up.
  bool run(Vector<T> u) {
    const double scale = norm(u);  // the rest is of size 1, whatever A and b are
    double beta = 1;
    multiply(u, 1 / scale);
    Vector<T> v = adjoint(u);
    double alpha = norm(v);
    if (alpha > 0) multiply(v, 1 / alpha);
    Vector<T> h = v, h_bar(v.size()), y(v.size());
    double alpha_bar = alpha, zeta_bar = alpha, zeta = 0, rho = 1, rho_bar = 1, c_bar = 1, s_bar = 0;
    Size size{1};
    norm_ = std::max(norm_, alpha);
    bool done = alpha == 0, more = k_.out.iterations < k_.p.limit;
    while (more && !done) {
      const double diagonal = alpha;
      bidiagonalise(u, v, alpha, beta);
      norm_ = std::max(norm_, std::hypot(diagonal, beta));
      const double alpha_hat = std::hypot(alpha_bar, damp_), c_hat = alpha_bar / alpha_hat, s_hat = damp_ / alpha_hat;
      const double rho_old = rho, rho_bar_old = rho_bar, zeta_old = zeta;
      rho = std::hypot(alpha_hat, beta);
      const double c = alpha_hat / rho, s = beta / rho, theta_new = s * alpha;
      alpha_bar = c * alpha;
      const double theta_bar = s_bar * rho, rho_temp = c_bar * rho;
      rho_bar = std::hypot(rho_temp, theta_new);
      c_bar = rho_temp / rho_bar;
      s_bar = theta_new / rho_bar;
      zeta = c_bar * zeta_bar;
      zeta_bar = -s_bar * zeta_bar;
      const double back = theta_bar / rho_bar_old * (rho / rho_old);
      for (std::size_t i = 0; i < h.size(); ++i) h_bar[i] = h[i] - static_cast<Real>(back) * h_bar[i];
      add<T>(y, zeta / rho / rho_bar, h_bar);
      for (std::size_t i = 0; i < h.size(); ++i) h[i] = v[i] - static_cast<Real>(theta_new / rho) * h[i];
      const double residual = scale * size.next({c_hat, s_hat, c, s}, theta_bar, rho_bar, zeta, zeta_old);
      watch_condition(rho_bar_old, rho_temp);
      more = k_.step(residual) && std::isfinite(residual);
      done = residual <= k_.out.target || scale * (std::fabs(zeta_bar) / norm_) <= k_.p.rtol * residual || alpha == 0;
    }
    add<T>(k_.x, scale, k_.precondition(y));
    return done;
  }
  double operator_norm() const { return norm_; }  // ‖A M‖₂ from below: the longest column of the bidiagonal matrix
  double least_value() const { return smallest_; }
  double condition() const { return largest_ / smallest_; }
  Vector<T> adjoint(const Vector<T>& u) const {
    const Vector<T> v = k_.adjoint(u);
    return k_.p.options.preconditioner
               ? Krylov<T>::vector_of(k_.p.options.preconditioner->apply_adjoint(Krylov<T>::tensor_of(v)))
               : v;
  }

 private:
  using Real = typename kernels::RealOf<T>::type;

  // β u = A M v − α u, α v = (A M)ᴴ u − β v (Golub & Kahan 1965).
  void bidiagonalise(Vector<T>& u, Vector<T>& v, double& alpha, double& beta) const {
    const Vector<T> forward = k_.apply(k_.precondition(v));
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = forward[i] - static_cast<Real>(alpha) * u[i];
    beta = norm(u);
    if (beta > 0) multiply(u, 1 / beta);
    const Vector<T> back = adjoint(u);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = back[i] - static_cast<Real>(beta) * v[i];
    alpha = beta > 0 ? norm(v) : 0;
    if (alpha > 0) multiply(v, 1 / alpha);
  }

  // √(‖r‖² + λ²‖d‖²), by §5.2.
  struct Size {
    struct Rotations {
      double c_hat, s_hat, c, s;
    };
    double beta_dd, beta_d = 0, rho_d_old = 1, tau_old = 0, theta = 0, sum = 0;
    double next(const Rotations& r, double theta_bar, double rho_bar, double zeta, double zeta_old) {
      const double acute = r.c_hat * beta_dd, check = -r.s_hat * beta_dd, hat = r.c * acute;
      beta_dd = -r.s * acute;
      const double theta_old = theta, rho_old = std::hypot(rho_d_old, theta_bar);
      const double c = rho_d_old / rho_old, s = theta_bar / rho_old;
      theta = s * rho_bar;
      rho_d_old = c * rho_bar;
      beta_d = -s * beta_d + c * hat;
      tau_old = (zeta_old - theta_old * tau_old) / rho_old;
      const double tau = (zeta - theta * tau_old) / rho_d_old;
      sum += check * check;
      return std::sqrt(sum + (beta_d - tau) * (beta_d - tau) + beta_dd * beta_dd);
    }
  };
  void watch_condition(double rho_bar_old, double rho_temp) {
    if (seen_++ > 0) {
      most_ = std::max(most_, rho_bar_old);
      least_ = std::min(least_, rho_bar_old);
    }
    largest_ = std::max(most_, rho_temp);
    smallest_ = std::min(least_, rho_temp);
  }

  Krylov<T>& k_;
  double damp_, norm_ = 0, most_ = 0, least_ = HUGE_VAL, largest_ = 1, smallest_ = 1;
  std::int64_t seen_ = 0;
};

template <class T>
IterativeResult solve(const IterativeProblem& p, const Tensor& b, double damp) {
  Krylov<T> k(p, b);
  Lsmr<T> lsmr(k, damp);
  Vector<T> r = k.residual(), normal;
  k.out.residual = norm(r);
  k.note(k.out.residual);
  bool converged = k.out.residual <= k.out.target;
  // What the true residuals say; ‖Aᴴr − λ²x‖ in the coordinates of the preconditioner.
  double slope = 0;
  const auto look = [&] {
    r = k.residual();
    k.out.residual = norm(r);
    normal = lsmr.adjoint(r);
    for (std::size_t i = 0; i < normal.size() && damp != 0; ++i)
      normal[i] -= static_cast<typename kernels::RealOf<T>::type>(damp * damp) * k.x[i];
    slope = norm(normal);
    const double whole = std::hypot(k.out.residual, damp * norm(k.x));
    return k.out.residual <= k.out.target || slope == 0 || slope / lsmr.operator_norm() <= p.rtol * whole;
  };
  double last = HUGE_VAL;
  while (!converged && std::isfinite(k.out.residual)) {
    const bool claimed = lsmr.run(r);
    converged = look();
    if (converged || !std::isfinite(k.out.residual)) break;
    if (claimed && damp == 0 && slope <= last / 2 && k.out.iterations < p.limit) {
      last = slope;
      continue;
    }
    k.out.status = Status::not_converged;
    if (claimed) k.disagree();
    break;
  }
  if (k.out.iterations > 0) {
    k.out.normal_residual = slope;
    // x̂ − x = (AᴴA + λ²)⁻¹(Aᴴr − λ²x̂)
    ValueRange seen;
    if (!p.options.preconditioner) {  // else of A M
      k.out.condition = lsmr.condition();
      seen.take(lsmr.least_value(), lsmr.operator_norm());
    }
    if (converged) Judge<T>(k, damp, true)(seen, r, slope);
  }
  if (converged && k.out.residual > k.out.target)
    k.out.message = say("least squares: ‖Aᴴ(b − A x)‖ = ", few_digits(k.actual(slope)), ".");
  return k.finish("Give a preconditioner, more iterations, or a damping.");
}

// The solution of the normal equations, for the derivative.
Tensor solved(const LinearOperator& normal, const Tensor& g, const IterativeOptions& options, const Place& place) {
  try {
    return cg(normal, g, options, "cg in the derivative of lsmr", place).x;
  } catch (const LinalgError& e) {
    no_derivative_here(
        say("the derivative takes the rank of A to be full, and the solver that it uses says: ", e.finding().message),
        "Use lstsq, or a damping.");
  }
}

// For the tape: x solves Aᴴ(b − A x) = damp² x; of a wide A it is x0 + M Bᴴ y, where B = A M and B Bᴴ y = b − A x0.
// The rank is taken to be full, as where an iteration meets few singular values it does not see which others vanish.
Tensor connected(const LinearOperator& a, const Tensor& b, const Tensor& x, const LsmrOptions& options,
                 const Place& place) {
  IterativeOptions inner;
  inner.rtol = options.rtol;
  inner.if_ill = options.if_ill;
  inner.judge = options.judge;
  if (a.rows() < a.columns() && options.damp == 0) {
    const LinearOperator turned = options.preconditioner ? a * *options.preconditioner : a;
    const LinearOperator outer_product = turned * turned.adjoint();
    const auto solve_adjoint = [outer_product, inner, place](const Tensor& g) {
      return solved(outer_product, g, inner, place);
    };
    const Tensor rest = options.x0.defined() ? wp::subtract(b, a(options.x0)) : b;
    Tensor y;
    try {
      IterativeOptions sure = inner;
      sure.if_ill = "raise";
      y = off_the_tape([&] { return solved(outer_product, rest, sure, place); });
    } catch (const GradientError& e) {  // x is right all the same: who asks for its derivative is told
      return implicit_solution(
          x, [a, b](const Tensor& v) { return wp::subtract(b, a(v)); },
          [f = e.finding()](const Tensor&) -> Tensor { no_derivative_here(f.message, f.advice); }, Solver::lsmr,
          place);
    }
    const auto residual = [rest, outer_product](const Tensor& v) { return wp::subtract(rest, outer_product(v)); };
    Tensor part = turned.apply_adjoint(implicit_solution(y, residual, solve_adjoint, Solver::lsmr, place));
    if (options.preconditioner) part = (*options.preconditioner)(part);
    return options.x0.defined() ? wp::add(options.x0, part) : part;
  }
  const double square = options.damp * options.damp;
  const LinearOperator normal(a.columns(), a.columns(), a.dtype(), [a, square](const Tensor& v) {
    return wp::add(a.apply_adjoint(a(v)), wp::multiply(v, square));
  });
  const auto solve_adjoint = [normal, inner, place](const Tensor& g) { return solved(normal, g, inner, place); };
  const auto residual = [a, b, square](const Tensor& v) {
    return wp::subtract(a.apply_adjoint(wp::subtract(b, a(v))), wp::multiply(v, square));
  };
  return implicit_solution(x, residual, solve_adjoint, Solver::lsmr, place);
}

}  // namespace

IterativeResult lsmr(const LinearOperator& a, const Tensor& b, const LsmrOptions& options,
                     std::source_location where) {
  const IterativeProblem p("lsmr", a, b, options, where, false);
  const auto refused = [](std::string message, std::string advice) {
    raise<ArgumentError>("WP-ARG-001", "lsmr", std::move(message), std::move(advice));
  };
  if (!a.has_adjoint() || (options.preconditioner && !options.preconditioner->has_adjoint()))
    refused("needs the adjoint of A and of the preconditioner.", "Give LinearOperator a second callable, y ↦ Aᴴ y.");
  if (!(options.damp >= 0) || std::isinf(options.damp))
    refused(say("damp must be a finite number that is not negative; got ", options.damp, "."), "");
  if (options.damp != 0 && (options.x0.defined() || options.preconditioner))
    refused("damp with x0 or a preconditioner would damp something else than x.", "Leave one of them out.");
  IterativeResult out =
      off_the_tape([&] { return with_float(a.dtype(), [&]<class T>(T) { return solve<T>(p, b, options.damp); }); });
  if (context().listeners) out.x = connected(a, b, out.x, options, where);
  return out;
}

}  // namespace wp::linalg
