#include "base/text.hpp"
#include "linalg/krylov_judge.hpp"

namespace wp::linalg {
namespace {

// One cycle: an orthonormal basis of the Krylov space of A M, and the triangle R of its Hessenberg matrix.
template <class T>
class Cycle {
 public:
  Cycle(Krylov<T>& k, std::int64_t length) : k_(k), length_(static_cast<std::size_t>(length)) {}
  bool exhausted() const { return exhausted_; }  // the space is invariant: nothing is left to add
  bool claimed() const { return claimed_; }
  bool broken() const { return broken_; }  // A or M gave Inf or NaN

  // Adds to x what minimises ‖r − A M y‖ over the space.
  void run(Vector<T> r) {
    const double start = norm(r);
    basis_.add_multiple(std::move(r), 1 / start);
    right_.push_back(start);
    bool more = k_.out.iterations < k_.p.limit;
    while (more && triangle_.size() < length_ && !exhausted_ && !claimed_) more = extend();
    update();
  }

 private:
  bool extend() {
    const std::size_t j = triangle_.size();
    Vector<T> w = k_.apply(k_.precondition(basis_[j]));
    const double before = norm(w);
    if (broken_ = !std::isfinite(before); broken_) return k_.step(before), false;
    std::vector<Sum<T>> column;
    const double below = basis_.add_rest(std::move(w), column);
    exhausted_ = below == 0;
    for (std::size_t i = 0; i < j; ++i) rotate(rotations_[i], column[i], column[i + 1]);
    // Zeroes `below`: c a + s b = (a/|a|)·√(|a|² + b²).
    const double size = std::abs(column[j]), both = std::hypot(size, below);
    Rotation g{1, 0};
    if (both > 0) g = size > 0 ? Rotation{size / both, column[j] / size * (below / both)} : Rotation{0, 1};
    Sum<T> last = below, next = 0;
    const bool singular = exhausted_ && !(size > 4 * kUnit<T> * before);  // the last column has nothing to give
    const double left = std::abs(right_[j]);
    rotate(g, column[j], last);
    rotate(g, right_[j], next);
    right_.push_back(next);
    rotations_.push_back(g);
    triangle_.push_back(std::move(column));
    const double residual = singular ? left : std::abs(next);
    claimed_ = residual <= k_.out.target;
    return k_.step(residual);
  }

  // Back substitution. A zero on the diagonal (A singular) leaves its direction out.
  void update() {
    const std::size_t n = triangle_.size();
    if (n == 0) return;
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(triangle_[i][i]));
    Vector<T> sum(basis_[0].size());
    for (std::size_t i = n; i-- > 0;) {
      const Sum<T> pivot = triangle_[i][i];
      const Sum<T> y = std::abs(pivot) > kUnit<T> * most ? right_[i] / pivot : Sum<T>(0);
      for (std::size_t l = 0; l < i; ++l) right_[l] -= triangle_[i][l] * y;
      add<T>(sum, y, basis_[i]);
    }
    add<T>(k_.x, 1, k_.precondition(sum));
  }

  struct Rotation {
    double c;
    Sum<T> s;
  };
  static void rotate(const Rotation& g, Sum<T>& a, Sum<T>& b) {
    const Sum<T> first = g.c * a + g.s * b;
    b = g.c * b - conjugate(g.s) * a;
    a = first;
  }

  Krylov<T>& k_;
  std::size_t length_;
  Basis<T> basis_;
  std::vector<std::vector<Sum<T>>> triangle_;  // columns
  std::vector<Rotation> rotations_;
  std::vector<Sum<T>> right_;
  bool exhausted_ = false, claimed_ = false, broken_ = false;
};

template <class T>
IterativeResult solve(const IterativeProblem& p, const Tensor& b, std::int64_t restart) {
  Krylov<T> k(p, b);
  Vector<T> r = k.residual();
  k.out.residual = norm(r);
  k.note(k.out.residual);
  int stalls = 0;  // cycles in a row that brought nothing
  while (k.out.residual > k.out.target) {
    if (k.out.iterations >= p.limit) {
      k.out.status = Status::not_converged;
      break;
    }
    const double before = k.out.residual;
    const Vector<T> kept = k.x;
    Cycle<T> cycle(k, restart);
    cycle.run(r);
    r = k.residual();
    k.out.residual = norm(r);
    if (cycle.broken()) k.out.status = Status::nonfinite_input;
    if (!(k.out.residual > k.out.target) || cycle.broken()) break;
    stalls = k.out.residual > 0.99 * before ? stalls + 1 : 0;
    if (k.out.residual > before) {  // a cycle may not make it worse
      k.x = kept;
      r = k.residual();
      k.out.residual = before;
    }
    if (stalls < 2 && !(cycle.exhausted() && stalls)) continue;
    if (cycle.claimed()) {
      k.disagree();
    } else {
      k.out.status = Status::not_converged;
      k.out.message = cycle.exhausted() ? "the Krylov space is exhausted: A is singular and b is not in its range."
                                        : say("stagnates: ", restart, " vectors between restarts bring nothing.");
    }
    break;
  }
  Judge<T>(k, 0, false)({}, r, 0);
  return k.finish("Give a preconditioner or a larger restart; lsmr solves singular problems.");
}

}  // namespace

IterativeResult gmres(const LinearOperator& a, const Tensor& b, const GmresOptions& options, std::string_view name,
                      const Place& place) {
  const IterativeProblem p(name, a, b, options, place, true);
  if (options.restart < 1)
    raise<ArgumentError>("WP-ARG-001", "gmres", say("restart must be positive; got ", options.restart, "."));
  IterativeResult out = off_the_tape(
      [&] { return with_float(a.dtype(), [&]<class T>(T) { return solve<T>(p, b, options.restart); }); });
  if (context().listeners) {
    GmresOptions turned = options;
    turned.x0 = Tensor();
    turned.preconditioner = std::nullopt;
    if (options.preconditioner && options.preconditioner->has_adjoint())
      turned.preconditioner = options.preconditioner->adjoint();
    out.x = implicit_solution(
        out.x, [a, b](const Tensor& x) { return wp::subtract(b, a(x)); },
        [a, turned, place](const Tensor& g) {
          return gmres(a.adjoint(), g, turned, "gmres in the derivative of gmres", place).x;
        },
        Solver::gmres, place);
  }
  return out;
}
IterativeResult gmres(const LinearOperator& a, const Tensor& b, const GmresOptions& options,
                      std::source_location where) {
  return gmres(a, b, options, "gmres", where);
}

}  // namespace wp::linalg
