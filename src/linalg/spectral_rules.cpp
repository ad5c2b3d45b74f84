// Let A = U S Vᴴ and K± = skew(Uᴴ gU) ± skew(Vᴴ gV), skew(Z) = (Z − Zᴴ)/2. Then
//   gA = U [diag(gS) + K⁺_ij/(s_j − s_i) (i ≠ j) + K⁻_ij/(s_i + s_j)] Vᴴ + (I − UUᴴ) gU S⁻¹ Vᴴ + U S⁻¹ gVᴴ (I − VVᴴ),
// and for A = V diag(λ) Vᴴ: gA = V [diag(gλ) + skew(Vᴴ gV)_ij/(λ_j − λ_i)] Vᴴ. For a loss that does not depend on the
// basis of a repeated value every numerator vanishes with its denominator. Along s + t w, U and V fixed, with w
// different inside each cluster, it vanishes at t = −r, r = denominator / (the same of w), so
//   K/d = [∂K − (r/2) ∂²K + (r²/6) ∂³K − …] / d(w),
// derivatives along w of the cotangents that the rest of the computation gives.
#include "linalg/spectral_rules.hpp"

#include <algorithm>

#include "linalg/quotients.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

// ---- svd ----
struct Factors {
  Tensor U, S, V;  // V = Vhᴴ; square, or thin
};
struct Cotangents {
  Tensor U, S, V;
};
Cotangents cotangents_of(const Tensors& t) {
  return {t[0], t[1], t[2].defined() ? adjoint(t[2]) : Tensor()};
}

// `lost`: Quotients::lost.
Tensor gradient_of_svd(const Backward& b, const Factors& p, const std::vector<Cotangents>& t, const Clusters& c,
                       Tensor* lost = nullptr) {
  const std::int64_t k = p.S.shape().back(), m = p.U.shape(-2), n = p.V.shape(-2);
  const Tensor u1 = leading(p.U, k), v1 = leading(p.V, k), u2 = trailing(p.U, k), v2 = trailing(p.V, k);
  Terms plus_terms, minus_terms, of_u, of_v;
  Tensor first, size;
  for (const Cotangents& g : t) {
    const auto part = [&](const Tensor& whole, const Tensor& g_whole, const Tensor& one, const Tensor& two,
                          std::int64_t rows, Terms& rest) {
      if (!g_whole.defined()) {
        rest.emplace_back();
        return Tensor();
      }
      const Tensor g1 = leading(g_whole, k), g2 = trailing(g_whole, k);
      const Tensor inner = matmul(adjoint(one), g1);
      Tensor outer;
      if (rows > k) outer = subtract(g1, matmul(one, inner));
      if (two.defined()) outer = subtract(outer, matmul(two, matmul(adjoint(g2), one)));
      rest.push_back(outer);
      if (&g - t.data() < 2) {  // a cotangent that vanishes is judged by its derivative
        const Unrecorded here;
        const Tensor own = size_of(two.defined() ? matmul(adjoint(whole), g_whole) : inner);
        const Tensor as_long = &g == t.data() ? own : c.per_size(own);
        size = size.defined() ? maximum(size, as_long) : as_long;
        if (&g == t.data()) first = size;
      }
      return skew(inner);
    };
    const Tensor ku = part(p.U, g.U, u1, u2, m, of_u), kv = part(p.V, g.V, v1, v2, n, of_v);
    plus_terms.push_back(sum_of(ku, kv));
    minus_terms.push_back(minus(ku, kv));
  }
  Tensor core = t[0].S.defined() ? on_diagonal(t[0].S) : Tensor();
  Tensor g;
  Quotients quotients(b, c, std::max(m, n), first, size, [&] {
    return measured_noise(b, {p.U, {}, adjoint(p.V)}, {t[0].U, {}, t[0].V.defined() ? adjoint(t[0].V) : Tensor()});
  });
  if (plus_terms[0].defined()) {
    const Tensor same = astype(eye(k), DType::boolean);
    if (is_complex(p.U.dtype()))
      quotients.must_vanish(where(same, plus_terms[0], 0), "the phases of singular vectors");
    const Tensor pole =
        quotients.of(plus_terms, subtract(row(p.S), column(p.S)), subtract(row(c.w), column(c.w)), same);
    core = sum_of(core, where(same, 0, pole));
    const Tensor zero = quotients.of(minus_terms, add(row(p.S), column(p.S)), add(row(c.w), column(c.w)));
    core = sum_of(core, is_complex(p.U.dtype()) ? zero : where(same, 0, zero));
  }
  if (core.defined()) g = product(u1, core, adjoint(v1));
  if (of_u[0].defined())
    g = sum_of(g, matmul(quotients.of(of_u, broadcast_to(row(p.S), of_u[0].shape()),
                                      broadcast_to(row(c.w), of_u[0].shape())),
                         adjoint(v1)));
  if (of_v[0].defined())
    g = sum_of(g, matmul(u1, adjoint(quotients.of(of_v, broadcast_to(row(p.S), of_v[0].shape()),
                                                  broadcast_to(row(c.w), of_v[0].shape())))));
  if (u2.defined() && t[0].U.defined())
    quotients.must_vanish(skew(matmul(adjoint(u2), trailing(t[0].U, k))), "the basis that completes U");
  if (v2.defined() && t[0].V.defined())
    quotients.must_vanish(skew(matmul(adjoint(v2), trailing(t[0].V, k))), "the basis that completes V");
  if (g.defined()) {
    const Tensor whole = unrecorded([&] { return size_of(g); });
    quotients.find_cancelled(whole);
    if (lost) *lost = quotients.lost(whole);
  }
  return g;
}

