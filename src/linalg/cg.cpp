#include "base/text.hpp"
#include "linalg/krylov_judge.hpp"
#include "wellposed/context.hpp"

namespace wp::linalg {
namespace {

// The Lanczos matrix of M A from the coefficients of conjugate gradients: diagonal 1/αₖ + βₖ₋₁/αₖ₋₁, beside it √βₖ/αₖ
// (Golub & Van Loan 2013, §11.3.7). Its eigenvalues lie among those of M A.
class Lanczos {
 public:
  void add(double alpha, double beta) {
    diagonal_.push_back(1 / alpha + (diagonal_.empty() ? 0 : last_beta_ / last_alpha_));
    beside_.push_back(std::sqrt(beta) / alpha);
    last_alpha_ = alpha;
    last_beta_ = beta;
  }
  struct Range {
    double low, high;
  };
  Range range() const {
    double low = HUGE_VAL, high = 0;  // Gershgorin
    for (std::size_t i = 0; i < diagonal_.size(); ++i) {
      const double radius = (i ? beside_[i - 1] : 0) + (i + 1 < diagonal_.size() ? beside_[i] : 0);
      low = std::min(low, diagonal_[i] - radius);
      high = std::max(high, diagonal_[i] + radius);
    }
    return {value(0, low, high), value(diagonal_.size() - 1, low, high)};
  }
  bool empty() const { return diagonal_.empty(); }

 private:
  // How many eigenvalues lie below t: negative pivots of T − t I (Sturm).
  std::size_t below(double t) const {
    std::size_t count = 0;
    double pivot = 1;
    for (std::size_t i = 0; i < diagonal_.size(); ++i) {
      pivot = diagonal_[i] - t - (i ? beside_[i - 1] * beside_[i - 1] / pivot : 0);
      if (pivot == 0) pivot = 1e-300;
      count += pivot < 0;
    }
    return count;
  }
  double value(std::size_t k, double low, double high) const {
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (below(middle) > k ? high : low) = middle;
    }
    return 0.5 * (low + high);
  }

  std::vector<double> diagonal_, beside_;
  double last_alpha_ = 1, last_beta_ = 0;
};

template <class T>
class ConjugateGradients {
 public:
  explicit ConjugateGradients(Krylov<T>& k) : k_(k) {}

  // Goes on from x until the iteration calls itself converged; false when it cannot go on.
  bool run(Vector<T> r) {
    Lanczos lanczos;
    const bool claimed = run(std::move(r), lanczos);
    if (!lanczos.empty()) {
      const Lanczos::Range range = lanczos.range();
      ritz_ = {std::min(ritz_.low, range.low), std::max(ritz_.high, range.high)};
    }
    return claimed;
  }
  // The extreme Ritz values of all runs; low = ∞ before the first.
  Lanczos::Range ritz() const { return ritz_; }

 private:
  using Real = typename kernels::RealOf<T>::type;

  bool run(Vector<T> r, Lanczos& lanczos) {
    Vector<T> z = k_.precondition(r), p = z;
    double rz = std::real(dot(r, z));
    if (!positive(rz, "the preconditioner", rz)) return false;
    while (k_.out.iterations < k_.p.limit) {
      const Vector<T> q = k_.apply(p);
      const Sum<T> pq = dot(p, q);
      if (!positive(std::real(pq), "A", rz)) return false;
      if (std::fabs(std::imag(pq)) > std::sqrt(kUnit<T>) * std::real(pq)) {
        k_.out.message = "A is not Hermitian: pᴴA p is not real.";
        k_.out.status = Status::not_spd;
        return false;
      }
      const double alpha = rz / std::real(pq);
      add<T>(k_.x, alpha, p);
      add<T>(r, -alpha, q);
      const double size = norm(r);
      const bool more = k_.step(size);
      if (!std::isfinite(size)) return false;
      const bool done = size <= k_.out.target;
      if (!done) z = k_.precondition(r);
      const double next = done ? 0 : std::real(dot(r, z));
      if (!done && !positive(next, "the preconditioner", next)) return false;
      const double beta = next / rz;
      lanczos.add(alpha, beta);
      if (done) return true;
      if (!more) return false;
      for (std::size_t i = 0; i < p.size(); ++i) p[i] = z[i] + static_cast<Real>(beta) * p[i];
      rz = next;
    }
    return false;
  }

  bool positive(double v, std::string_view what, double of) {
    if (v > 0 && std::isfinite(v)) return true;
    if (std::isfinite(v) && std::isfinite(of)) {
      k_.out.status = Status::not_spd;
      k_.out.message = say(what, " is not positive definite: ", what == "A" ? "pᴴA p = " : "rᴴM r = ", v,
                           " for a vector of the iteration.");
    } else {
      k_.out.status = Status::nonfinite_input;
    }
    return false;
  }

  Krylov<T>& k_;
  Lanczos::Range ritz_{HUGE_VAL, 0};
};

template <class T>
IterativeResult solve(const IterativeProblem& p, const Tensor& b) {
  Krylov<T> k(p, b);
  ConjugateGradients<T> cg(k);
  Vector<T> r = k.residual();
  k.out.residual = norm(r);
  k.note(k.out.residual);
  bool converged = k.out.residual <= k.out.target;
  while (!converged && std::isfinite(k.out.residual)) {
    const double before = k.out.residual;
    const bool claimed = cg.run(r);
    r = k.residual();  // the recursive residual drifts from b − A x by rounding (Greenbaum 1997)
    k.out.residual = norm(r);
    converged = k.out.residual <= k.out.target;
    if (converged || k.out.status != Status::ok) break;
    if (claimed && k.out.residual <= before / 2) continue;
    k.out.status = Status::not_converged;
    if (claimed) k.disagree();
    break;
  }
  ValueRange seen;
  if (const auto [low, high] = cg.ritz(); low > 0 && low <= high && !p.options.preconditioner) {  // else of M A
    k.out.condition = high / low;
    seen.take(low, high);
  }
  Judge<T>(k, 0, false)(seen, r, 0);
  return k.finish(k.out.status == Status::not_spd
                      ? "Use gmres, or lsmr."
                      : "Give a preconditioner, more iterations, or a tolerance that the condition allows.");
}

}  // namespace

IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options, std::string_view name,
                   const Place& place) {
  const IterativeProblem p(name, a, b, options, place, true);
  IterativeResult out =
      off_the_tape([&] { return with_float(a.dtype(), [&]<class T>(T) { return solve<T>(p, b); }); });
  if (context().listeners) {
    IterativeOptions again = options;
    again.x0 = Tensor();
    // Aᴴ is A here, but not beside: whoever varies elements of a matrix one by one differentiates through Aᴴ.
    const LinearOperator turned = a.has_adjoint() ? a.adjoint() : a;
    out.x = implicit_solution(
        out.x, [a, b](const Tensor& x) { return wp::subtract(b, a(x)); },
        [turned, again, place](const Tensor& g) {
          return cg(turned, g, again, "cg in the derivative of cg", place).x;
        },
        Solver::cg, place);
  }
  return out;
}
IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options,
                   std::source_location where) {
  return cg(a, b, options, "cg", where);
}

}  // namespace wp::linalg
