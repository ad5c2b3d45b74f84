#include <cmath>

#include "linalg/each.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/rules.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_nearest_correlation;
namespace {

using namespace linalg;

void infer(Call& c) {
  if (c.attr(0) && !(c.attr(0).real() > 0))
    refuse<ArgumentError>("WP-ARG-001", say("tol must be positive; got ", c.attr(0).real(), "."));
  if (c.attr(1).integer() < 0)
    refuse<ArgumentError>("WP-ARG-001", say("max_iterations must not be negative; got ", c.attr(1).integer(), "."));
  infer_square(c);
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The dual problem of Qi & Sun 2006: minimise θ(y) = ½‖(A + diag y)₊‖² − Σy; its gradient is diag((A + diag y)₊) − 1,
// and X = (A + diag y)₊ at the minimum is the nearest correlation matrix.
template <class T>
class Dual {
 public:
  using R = typename Dense<T>::Real;
  explicit Dual(const Dense<T>& a) : a_(a) {}
  bool converged = true;
  double value = 0;
  std::vector<double> gradient;

  void look(const std::vector<double>& y) {
    Dense<T> m = a_;
    for (std::int64_t i = 0; i < m.n; ++i) m(i, i) += T(static_cast<R>(y[static_cast<std::size_t>(i)]));
    converged = converged && eigen(m, w_, z_);
    value = 0;
    std::vector<R> kept;
    for (const R v : w_) {
      kept.push_back(std::max(v, R(0)));
      value += 0.5 * static_cast<double>(kept.back()) * static_cast<double>(kept.back());
    }
    x_ = recombined(z_, kept);
    gradient.clear();
    for (std::int64_t i = 0; i < m.n; ++i) {
      gradient.push_back(static_cast<double>(std::real(x_(i, i))) - 1);
      value -= y[static_cast<std::size_t>(i)];
    }
  }
  const Dense<T>& matrix() const { return x_; }
  std::int64_t positive() const {
    return std::count_if(w_.begin(), w_.end(), [](R v) { return v > 0; });
  }
  // The generalised Hessian times h: diag(Z (Ω ∘ Zᴴ diag(h) Z) Zᴴ), Ω_ij = (λ_i⁺ − λ_j⁺)/(λ_i − λ_j).
  std::vector<double> curve(const std::vector<double>& h) const {
    const std::int64_t n = a_.n;
    Dense<T> scaled = z_;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) scaled(i, j) *= static_cast<R>(h[static_cast<std::size_t>(i)]);
    Dense<T> m = z_.adjoint() * scaled;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) m(i, j) *= omega(i, j);
    const Dense<T> left = z_ * m;
    std::vector<double> out;
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += static_cast<double>(std::real(times(left(i, j), conjugate(z_(i, j)))));
      out.push_back(sum);
    }
    return out;
  }

 private:
  R omega(std::int64_t i, std::int64_t j) const {
    const R p = w_[static_cast<std::size_t>(i)], q = w_[static_cast<std::size_t>(j)];
    if (p > 0 && q > 0) return 1;
    if (p <= 0 && q <= 0) return 0;
    return p > 0 ? p / (p - q) : q / (q - p);
  }
  const Dense<T>& a_;
  std::vector<R> w_;
  Dense<T> z_, x_;
};

// The Newton step by conjugate gradients, to a residual that shrinks with the gradient: then convergence is
// quadratic.
template <class T>
std::vector<double> newton_step(const Dual<T>& dual, double size) {
  const std::vector<double>& g = dual.gradient;
  const double shift = std::min(1e-3, 0.1 * size), goal = std::min(0.1, size) * size;
  std::vector<double> d(g.size(), 0.0), r(g.size()), p;
  for (std::size_t i = 0; i < g.size(); ++i) r[i] = -g[i];
  p = r;
  double rr = dot(r, r);
  for (int k = 0; k < 200 && std::sqrt(rr) > goal; ++k) {
    std::vector<double> q = dual.curve(p);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += shift * p[i];
    const double alpha = rr / dot(p, q);
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double next = dot(r, r);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = r[i] + next / rr * p[i];
    rr = next;
  }
  return d;
}

