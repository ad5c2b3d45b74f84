// For A = Q R with R square: M = gR Rᴴ − Qᴴ gQ, N = gQ + Q (T + Tᴴ + Re diag M), T = the part of M above its
// diagonal, and gA solves gA Rᴴ = N. A wide A = Q [R₁ R₂] has gA₂ = Q gR₂, and gQ + A₂ gR₂ᴴ in place of gQ. Where R
// is singular, the limit along R + t W is taken, W having numbers where R's diagonal has zeros: gA(t) (R + t W)ᴴ =
// N(t) and (R + t W)⁻¹ = X₀ + X₁/t + … + X_q/t^q, so with N(t) = n₀ + n₁ t + …, if there is a derivative,
//   gA = n₀ X₀ᴴ + … + n_q X_qᴴ,   0 = n₀ X_kᴴ + … + n_(q−k) X_qᴴ for k = 1 … q.
// To be differentiated again it must hold beside that R, up to errors O(δ³) of δ = R − that R: with Taylor terms a_j
// of gA(t), a_k = Σ_j (n_j − a_j δᴴ) X_(j−k)ᴴ, applied to itself twice.
#include "linalg/qr_rule.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "linalg/cancelled.hpp"
#include "linalg/clusters.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rule_kit.hpp"
#include "linalg/stack.hpp"
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

// A power of two for each matrix that brings R to the size of 1; undefined where products with cotangents of R are in
// range as it is. N is linear in (R, gQ), so that scaling both changes no bit of N R⁻ᴴ but where R gRᴴ underflows.
Tensor unit_of(const Tensor& r) {
  const Unrecorded here;
  const Tensor size = size_of(r);
  std::vector<double> units = doubles_of(size);
  bool far = false;
  for (double& u : units) {
    int e = 0;
    std::frexp(u, &e);
    e = u > 0 && std::isfinite(u) ? std::clamp(e, -1000, 1000) : 0;
    far = far || std::abs(e) > (real_of(r.dtype()) == f32 ? 16 : 64);
    u = std::ldexp(1.0, -e);
  }
  return far ? astype(Tensor::from(units, size.shape()), size.dtype()) : Tensor();
}
Tensor in_unit(const Tensor& x, const Tensor& unit) {
  return x.defined() && unit.defined() ? multiply(x, unit) : x;
}

// The limit above is not right to any order: who differentiates it further is told.
const Op no_further = {
    .name = "qr",
    .group = "linear algebra",
    .doc = "x, whose derivative is not known.",
    .params = {{"x"}},
    .infer = no_outputs,
    .forward = forward_same,
    .notes = Notes::moves,
    .flow = flow_moves,
    .no_derivative =
        "third derivatives of qr are not available where the matrix is rank-deficient, nor second ones "
        "where its vanishing pivots depend on each other; those of svd are.",
};

// (R + t W)⁻¹ = X₀ + X₁/t + … for upper triangular R whose diagonal has zeros where the diagonal W has numbers.
// With F = R + W and K = F⁻¹ W, K acts on its range as 1 + a nilpotent matrix, so that with L_i = K (K − 1)^i, which
// is 0 from some i = q on, and N_i = Σ_l (−1)^l L_(i+l),
//   X₀ = (1 − N₀) F⁻¹,  X_(j+1) = Σ_i (−1)^(i+j) (i over j) N_i F⁻¹.
// Members of a stack whose L_i have vanished add zeros to what the others need.
std::vector<Tensor> laurent_terms(const Tensor& r, const Tensor& w, double tiny) {
  const std::int64_t k = r.shape().back();
  const Tensor one = identity(k, r.dtype()), f = add(r, w);
  const auto divided = [&](const Tensor& x) { return diagnosed::solve_triangular(f, x, {.if_ill = "ignore"}).value; };
  const Tensor K = divided(w), inverse = divided(broadcast_to(one, f.shape()));
  std::vector<Tensor> L{K}, N, X;
  const Tensor size = maximum(size_of(K), 1);
  Tensor allowed = multiply(size, 2 * tiny);
  while (static_cast<std::int64_t>(L.size()) < k) {
    const Tensor next = matmul(L.back(), subtract(K, one));
    allowed = multiply(allowed, size);
    const Tensor there = greater(size_of(next), allowed);
    if (!any_true(there)) break;
    L.push_back(where(there, next, 0));
  }
  for (std::size_t i = 0; i < L.size(); ++i) {
    N.push_back(L[i]);
    for (std::size_t l = 1; i + l < L.size(); ++l) N[i] = l % 2 ? subtract(N[i], L[i + l]) : add(N[i], L[i + l]);
  }
  X.push_back(matmul(subtract(one, N[0]), inverse));
  for (std::size_t j = 0; j < N.size(); ++j) {
    Tensor sum;
    double binomial = 1;
    for (std::size_t i = j; i < N.size(); ++i) {
      const Tensor term = multiply(N[i], (i + j) % 2 ? -binomial : binomial);
      sum = sum.defined() ? add(sum, term) : term;
      binomial *= static_cast<double>(i + 1) / static_cast<double>(i + 1 - j);
    }
    X.push_back(matmul(sum, inverse));
  }
  return X;
}

