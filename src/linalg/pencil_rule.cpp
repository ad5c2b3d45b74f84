// Let Vᴴ A V = Λ, Vᴴ B V = 1, P = Vᴴ dA V, Q = Vᴴ dB V. Then dΛ = diag(P − Λ Q) and V⁻¹ dV = X − Q/2 with
// X_ij = (P_ij − (λᵢ + λⱼ)/2 Q_ij)/(λⱼ − λᵢ), skew. The pole is that of eigh (spectral_rules.cpp), and so is its
// limit: along λ + t w with V fixed, A moves by V⁻ᴴ diag(w) V⁻¹, where V⁻¹ = Vᴴ B.
#include "linalg/pencil_rule.hpp"

#include "linalg/quotients.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

struct PencilCotangents {
  Tensor a, b;
};

PencilCotangents cotangents_of(const Backward& b, const Tensor& w, const Tensor& v, const std::vector<Tensors>& t,
                               const Clusters& c, Tensor* lost = nullptr) {
  const Tensor &gw = t[0][0], &gv = t[0][1];
  Tensor of_a, of_b;
  if (gw.defined()) {
    of_a = astype(on_diagonal(gw), v.dtype());
    of_b = negative(astype(on_diagonal(multiply(gw, w)), v.dtype()));
  }
  if (gv.defined()) {
    Terms terms;
    for (const Tensors& g : t) terms.push_back(g[1]);
    const Tensor turn = turning_cotangent(b, w, v, terms, c, gw, lost), mean = multiply(add(row(w), column(w)), 0.5);
    of_a = sum_of(of_a, turn);
    of_b = subtract(sum_of(of_b, negative(multiply(turn, mean))), multiply(hermitian(matmul(adjoint(v), gv)), 0.5));
  }
  return {product(v, of_a, adjoint(v)), product(v, of_b, adjoint(v))};
}

// V⁻ᴴ diag(x) V⁻¹.
Tensor in_basis(const Tensor& metric, const Tensor& v, const Tensor& x) {
  const Tensor whole = matmul(metric, v);
  return recombined(whole, x, whole);
}

// The pencil at values and vectors. An A that stands for several members of B does not move with one of them.
struct Pencil {
  const Backward& b;
  const Tensor &metric, &w, &v, &a;

  std::vector<Tensors> series(const Clusters& c, int order) const {
    const bool own = b.shape(0) == v.shape();
    const Tensor da = own ? in_basis(metric, v, c.w) : Tensor();
    return b.taylor({{w, v}, {own ? a : Tensor(), {}}}, {{c.w, {}}, {da, {}}}, order);
  }
  PencilCotangents cotangents(const Clusters& c, int order, bool whole = false, Tensor* lost = nullptr) const {
    const auto t = series(c, order);
    PencilCotangents g = cotangents_of(b, w, v, t, c, lost);
    if (whole && t[0].size() > 2) g.a = sum_of(g.a, t[0][2]);
    return g;
  }
  // With the series of all values and one term more where g is lost.
  void mend(PencilCotangents& g, const Tensor& lost, const Clusters& c, int terms) const {
    if (!lost.defined()) return;
    const Clusters wide = widened(c, false);
    const Tensor both = concat({g.a, g.b}, {.axis = -1});
    const Tensor found = where_lost(
        b, both, lost, {1}, [&] { return per_size(wide, series(wide, 1)); },
        [&] {
          const PencilCotangents again = cotangents(wide, terms + 1);
          return concat({again.a, again.b}, {.axis = -1});
        });
    const std::int64_t n = v.shape().back();
    g = {part(found, -1, 0, n), part(found, -1, n, 2 * n)};
  }
};

}  // namespace

Tensors vjp_eigh_generalized(const Backward& b) {
  const Tensor &w = b.out[0], &v = b.out[1], &gw = b.cotangents[0];
  if (w.size() == 0) return {zeros_for(b.facts[0]), zeros_for(b.facts[1])};
  const int terms = terms_for(b);
  const Clusters c = clusters_of(w, b.residuals[0], false, terms, eps_of(b, w.dtype()));
  PencilCotangents g;
  if (!b.cotangents[1].defined()) {
    const auto at = [&](const Tensor& values) { return b.taylor({{values, {}}, {}}, {}, 0)[0][0]; };
    g = cotangents_of(b, w, v, {{levelled(b, gw, c, "eigenvalues", at), {}}}, c);
  } else {
    const Tensor metric = meant_hermitian(b.in[1], b.attr(0));
    if (b.verify().value_or(c.any && c.ties)) {
      const Unrecorded here;
      const Tensor level = level_values(c, w, 64 * eps_of(b, w.dtype()));
      verify_bases(b, c, level, v.dtype(), b.verify().value_or(false), [&](const Tensor& r, const Tensor&) {
        const Tensor turned = matmul(v, r), a = in_basis(metric, turned, level);
        const PencilCotangents both = Pencil{b, metric, level, turned, a}.cotangents(c, c.terms(2), true);
        return concat({both.a, both.b}, {.axis = -1});
      });
    }
    const Pencil here{b, metric, w, v, b.in[0]};
    Tensor lost;
    g = c.any ? here.cotangents(c, c.terms(terms), false, &lost)
              : cotangents_of(b, w, v, {{gw, b.cotangents[1]}}, c, &lost);
    here.mend(g, lost, c, terms);
  }
  return {hermitian_cotangent(g.a, b.attr(0)), hermitian_cotangent(g.b, b.attr(0))};
}

Tensors jvp_eigh_generalized(const Forward& f) {
  const Tensor &w = f.out[0], &v = f.out[1];
  if (w.size() == 0) return {zeros_for(f.output(0)), zeros_for(f.output(1))};
  const Clusters c = tangent_clusters(w, f.residuals[0], false);
  if (c.any || is_complex(v.dtype())) f.choose();
  const auto inner = [&](std::size_t i) {
    return f.tangents[i].defined() ? product(adjoint(v), meant_hermitian(f.tangents[i], f.attr(0)), v) : Tensor();
  };
  const Tensor p = inner(0), q = inner(1), mean = multiply(add(row(w), column(w)), 0.5);
  const Tensor m = minus(p, q.defined() ? multiply(q, mean) : q);
  const Tensor apart = subtract(row(w), column(w)), same = astype(eye(w.shape().back()), DType::boolean);
  const Tensor tied = unrecorded([&] { return logical_and(less_equal(wp::abs(apart), c.near), logical_not(same)); });
  const Tensor turn = turning_tangent(where(same, 0, m), where(same, 1, apart), tied);
  return {real(linalg::diagonal(m)), matmul(v, minus(turn, q.defined() ? multiply(q, 0.5) : q))};
}

}  // namespace wp::linalg