template <class T>
void nearest(Job<T>& job, const Dense<T>& a, double tol, std::int64_t limit, double* shift) {
  Verdict& v = job.verdict;
  std::fill_n(shift, job.n, std::nan(""));
  v.structure = Structure::symmetric;
  v.method = Method::eigen;
  if (job.n == 0) return;
  Dual<T> dual(a);
  std::vector<double> y;
  for (std::int64_t i = 0; i < a.n; ++i) y.push_back(1 - static_cast<double>(std::real(a(i, i))));
  dual.look(y);
  const auto size = [&] { return std::sqrt(dot(dual.gradient, dual.gradient)); };
  for (std::int64_t k = 0; k < limit && dual.converged && size() > tol; ++k) {
    const std::vector<double> step = newton_step(dual, size());
    const double before = dual.value, slope = dot(dual.gradient, step);
    std::vector<double> next(y.size());
    double t = 1;
    for (int halving = 0; halving < 40; ++halving, t /= 2) {  // Armijo's rule
      for (std::size_t i = 0; i < y.size(); ++i) next[i] = y[i] + t * step[i];
      dual.look(next);
      if (dual.value <= before + 1e-4 * t * slope + 1e-14 * std::fabs(before)) break;
    }
    y = next;
  }
  v.forward_error = size();
  Dense<T> x = dual.matrix();
  for (std::int64_t i = 0; i < a.n; ++i)
    for (std::int64_t j = 0; j < i; ++j) {
      x(i, j) /= std::sqrt(std::real(x(i, i))) * std::sqrt(std::real(x(j, j)));
      x(j, i) = conjugate(x(i, j));
    }
  for (std::int64_t i = 0; i < a.n; ++i) x(i, i) = T(1);
  job.put(x);
  x -= a;
  v.backward_error = a.largest() > 0 ? x.frobenius() / a.frobenius() : 1;
  v.kept = dual.positive();
  if (dual.converged && v.forward_error <= tol) {
    std::copy(y.begin(), y.end(), shift);
    return;
  }
  v.status = Status::not_converged;
  char text[160];
  std::snprintf(text, sizeof text, "did not converge: the diagonal is still %.2g away from 1, more than tol = %.2g.",
                v.forward_error, tol);
  v.reason = text;
  job.keep = dual.converged;
}

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back(), limit = c.attr(1).integer();
  const std::string_view uplo = c.attr(2) ? c.attr(2).text() : std::string_view();
  const double u = round_off(working_dtype(c.key, n));
  const double tol = c.attr(0) ? c.attr(0).real() : 64 * static_cast<double>(std::max<std::int64_t>(n, 1)) * u;
  std::vector<double> asymmetry(static_cast<std::size_t>(count_of(batch_of(c.in[0]))));
  const Advice advice{policy_of(c, 3), "Allow more iterations (max_iterations), or a larger tol.", true,
                      [&] { report_asymmetry(c, asymmetry, c.in[0].dtype()); }};
  Dims line = batch_of(c.in[0]);
  line.push_back(n);
  const Tensor shifts = Tensor::adopt(detail::make_node(f64, line));
  auto* const to = reinterpret_cast<double*>(shifts.node()->data);
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    const Hermitian<T> h(job.n, job.a, uplo);
    asymmetry[static_cast<std::size_t>(job.member)] = h.asymmetry;
    nearest(job, Dense<T>(job.n, job.n, {h.matrix.data(), job.n, 1}), tol, limit, to + job.member * n);
  });
  keep_counts(c);
  c.beside().residuals.insert(c.beside().residuals.begin(), shifts);
}

