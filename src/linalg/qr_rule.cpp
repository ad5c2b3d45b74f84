// For A = Q R with R square: M = gR Rᴴ − Qᴴ gQ, N = gQ + Q (T + Tᴴ + Re diag M), T = the part of M above its
// diagonal, and gA solves gA Rᴴ = N. A wide A = Q [R₁ R₂] has gA₂ = Q gR₂, and gQ + A₂ gR₂ᴴ in place of gQ. Where R
// is singular, N vanishes on the null vectors of Rᴴ if there is a derivative; along R + t W, gA Wᴴ z = ∂N z for Rᴴ z
// = 0 determines the rest: with P the projector on those z, gA (Rᴴ + Wᴴ P) = N + ∂N P.
#include "linalg/qr_rule.hpp"

#include "base/text.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rule_kit.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

struct Parts {
  Tensor q1, q2, r1, r2;  // leading columns and the rest; undefined: there are none
};
Parts parts_of(const Tensor& q, const Tensor& r, std::int64_t k) {
  Parts p{leading(q, k), trailing(q, k), r, {}};
  if (p.q2.defined()) p.r1 = r[{ellipsis, slice(0, k), slice()}];
  p.r2 = trailing(p.r1, k);
  p.r1 = leading(p.r1, k);
  return p;
}

// N, and what belongs to the columns beyond the square part.
struct Numerators {
  Tensor n, second;
};
Numerators numerators(const Parts& p, const Tensor& gq, const Tensor& gr, std::int64_t k) {
  Tensor g1 = gq.defined() ? leading(gq, k) : Tensor();
  if (gq.defined() && p.q2.defined()) g1 = subtract(g1, matmul(p.q2, matmul(adjoint(trailing(gq, k)), p.q1)));
  Tensor gr1, second;
  if (gr.defined()) {
    const Tensor top = p.q2.defined() ? Tensor(gr[{ellipsis, slice(0, k), slice()}]) : gr;
    gr1 = triu(leading(top, k));
    if (p.r2.defined()) {
      const Tensor gr2 = trailing(top, k);
      second = matmul(p.q1, gr2);
      g1 = sum_of(g1, product(p.q1, p.r2, adjoint(gr2)));
    }
  }
  Tensor m = gr1.defined() ? matmul(gr1, adjoint(p.r1)) : Tensor();
  if (g1.defined()) m = minus(m, matmul(adjoint(p.q1), g1));
  const Tensor above = triu(m, {.k = 1});
  const Tensor same = eye(k, {.dtype = real_of(m.dtype())});
  const Tensor core = add(add(above, adjoint(above)), multiply(real(m), same));
  return {sum_of(g1, matmul(p.q1, core)), second};
}

// The limit above is right to first order: who differentiates it again is told.
const Op first_order_only = {
    .name = "qr",
    .group = "linear algebra",
    .doc = "x, whose derivative is not known.",
    .params = {{"x"}},
    .infer = no_outputs,
    .forward = forward_same,
    .notes = Notes::moves,
    .flow = flow_moves,
    .no_derivative =
        "second derivatives of qr are not available where the matrix is rank-deficient; those of svd are.",
};

}  // namespace

namespace {

// Second derivatives divide by R twice.
void find_small_pivots(const Backward& b, const Tensor& pivots, const Tensor& size, double allowed) {
  const double least = astype(wp::min(divide(pivots, size)), f64).item<double>();
  if (least < allowed)
    find_loss(b, "WP-GRD-012", 1 / least, 1 / allowed,
              say("R has a pivot that is ", least,
                  " of its largest element: second derivatives divide by it, and lose digits accordingly."),
              "Use svd, or a wider dtype.");
}

}  // namespace

