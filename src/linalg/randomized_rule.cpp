// The result are the leading k of the l singular values and vectors of M = Q Qᴴ A, Q a basis of (A Aᴴ)^q A Ω. M
// depends on the range of Q alone, so that dQ = (1 − Q Qᴴ) dY R⁻¹ for Y = Q R. Sketch::range: by these steps. Where Q
// Qᴴ A = A because A has no more than l singular values, and q > 0, (1 − Q Qᴴ) dA V is not lost either, and the
// derivative is that of the singular values and vectors of A (whole); with q = 0 and columns to spare
// (whole_but_turning) the random vectors decide how U leaves its range, by jumps: only what does not see that has a
// derivative.
#include "linalg/randomized_rule.hpp"

#include <cmath>

#include "base/text.hpp"
#include "linalg/bounds.hpp"
#include "linalg/rule_kit.hpp"
#include "linalg/spectral_rules.hpp"
#include "linalg/stack.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

Tensor upper_rows(const Tensor& x, std::int64_t k) {
  return x.shape(-2) == k ? x : Tensor(x[{ellipsis, slice(0, k), slice()}]);
}

class RangeFinder {
 public:
  RangeFinder(const Tensor& a, const Tensor& omega, std::int64_t iterations)
      : x_(divide(a, each(unrecorded([&] { return scale_of(a); })))), omega_(omega) {
    take(matmul(x_, omega));
    for (std::int64_t i = 0; i < iterations; ++i) {
      take(matmul(adjoint(x_), q()));
      take(matmul(x_, q()));
    }
  }
  const Tensor& q() const { return steps_.back().q; }
  // The cotangent of A from that of M; M is homogeneous in A, so that their scale does not matter.
  Tensor back(const Tensor& g) const {
    const Tensor xh = adjoint(x_);
    Tensor total = matmul(q(), matmul(adjoint(q()), g));
    Tensor gq = add(matmul(g, matmul(xh, q())), matmul(x_, matmul(adjoint(g), q())));
    for (std::size_t t = steps_.size(); t-- > 0;) {
      const Step& s = steps_[t];
      const Tensor gy = adjoint(through(s, adjoint(outside(s.q, gq)), false));
      const Tensor& before = t > 0 ? steps_[t - 1].q : omega_;
      const bool turned = t % 2 == 1;  // Y = Aᴴ Q
      total = add(total, turned ? matmul(before, adjoint(gy)) : matmul(gy, adjoint(before)));
      if (t > 0) gq = matmul(turned ? x_ : xh, gy);
    }
    return total;
  }
  // dM along dA.
  Tensor along(const Tensor& d) const {
    Tensor dq, qh = adjoint(q());
    for (std::size_t t = 0; t < steps_.size(); ++t) {
      const bool turned = t % 2 == 1;
      Tensor dy = matmul(turned ? adjoint(d) : d, t > 0 ? steps_[t - 1].q : omega_);
      if (t > 0) dy = add(dy, matmul(turned ? adjoint(x_) : x_, dq));
      dq = adjoint(through(steps_[t], adjoint(outside(steps_[t].q, dy)), true));
    }
    return add(matmul(q(), matmul(qh, d)), add(matmul(dq, matmul(qh, x_)), matmul(q(), matmul(adjoint(dq), x_))));
  }

 private:
  struct Step {
    Tensor q, r;
  };
  void take(const Tensor& y) {
    const auto f = diagnosed::qr(y).value;
    steps_.push_back({f.Q, f.R});
  }
  static Tensor outside(const Tensor& q, const Tensor& y) { return subtract(y, matmul(q, matmul(adjoint(q), y))); }
  // R⁻¹ t, or R⁻ᴴ t.
  static Tensor through(const Step& s, const Tensor& t, bool turned) {
    return diagnosed::solve_triangular(s.r, t, {.adjoint = turned, .if_ill = "ignore"}).value;
  }

  Tensor x_, omega_;
  std::vector<Step> steps_;
};