// With M = A + diag y and Ω the derivative of M₊: X = M₊, dX = Ω[dA + diag dy], and dy keeps the diagonal. So A has
// the cotangent Ω[g − diag z] with diag Ω[diag z] = diag Ω[g].
class Implicit {
 public:
  Implicit(const Tensor& a, const Tensor& y, const Tensor& kept) : kept_(kept), m_(add(a, on(a, y))) {}
  Tensor omega(const Tensor& e) const { return spectral_cotangent(SpectralFunction::positive, kept_, m_, e); }
  static Tensor diagonal_of(const Tensor& x) { return real(linalg::diagonal(x)); }
  static Tensor on(const Tensor& like, const Tensor& y) { return astype(on_diagonal(y), like.dtype()); }
  Tensor value() const { return spectral_value(SpectralFunction::positive, kept_, m_); }
  // z with diag Ω[diag z] = c.
  Tensor solved(const Tensor& c) const {
    const std::int64_t n = m_.shape().back();
    const Tensor units = on_diagonal(identity(n, m_.dtype()));
    const Tensor columns = diagonal_of(spectral_cotangent(
        SpectralFunction::positive, expand_dims(kept_, {.axis = -2}), expand_dims(m_, {.axis = -3}), units));
    return squeeze(diagnosed::solve(columns, expand_dims(c, {.axis = -1})).value, -1);
  }

 private:
  Tensor kept_, m_;
};

Tensors vjp(const Backward& b) {
  const Tensor &y = b.residuals[0], &kept = b.residuals[1], a = meant_hermitian(b.in[0], b.attr(2));
  if (a.size() == 0) return {zeros_for(b.facts[0])};
  if (any_true(isnan(y)))
    no_derivative_here("the iteration did not converge: what was reached is no function of the matrix.",
                       "Allow more iterations (max_iterations).");
  // A step of Newton's method from y changes nothing but makes it vary with A.
  const Implicit there(a, y, kept);
  const Tensor step = there.solved(subtract(Implicit::diagonal_of(there.value()), 1));
  const Implicit here(a, subtract(y, step), kept);
  const Tensor g = hermitian(b.g()), z = here.solved(Implicit::diagonal_of(here.omega(g)));
  return {hermitian_cotangent(here.omega(subtract(g, Implicit::on(g, z))), b.attr(2))};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr tol = {}, std::int64_t limit = 100, Attr uplo = {}, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {tol, limit, uplo, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_nearest_correlation.params[0].kinds))
      add(d, {3, 3}, {1, 1, 0, 1, 1, 1, 0, 1, 1}, {});
  for (const DType d : {c64, c128}) add(d, {3, 3}, {1, {0.5, 0.5}, 0, {0.5, -0.5}, 1, {0, 1}, 0, {0, -1}, 1}, {});
  add(f64, {4, 4}, {2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2}, "a diagonal that is not 1");
  add(f64, {2, 2}, {1, 0.5, 0.5, 1}, "a correlation matrix: itself");
  add(f64, {2, 2}, {1, 9, 2, 1}, "one triangle", {}, 100, "lower");
  add(f64, {2, 2, 2}, {1, 2, 2, 1, 1, -0.25, -0.25, 1}, "a batch");
  add(f64, {3, 3}, {1, 1, 0, 1, 1, 1, 0, 1, 1}, "not converged: what was reached", {}, 1, {}, "nan");
  add(f64, {3, 3}, {1, 1, 0, 1, 1, 1, 0, 1, 1}, "a given tolerance", 1e-7);
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, "not finite", {}, 100, {}, "nan");
  return out;
}

Op repaired(Op op) {
  op = of_matrices(std::move(op));
  op.flow = [](const FlowQuery& q, Visit visit) { flow_hermitian(q, q.call.attr(2), visit); };
  return op;
}

}  // namespace

const Op op_linalg_nearest_correlation = repaired({
    .name = "nearest_correlation",
    .doc =
        "The correlation matrix (positive semidefinite, ones on the diagonal) nearest to each symmetric or Hermitian "
        "matrix in the Frobenius norm, by Newton's method on the dual problem. What does not converge is a finding; "
        "what was reached is kept.",
    .attrs = {{.name = "tol",
               .type = AttrType::real,
               .doc = "How far the diagonal may be from 1 before it is set to 1; none: 64 n u."},
              {"max_iterations", AttrType::integer, 100, "How many steps of Newton's method."},
              uplo_attr(),
              policy_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .branches = {"a diagonal that is not 1", "a correlation matrix: itself", "one triangle", "a batch",
                 "not converged: what was reached", "a given tolerance", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