// Taylor terms a_k = Σ_j n_j X_(j−k)ᴴ of n(t) X(t)ᴴ; from q terms of n fewer than there are. k = −1, −2, …: the
// terms that must vanish.
Tensor term_of(const std::vector<Tensor>& n, const std::vector<Tensor>& x, std::ptrdiff_t k) {
  Tensor sum;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::ptrdiff_t j = static_cast<std::ptrdiff_t>(i) + k;
    if (j < 0 || j >= static_cast<std::ptrdiff_t>(n.size())) continue;
    sum = sum_of(sum, matmul(n[static_cast<std::size_t>(j)], adjoint(x[i])));
  }
  return sum;
}
std::vector<Tensor> terms_of(const std::vector<Tensor>& n, const std::vector<Tensor>& x) {
  std::vector<Tensor> a;
  for (std::size_t k = 0; k + x.size() <= n.size(); ++k) a.push_back(term_of(n, x, static_cast<std::ptrdiff_t>(k)));
  return a;
}

// `size`: of what n is computed from. Where that vanishes but for rounding, rounding is measured.
void refuse_free_columns(const Backward& b, const Tensor& size, const std::vector<Tensor>& n,
                         const std::vector<Tensor>& x) {
  const Unrecorded here;
  const Tensor& q = b.out[0];
  Tensor most;
  for (std::size_t i = 1; i < x.size(); ++i) most = most.defined() ? maximum(most, size_of(x[i])) : size_of(x[i]);
  const auto within = [&](const Tensor& off) {
    const Tensor allowed = multiply(off, most);
    for (std::ptrdiff_t k = 1; k < static_cast<std::ptrdiff_t>(x.size()); ++k)
      if (any_true(greater(wp::abs(term_of(n, x, -k)), allowed))) return false;
    return true;
  };
  const std::int64_t longest = std::max(q.shape(-2), x[0].shape(-1));
  if (within(multiply(size, gauge_rounding(q.dtype(), longest)))) return;
  const Tensor zero = zeros_like(q),
               noise = measured_noise(b, {q, {}}, {b.cotangents[0].defined() ? b.cotangents[0] : zero, {}});
  if (!within(multiply(noise, 64.0 * static_cast<double>(longest))))
    refuse<GaugeError>(
        "WP-GRD-007",
        "the loss depends on the columns of Q that belong to vanishing pivots of R, which the matrix does "
        "not determine: it has no derivative.",
        "Use svd with what does not depend on the basis: projector, low_rank, pinv.");
}

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

namespace {

void refuse_completion(const Backward& b, const Parts& p, std::int64_t m, std::int64_t k) {
  const Unrecorded here;
  const Tensor &q = b.out[0], &gq = b.cotangents[0];
  const Tensor free = skew(matmul(adjoint(p.q2), trailing(gq, k)));
  const double rounding = gauge_rounding(q.dtype(), m);
  if (bool(wp::any(greater(wp::abs(free), multiply(size_of(matmul(adjoint(q), gq)), rounding)))))
    refuse<GaugeError>("WP-GRD-007",
                       "the loss depends on the columns that complete Q, which the matrix does not determine: it has "
                       "no derivative.",
                       "Use the projector I - Q1 Q1ᴴ.");
}

// N R⁻ᴴ. Pivots need not be small where R is ill-conditioned.
Tensor divided_by(const Backward& b, const Tensor& n, const Tensor& r) {
  const auto [x, diagnosis] = diagnosed::solve_triangular(r, adjoint(n), {.if_ill = "ignore"});
  const double least = unrecorded([&, &d = diagnosis] { return astype(wp::min(d.rcond()), f64).item<double>(); });
  const double most = 1 / std::sqrt(round_off(r.dtype()));
  if (least * most < 1)
    find_loss(b, "WP-GRD-012", 1 / least, most,
              say("R has condition ", 1 / least,
                  " after scaling: the gradient is divided by it, and loses digits accordingly."),
              "Use svd, or a wider dtype.");
  return adjoint(x);
}

// The same of second derivatives whose terms cancel before they are divided by R.
void find_cancelled_by(const Backward& b, const Tensor& r, const Tensor& g) {
  const Unrecorded here;
  Tensor size;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!b.cotangents[i].defined()) continue;
    const Tensor own = i == 0 ? size_of(b.cotangents[0]) : multiply(size_of(b.cotangents[1]), size_of(b.out[1]));
    size = size.defined() ? maximum(size, own) : own;
  }
  const Tensor least = expand_dims(wp::min(wp::abs(diagonal(r)), {.axis = -1, .keepdims = true}), {.axis = -1});
  find_cancelled(b, size, least, size_of(g));
}