// The leading l singular values and vectors of M, as functions of A.
class Replay {
 public:
  explicit Replay(const Saved& s) : in_(s.in[0]), k_(s.out[1].shape().back()) {
    const std::int64_t m = in_.shape(-2), n = in_.shape(-1);
    l_ = s.residuals.empty() ? std::min(m, n) : s.residuals[0].shape().back();
    if (!s.residuals.empty()) {
      whole_ = greater(s.residuals[1], static_cast<std::int64_t>(Sketch::range));
      open_ = equal(s.residuals[1], static_cast<std::int64_t>(Sketch::whole_but_turning));
    }
    const bool any = !whole_.defined() || any_true(whole_),
               all = any && (!whole_.defined() || !any_true(logical_not(whole_)));
    const Tensor other = eye(m, {.n_cols = n, .dtype = in_.dtype()});
    Tensors own, from_range;
    if (any) {
      const auto f = diagnosed::svd(all ? in_ : where(each(whole_), in_, other), {.full_matrices = false}).value;
      own = {leading(f.U, l_), leading(f.S, l_), upper_rows(f.Vh, l_)};
    }
    if (!all) {
      const Tensor a = any ? where(each(whole_), other, in_) : in_;
      finder_.emplace(a, s.residuals[0], s.attr(4).integer());
      const auto f = diagnosed::svd(matmul(adjoint(finder_->q()), a), {.full_matrices = false}).value;
      from_range = {matmul(finder_->q(), f.U), f.S, f.Vh};
    }
    mixed_ = any && !all;
    for (std::size_t i = 0; i < 3; ++i)
      out_.push_back(mixed_ ? where(i == 1 ? expand_dims(whole_, {.axis = -1}) : each(whole_), own[i], from_range[i])
                     : any  ? own[i]
                            : from_range[i]);
    take_results(s);
    bound();
  }
  std::int64_t k() const { return k_; }
  std::int64_t l() const { return l_; }
  const Tensors& out() const { return out_; }
  const Tensor& bounds() const { return bounds_; }
  // Whether the leading factors are the results of the call.
  bool same() const { return same_; }
  // Whether M is A for every member.
  bool is_whole() const { return !finder_; }
  // Whether M is A for some member whose derivative is not that of M.
  bool some_whole() const { return whole_.defined() && any_true(whole_); }
  Tensor back(const Tensor& g) const {
    if (!finder_) return g;
    return mixed_ ? where(each(whole_), g, finder_->back(g)) : finder_->back(g);
  }
  Tensor along(const Tensor& d) const {
    if (!finder_) return d;
    return mixed_ ? where(each(whole_), d, finder_->along(d)) : finder_->along(d);
  }
  // `part`: how U is seen, or would be, to leave its range.
  void refuse_turning(const Tensor& part) const {
    if (!open_.defined() || !part.defined()) return;
    const Unrecorded here;
    const Tensor u = out_[0], rest = subtract(part, matmul(u, matmul(adjoint(u), part)));
    const Tensor allowed = multiply(size_of(part), gauge_rounding(u.dtype(), u.shape(-2)));
    if (any_true(logical_and(each(open_), greater(wp::abs(rest), allowed))))
      no_derivative_here(
          "the matrix has a lower rank than there are random vectors: without power iterations they decide how U "
          "turns, by jumps.",
          "Use power_iterations = 1 or more, or svd.");
  }

 private:
  // The results themselves, where they span what the leading factors do.
  void take_results(const Saved& s) {
    Tensor kept;
    {
      const Unrecorded here;
      const double allowed = std::sqrt(finfo(real_of(s.out[0].dtype())).eps);
      const auto spans = [&](const Tensor& mine, const Tensor& given) {
        const Tensor r = matmul(adjoint(mine), given);
        return less(squeeze(size_of(subtract(matmul(adjoint(r), r), identity(k_, r.dtype()))), {-2, -1}), allowed);
      };
      kept = logical_and(spans(leading(out_[0], k_), s.out[0]),
                         spans(adjoint(upper_rows(out_[2], k_)), adjoint(s.out[2])));
    }
    same_ = !any_true(logical_not(kept));
    const auto with = [&](const Tensor& mine, const Tensor& given, std::int64_t axis) {
      if (k_ == l_) return given;
      const Tensor rest = axis == -2 ? Tensor(mine[{ellipsis, slice(k_, none), slice()}]) : trailing(mine, k_);
      return concat({given, rest}, {.axis = axis});
    };
    const Tensor u = with(out_[0], s.out[0], -1), v = with(out_[2], s.out[2], -2);
    out_[0] = same_ ? u : where(each(kept), u, out_[0]);
    out_[2] = same_ ? v : where(each(kept), v, out_[2]);
    if (same_) out_[1] = with(out_[1], s.out[1], -1);
  }
  void bound() {
    const Unrecorded here;
    const double off = growth_of_errors(std::max(in_.shape(-2), in_.shape(-1))) * round_off(real_of(in_.dtype()));
    const std::vector<double> s = astype(out_[1], f64).to_vector<double>();
    std::vector<Bounds> all;
    for (std::size_t i = 0; i < s.size(); i += static_cast<std::size_t>(l_)) all.push_back({.absolute = off * s[i]});
    bounds_ = kept_bounds(batch_of(in_), all);
  }

  Tensor in_, whole_, open_, bounds_;
  std::int64_t k_, l_ = 0;
  std::optional<RangeFinder> finder_;
  bool mixed_ = false, same_ = true;
  Tensors out_;
};