Tensors vjp_qr(const Backward& b) {
  const Tensor &q = b.out[0], &r = b.out[1], &gq = b.cotangents[0], &gr = b.cotangents[1];
  const std::int64_t m = q.shape(-2), n = r.shape(-1), k = std::min(m, n);
  if (b.facts[0].shape.size() == 0 || q.size() == 0 || r.size() == 0) return {zeros_for(b.facts[0])};
  const double tiny = 8 * static_cast<double>(std::max(m, n)) * finfo(real_of(q.dtype())).eps;
  const Parts p = parts_of(q, r, k);
  Numerators top = numerators(p, gq, gr, k);
  const bool recorded = b.recorded();
  const double allowed = near_enough(b, r);
  Tensor small, w;  // pivots that vanish up to rounding
  bool singular = false;
  {
    const Unrecorded here;
    if (gq.defined() && p.q2.defined()) {
      met_freedom() = true;
      const Tensor free = skew(matmul(adjoint(p.q2), trailing(gq, k)));
      const double rounding = gauge_rounding(q.dtype(), m);
      if (bool(wp::any(greater(wp::abs(free), multiply(size_of(matmul(adjoint(q), gq)), rounding)))))
        refuse<GaugeError>(
            "WP-GRD-007",
            "the loss depends on the columns that complete Q, which the matrix does not determine: it has "
            "no derivative.",
            "Use the projector I - Q1 Q1ᴴ.");
    }
    const Tensor pivots = wp::abs(diagonal(p.r1));
    const Tensor size = squeeze(size_of(r), -1);
    small = less_equal(pivots, multiply(size, tiny));
    singular = bool(wp::any(small));
    w = astype(where(small, where(equal(size, 0), 1, size), 0), real_of(q.dtype()));
    if (recorded && !singular) find_small_pivots(b, pivots, size, allowed);
  }
  Tensor g;
  if (!singular) {
    g = adjoint(linalg::solve_triangular(p.r1, adjoint(top.n), {.if_ill = "ignore"}));
  } else {
    Tensor W = on_diagonal(w), whole = W;
    if (p.r2.defined()) whole = concat({W, zeros_like(p.r2)}, {.axis = -1});
    if (p.q2.defined())
      whole = concat({whole, zeros_like(Tensor(r[{ellipsis, slice(k, none), slice()}]))}, {.axis = -2});
    whole = astype(whole, r.dtype());
    const std::vector<Tensors> t = b.taylor({{q, r}, {}}, {{{}, whole}, {matmul(q, whole)}}, 1);
    // N(R, g) is linear in g and affine in R.
    const auto with = [&](const Tensor& r1, const Tensors& c) {
      return numerators({p.q1, p.q2, r1, p.r2.defined() ? zeros_like(p.r2) : Tensor()}, c[0], c[1], k).n;
    };
    const Tensor square = astype(W, r.dtype());
    const Tensor dn =
        add(numerators(p, t[1][0], t[1][1], k).n, subtract(with(square, t[0]), with(zeros_like(square), t[0])));
    const auto f = linalg::svd(p.r1, {.full_matrices = false});
    const Tensor null =
        astype(less_equal(f.S, multiply(wp::max(f.S, {.axis = -1, .keepdims = true}), tiny)), f.S.dtype());
    const Tensor P = recombined(f.U, null, f.U);
    const Tensor off = wp::abs(matmul(top.n, P));
    const double rounding = gauge_rounding(q.dtype(), std::max(m, n));
    const Tensor scale = maximum(size_of(top.n), size_of(dn));
    if (bool(wp::any(greater(off, multiply(scale, rounding)))))
      refuse<GaugeError>(
          "WP-GRD-007",
          "the loss depends on the columns of Q that belong to vanishing pivots of R, which the matrix does "
          "not determine: it has no derivative.",
          "Use svd with what does not depend on the basis: projector, low_rank, pinv.");
    const Tensor E = add(adjoint(p.r1), matmul(adjoint(square), P));
    g = adjoint(linalg::solve(adjoint(E), adjoint(add(top.n, matmul(dn, P)))));
  }
  if (singular && recorded) {
    const Tensor* const in[] = {&g};
    g = call1(first_order_only, in, {}, b.place);
  }
  if (p.r2.defined())
    g = concat({g, top.second.defined() ? top.second : astype(zeros_like(p.r2), g.dtype())}, {.axis = -1});
  if (b.out.size() == 3) {
    Tensor back;
    {
      const Unrecorded here;
      back = broadcast_to(expand_dims(argsort(b.out[2]), {.axis = -2}), g.shape());
    }
    g = take_along_axis(g, back, {.axis = -1});
  }
  return {g};
}

}  // namespace wp::linalg