// A small pivot is what is left of a column, and known to within rounding of R: what the gradient moves by with it,
// as measured. R⁻¹ is no measure, as its rows may be in units of their own.
void find_unsure_pivots(const Backward& b, std::int64_t k, const Tensor& g) {
  const Unrecorded here;
  if (!b.verify().value_or(true)) return;
  const Tensor &q = b.out[0], &r = b.out[1];
  const Tensor columns = wp::max(wp::abs(r), {.axis = -2, .keepdims = true});
  const double eps = finfo(real_of(r.dtype())).eps;
  const auto otherwise = [&](std::uint64_t seed) {
    const Tensor by = triu(multiply(multiply(real(noise_like(r, seed)), columns), eps));
    const Tensors c = b.taylor({{q, add(r, by)}, {}}, {}, 0)[0];
    const Parts other = parts_of(q, add(r, by), k);
    const Tensor n = numerators(other, c[0], c[1], k).n;
    return adjoint(diagnosed::solve_triangular(other.r1, adjoint(n), {.if_ill = "ignore"}).value);
  };
  double moved = 0;
  if (answered([&] { moved = most_moved(g, otherwise); }))
    find_moved(b, moved, r.dtype(), "if small pivots of R are known to within rounding of their columns only, ");
}

// Columns in the order of the matrix, from that of the pivots.
Tensor unpivoted(const Backward& b, const Tensor& g) {
  if (b.out.size() < 3) return g;
  const Tensor back =
      unrecorded([&] { return broadcast_to(expand_dims(argsort(b.out[2]), {.axis = -2}), g.shape()); });
  return take_along_axis(g, back, {.axis = -1});
}

// n₀, n₁, … along R + t W, `order` of them beyond the first, and the size of the cotangents that they are computed
// from. N(R, g) is linear in g and affine in R.
struct TaylorNumerators {
  std::vector<Tensor> n;
  Tensor size;
};
TaylorNumerators taylor_numerators(const Backward& b, const Parts& p, const Tensor& w, std::int64_t k,
                                   std::size_t order) {
  const Tensor &q = b.out[0], &r = b.out[1];
  Tensor whole = w;
  if (p.r2.defined()) whole = concat({w, zeros_like(p.r2)}, {.axis = -1});
  if (p.q2.defined())
    whole = concat({whole, zeros_like(Tensor(r[{ellipsis, slice(k, none), slice()}]))}, {.axis = -2});
  const std::vector<Tensors> t =
      b.taylor({{q, r}, {}}, {{{}, whole}, {unpivoted(b, matmul(q, whole))}}, static_cast<int>(order));
  const auto with = [&](const Tensor& r1, const Tensors& c) {
    return numerators({p.q1, p.q2, r1, p.r2.defined() ? zeros_like(p.r2) : Tensor()}, c[0], c[1], k).n;
  };
  std::vector<Tensor> n;
  double factor = 1;
  for (std::size_t j = 0; j <= order; ++j) {
    const double before = factor;
    if (j > 0) factor /= static_cast<double>(j);
    n.push_back(numerators(p, t[j][0], t[j][1], k).n);
    if (j > 1) n[j] = multiply(n[j], factor);
    if (j == 0) continue;
    const Tensor moved = subtract(with(w, t[j - 1]), with(zeros_like(w), t[j - 1]));
    n[j] = add(n[j], j > 2 ? multiply(moved, before) : moved);
  }
  const Unrecorded here;
  Tensor size;
  for (const Tensors& c : t) {
    const Tensor own = maximum(size_of(c[0]), multiply(size_of(c[1]), maximum(size_of(r), size_of(w))));
    size = size.defined() ? maximum(size, own) : own;
  }
  return {n, size};
}

// What follows must be finite where the pivots that vanish up to rounding are 0.
void refuse_poles(const Backward& b, const Tensor& small) {
  const Unrecorded here;
  const Tensor &q = b.out[0], &r = b.out[1];
  const std::int64_t k = small.shape().back(), rows = r.shape(-2), columns = r.shape(-1);
  const Tensor first =
      matmul(astype(eye(rows, {.n_cols = k}), r.dtype()),
             matmul(on_diagonal(astype(small, r.dtype())), astype(eye(k, {.n_cols = columns}), r.dtype())));
  Tensors c;
  if (!answered([&] { c = b.taylor({{q, where(not_equal(first, 0), 0, r)}, {}}, {}, 0)[0]; })) return;
  for (std::size_t i = 0; i < 2; ++i)
    if (c[i].defined() && !bool(wp::all(isfinite(c[i]))))
      no_derivative_here(
          "the gradient is not finite where pivots of R that vanish up to rounding are 0: the loss has a "
          "pole or an infinite slope there.",
          "Mask such pivots (where), or use what has a derivative at singular matrices, as det.");
}