// `at`: the cotangent for other values.
Tensor gradient_of_values(const Backward& b, const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& g,
                          const Clusters& c, const std::function<Tensor(const Tensor&)>& at) {
  const Tensor level = levelled(b, g, c, "singular values", at);
  find_mixed(b, level, c);
  find_unsure(b, level, c, s, at);
  const std::int64_t k = s.shape().back();
  return recombined(leading(u, k), level, leading(adjoint(vh), k));
}

Factors factors_of(const Tensors& outputs) {
  return {outputs[0], outputs[1], adjoint(outputs[2])};
}

// Cotangents at other factors, and their derivatives along c.w.
std::vector<Tensors> series_of(const Backward& b, const Tensors& outputs, const Tensor& a, const Clusters& c,
                               int order) {
  const Factors p = factors_of(outputs);
  const std::int64_t k = p.S.shape().back();
  return b.taylor({outputs, {a}}, {{{}, c.w, {}}, {recombined(leading(p.U, k), c.w, leading(p.V, k))}}, order);
}

// The gradient there, with the series; `whole`: with what A's uses beside the decomposition add, as only their sum is
// the same in every basis.
Tensor gradient_at(const Backward& b, const Tensors& outputs, const Tensor& a, const Clusters& c, int order,
                   bool whole = false, Tensor* lost = nullptr) {
  std::vector<Cotangents> t;
  Tensor beside;
  for (const Tensors& g : series_of(b, outputs, a, c, order)) {
    t.push_back(cotangents_of(g));
    if (t.size() == 1 && g.size() > 3) beside = g[3];
  }
  const Tensor g = gradient_of_svd(b, factors_of(outputs), t, c, lost);
  return whole ? sum_of(g, beside) : g;
}

// g, with the series of all values and one term more where it is lost.
Tensor mended(const Backward& b, const Tensor& g, const Tensor& lost, const Tensors& outputs, const Tensor& a,
              const Clusters& c, int terms, bool whole = false) {
  if (!lost.defined()) return g;
  const Clusters wide = widened(c, true);
  return where_lost(
      b, g, lost, {0, 2}, [&] { return per_size(wide, series_of(b, outputs, a, wide, 1)); },
      [&] { return gradient_at(b, outputs, a, wide, terms + 1, whole); });
}

// The gradient with as many terms as clusters need.
Tensor settled_gradient_at(const Backward& b, const Tensors& outputs, const Tensor& a, const Clusters& c, int terms,
                           bool whole = false) {
  Tensor lost;
  const Tensor g = gradient_at(b, outputs, a, c, c.terms(terms), whole, &lost);
  return mended(b, g, lost, outputs, a, c, terms, whole);
}