// The leading k of U, S, Vh and back, with zeros for the rest.
Tensors cut(const Tensors& t, std::int64_t k) {
  const auto part = [&](std::size_t i, auto f) { return i < t.size() && t[i].defined() ? f(t[i], k) : Tensor(); };
  return {part(0, leading), part(1, leading), part(2, upper_rows)};
}
Tensors padded(std::span<const Tensor> t, std::int64_t more) {
  const auto with = [&](const Tensor& x, std::int64_t axis) {
    if (!x.defined() || more == 0) return x;
    Dims shape = x.shape();
    (axis == -1 ? shape.back() : shape[shape.size() - 2]) = more;
    return concat({x, zeros(shape, {.dtype = x.dtype()})}, {.axis = axis});
  };
  return {with(t[0], -1), with(t[1], -1), with(t[2], -2)};
}

// The rule of svd is asked about M; what follows sees the leading k only.
class Leading : public Backward {
 public:
  Leading(const Backward& b, const Saved& s, std::span<const Tensor> cotangents, const Replay& replay)
      : Backward(s, cotangents, b.wanted), b_(b), replay_(replay) {}
  std::vector<Tensors> taylor(const Variation& at, const Variation& along, int order) const override {
    const auto seen = [&](const Variation& v) {
      return Variation{cut(v.outputs, replay_.k()), replay_.is_whole() ? v.inputs : Tensors()};
    };
    std::vector<Tensors> all = b_.taylor(seen(at), seen(along), order);
    for (Tensors& t : all) t = padded({t.begin(), t.size()}, replay_.l() - replay_.k());
    return all;
  }
  std::optional<bool> verify() const noexcept override { return b_.verify(); }
  int depth() const noexcept override { return b_.depth(); }
  bool of_derivative() const override { return b_.of_derivative(); }
  double eps_after() const override { return b_.eps_after(); }
  bool sampled() const override { return b_.sampled(); }
  Tensors pulled_back(const std::function<Tensor()>& f, std::span<const Tensor> x, const Tensor& g) const override {
    return b_.pulled_back(f, x, g);
  }
  void find(Finding f) const override { b_.find(std::move(f)); }
  void suspect(Finding f, const std::array<Tensor, 3>& otherwise) const override {
    b_.suspect(std::move(f), otherwise);
  }

 private:
  const Backward& b_;
  const Replay& replay_;
};

// Second derivatives of vectors see how the part of A beyond its rank moves, of which the random vectors show some
// directions only, which depend on how A moves.
[[noreturn]] void refuse_second() {
  no_derivative_here(
      "second derivatives of singular vectors do not exist where the matrix has no more singular values than there "
      "are "
      "random vectors.",
      "Use svd, more random vectors (oversampling), or S alone.");
}
const Op first_order_only = {
    .name = "randomized_svd",
    .group = "linear algebra",
    .doc = "x, which has no derivative.",
    .params = {{"x"}},
    .infer = no_outputs,
    .forward = forward_same,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward&) -> Tensors { refuse_second(); },
    .jvp = [](const Forward&) -> Tensors { refuse_second(); },
};

Saved of_whole(const Saved& s, const Replay& replay) {
  Saved whole = s;
  whole.out = {replay.out().begin(), replay.out().size()};
  whole.residuals = {&replay.bounds(), 1};
  return whole;
}

}  // namespace

Tensors vjp_randomized_svd(const Backward& b) {
  if (b.out[1].size() == 0 || b.shape(0).size() == 0) return {zeros_for(b.facts[0])};
  const Replay replay(b);
  const bool vectors = b.cotangents[0].defined() || b.cotangents[2].defined();
  Tensors g(b.cotangents.begin(), b.cotangents.end());
  if (vectors && !replay.same()) g = b.taylor({cut(replay.out(), replay.k()), {}}, {}, 0)[0];
  replay.refuse_turning(g[0]);
  const Tensors whole = padded({g.begin(), g.size()}, replay.l() - replay.k());
  const Tensor found =
      replay.back(vjp_svd(Leading(b, of_whole(b, replay), {whole.begin(), whole.size()}, replay))[0]);
  if (!vectors || !b.recorded() || !replay.some_whole()) return {found};
  const Tensor* const in[] = {&found};
  return {call1(first_order_only, in, {}, b.place)};
}

Tensors jvp_randomized_svd(const Forward& f) {
  if (f.out[1].size() == 0) return {zeros_for(f.output(0)), zeros_for(f.output(1)), zeros_for(f.output(2))};
  const Replay replay(f);
  if (!replay.same())
    no_derivative_here("singular values repeat or vanish, and their vectors are one basis of many.",
                       "Use reverse mode (GradientTape).");
  replay.refuse_turning(matmul(f.tangents[0], adjoint(f.out[2])));
  const Tensor d = replay.along(f.tangents[0]);
  return cut(jvp_svd(Forward{of_whole(f, replay), {&d, 1}}), replay.k());
}

}  // namespace wp::linalg