Tensor gradient_in_the_limit(const Backward& b, const Parts& p, const Tensor& small, const Tensor& size,
                             std::int64_t k, double tiny) {
  refuse_poles(b, small);
  const Tensor &q = b.out[0], &r1 = p.r1;
  Tensor w, fixed;
  std::vector<Tensor> x;
  {
    const Unrecorded here;
    w = astype(on_diagonal(astype(where(small, where(equal(size, 0), 1, size), 0), real_of(q.dtype()))), r1.dtype());
    fixed = where(logical_and(column(small), astype(eye(k), DType::boolean)), 0, r1);
    x = laurent_terms(fixed, w, tiny);
  }
  const std::size_t poles = x.size() - 1;
  const bool again = b.recorded() && b.depth() == 1 && poles <= 2;
  const auto [n, cotangents] = taylor_numerators(b, p, w, k, (again ? 3 : 1) * poles);
  refuse_free_columns(b, cotangents, n, x);
  std::vector<Tensor> a = terms_of(n, x);
  const Tensor off = again ? adjoint(subtract(r1, fixed)) : Tensor();
  while (a.size() > 1) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = subtract(n[i], matmul(a[i], off));
    a = terms_of(a, x);
  }
  if (!b.recorded() || again) return a[0];
  const Tensor* const in[] = {&a[0]};
  return call1(no_further, in, {}, b.place);
}

}  // namespace

Tensors vjp_qr(const Backward& b) {
  const Tensor &q = b.out[0], &r = b.out[1], &gq = b.cotangents[0], &gr = b.cotangents[1];
  const std::int64_t m = q.shape(-2), n = r.shape(-1), k = std::min(m, n);
  if (b.facts[0].shape.size() == 0 || q.size() == 0 || r.size() == 0) return {zeros_for(b.facts[0])};
  const double tiny = 8 * static_cast<double>(std::max(m, n)) * finfo(real_of(q.dtype())).eps;
  const Parts p = parts_of(q, r, k);
  const Tensor unit = unit_of(r), r1 = in_unit(p.r1, unit);
  const Numerators top = numerators({p.q1, p.q2, r1, in_unit(p.r2, unit)}, in_unit(gq, unit), gr, k);
  const bool recorded = b.recorded();
  const double allowed = near_enough(b, r);
  if (gq.defined() && p.q2.defined()) {
    b.choose();
    refuse_completion(b, p, m, k);
  }
  Tensor small, size, limits;  // pivots that vanish up to rounding; which members have any
  bool singular = false, regular = false, unsure = false;
  {
    const Unrecorded here;
    const Tensor pivots = wp::abs(diagonal(p.r1));
    size = squeeze(size_of(r), -1);
    small = less_equal(pivots, multiply(size, tiny));
    limits = expand_dims(wp::any(small, {.axis = -1, .keepdims = true}), {.axis = -1});
    singular = any_true(limits);
    regular = any_true(logical_not(limits));
    unsure = bool(wp::any(less_equal(pivots, multiply(size, allowed))));
    if (recorded && !singular) find_small_pivots(b, pivots, size, allowed);
  }
  Tensor g = singular ? gradient_in_the_limit(b, p, small, size, k, tiny) : divided_by(b, top.n, r1);
  if (singular && regular)  // which are what they are without the others
    g = where(limits, g, divided_by(b, where(limits, 0, top.n), where(limits, identity(k, r1.dtype()), r1)));
  if (!singular && gq.defined()) {
    const Unrecorded here;
    const Tensor least = wp::min(wp::abs(diagonal(p.r1)), {.axis = -1, .keepdims = true});
    find_underflow(b, size_of(gq), expand_dims(least, {.axis = -1}), size_of(g), std::max(m, n));
  }
  if (!singular && b.of_derivative()) find_cancelled_by(b, p.r1, g);
  if (!singular && !recorded && !b.of_derivative() && unsure) find_unsure_pivots(b, k, g);
  if (p.r2.defined())
    g = concat({g, top.second.defined() ? top.second : astype(zeros_like(p.r2), g.dtype())}, {.axis = -1});
  return {unpivoted(b, g)};
}

}  // namespace wp::linalg