Tensor turned(const Tensor& whole, const Tensor& r) {
  const std::int64_t k = r.shape().back();
  const Tensor one = matmul(leading(whole, k), r), two = trailing(whole, k);
  return two.defined() ? concat({one, two}, {.axis = -1}) : one;
}

void verify_svd(const Backward& b, const Clusters& c, bool signs) {
  const Unrecorded here;
  const Tensor s = level_values(c, b.out[1], 64 * eps_of(b, b.out[1].dtype()));
  const std::int64_t k = s.shape().back();
  verify_bases(b, c, s, b.out[0].dtype(), signs, [&](const Tensor& r, const Tensor& l) {
    const Tensor u = turned(b.out[0], l), v = turned(adjoint(b.out[2]), r);
    const Tensor a = recombined(leading(u, k), s, leading(v, k));
    return settled_gradient_at(b, {u, s, adjoint(v)}, a, c, 2, true);
  });
}

// ---- eigh ----
Tensor gradient_of_eigh(const Backward& b, const Tensor& values, const Tensor& v, const std::vector<Tensors>& t,
                        const Clusters& c, Tensor* lost = nullptr) {
  Tensor core = t[0][0].defined() ? on_diagonal(t[0][0]) : Tensor();
  if (t[0][1].defined()) {
    Terms terms;
    for (const Tensors& g : t) terms.push_back(g[1]);
    core = sum_of(core, turning_cotangent(b, values, v, terms, c, t[0][0], lost));
  }
  return product(v, core, adjoint(v));
}

std::vector<Tensors> eigh_series_of(const Backward& b, const Tensor& values, const Tensor& v, const Tensor& a,
                                    const Clusters& c, int order) {
  return b.taylor({{values, v}, {a}}, {{c.w, {}}, {recombined(v, c.w, v)}}, order);
}

Tensor eigh_gradient_at(const Backward& b, const Tensor& values, const Tensor& v, const Tensor& a, const Clusters& c,
                        int order, bool whole = false, Tensor* lost = nullptr) {
  const auto t = eigh_series_of(b, values, v, a, c, order);
  const Tensor g = gradient_of_eigh(b, values, v, t, c, lost);
  return whole && t[0].size() > 2 ? sum_of(g, t[0][2]) : g;
}

Tensor mended_eigh(const Backward& b, const Tensor& g, const Tensor& lost, const Tensor& values, const Tensor& v,
                   const Tensor& a, const Clusters& c, int terms, bool whole = false) {
  if (!lost.defined()) return g;
  const Clusters wide = widened(c, false);
  return where_lost(
      b, g, lost, {1}, [&] { return per_size(wide, eigh_series_of(b, values, v, a, wide, 1)); },
      [&] { return eigh_gradient_at(b, values, v, a, wide, terms + 1, whole); });
}

Tensor settled_eigh_gradient_at(const Backward& b, const Tensor& values, const Tensor& v, const Tensor& a,
                                const Clusters& c, int terms, bool whole = false) {
  Tensor lost;
  const Tensor g = eigh_gradient_at(b, values, v, a, c, c.terms(terms), whole, &lost);
  return mended_eigh(b, g, lost, values, v, a, c, terms, whole);
}

Tensor gradient_of_eigenvalues(const Backward& b, const Tensor& values, const Tensor& v, const Tensor& g,
                               const Clusters& c, const std::function<Tensor(const Tensor&)>& at) {
  const Tensor level = levelled(b, g, c, "eigenvalues", at);
  find_mixed(b, level, c);
  find_unsure(b, level, c, values, at);
  return recombined(v, level, v);
}

}  // namespace

Tensors vjp_svd(const Backward& b) {
  const Tensor& s = b.out[1];
  const int terms = terms_for(b);
  const bool vectors = b.cotangents[0].defined() || b.cotangents[2].defined();
  if (s.size() == 0) return {zeros_for(b.facts[0])};
  const Clusters c = clusters_of(s, b.residuals[0], true, terms, eps_of(b, s.dtype()));
  Tensors g{b.cotangents[0], b.cotangents[1], b.cotangents[2]};
  const auto at = [&](const Tensor& values) { return b.taylor({{{}, values, {}}, {}}, {}, 0)[0][1]; };
  if (!vectors) return {gradient_of_values(b, b.out[0], s, b.out[2], g[1], c, at)};
  if (g[1].defined()) find_unsure(b, g[1], c, s, at);
  const Tensors outputs{b.out[0], s, b.out[2]};
  if (b.verify().value_or(c.any && c.ties)) verify_svd(b, c, b.verify().value_or(false));
  if (c.any) return {settled_gradient_at(b, outputs, b.in[0], c, terms)};
  Tensor lost;
  const Tensor first = gradient_of_svd(b, factors_of(outputs), {cotangents_of(g)}, c, &lost);
  return {mended(b, first, lost, outputs, b.in[0], c, terms)};
}

Tensors vjp_eigh(const Backward& b) {
  const Tensor &values = b.out[0], &v = b.out[1];
  const int terms = terms_for(b);
  if (values.size() == 0) return {zeros_for(b.facts[0])};
  const Clusters c = clusters_of(values, b.residuals[0], false, terms, eps_of(b, values.dtype()));
  Tensor g;
  const auto at = [&](const Tensor& other) { return b.taylor({{other, {}}, {}}, {}, 0)[0][0]; };
  if (!b.cotangents[1].defined()) {
    g = gradient_of_eigenvalues(b, values, v, b.cotangents[0], c, at);
  } else {
    if (b.cotangents[0].defined()) find_unsure(b, b.cotangents[0], c, values, at);
    if (b.verify().value_or(c.any && c.ties)) {
      const Unrecorded here;
      const Tensor level = level_values(c, values, 64 * eps_of(b, values.dtype()));
      verify_bases(b, c, level, v.dtype(), b.verify().value_or(false), [&](const Tensor& r, const Tensor&) {
        const Tensor vectors = matmul(v, r);
        return settled_eigh_gradient_at(b, level, vectors, recombined(vectors, level, vectors), c, 2, true);
      });
    }
    if (c.any) {
      g = settled_eigh_gradient_at(b, values, v, b.in[0], c, terms);
    } else {
      Tensor lost;
      g = gradient_of_eigh(b, values, v, {{b.cotangents[0], b.cotangents[1]}}, c, &lost);
      g = mended_eigh(b, g, lost, values, v, b.in[0], c, terms);
    }
  }
  return {hermitian_cotangent(g, b.attr(0))};
}

// Where the way back is differentiated again, U diag(g) Vᴴ is smooth at a tie only together with what g makes of the
// values: so g is computed once more, from those of this decomposition.
Tensors vjp_svdvals(const Backward& b) {
  if (b.g().size() == 0) return {zeros_for(b.facts[0])};
  const SvdResult f = svd(b.in[0], {.full_matrices = false, .if_ill = b.attr(0).text()});
  const Clusters c = clusters_of(f.S, b.residuals[0], true, terms_for(b), eps_of(b, f.S.dtype()));
  const auto at = [&](const Tensor& values) { return b.taylor({{values}, {}}, {}, 0)[0][0]; };
  const Tensor g = cotangent_at(b, c, f.S, at);
  return {gradient_of_values(b, f.U, f.S, f.Vh, g, c, at)};
}

Tensors vjp_eigvalsh(const Backward& b) {
  if (b.g().size() == 0) return {zeros_for(b.facts[0])};
  const Attr& uplo = b.attr(0);
  const EighResult f =
      eigh(b.in[0], {.uplo = uplo ? std::optional(uplo.text()) : std::nullopt, .if_ill = b.attr(1).text()});
  const Clusters c =
      clusters_of(f.eigenvalues, b.residuals[0], false, terms_for(b), eps_of(b, f.eigenvalues.dtype()));
  const auto at = [&](const Tensor& values) { return b.taylor({{values}, {}}, {}, 0)[0][0]; };
  const Tensor g = cotangent_at(b, c, f.eigenvalues, at);
  return {hermitian_cotangent(gradient_of_eigenvalues(b, f.eigenvalues, f.eigenvectors, g, c, at), uplo)};
}

}  // namespace wp::linalg
