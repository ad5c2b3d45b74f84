// A V = V Λ. Columns have length 1 and their largest element is real, which fixes them where eigenvalues are simple:
// dV = V N with N_ij = M_ij/(λⱼ − λᵢ), M = V⁻¹ dA V, and a multiple of vⱼ that keeps length and phase. So with g′ the
// part of gV that does not see length and phase, and K = Vᴴ g′,
//   gA = V⁻ᴴ [diag(gλ) + K_ij/conj(λⱼ − λᵢ)] Vᴴ.
// Where an eigenvalue is repeated and has as many vectors, any basis of them is as good. For a loss that does not
// depend on it, as one of V f(Λ) V⁻¹, K vanishes with its denominator, and the quotient is the limit of
// spectral_rules.cpp: K = c(δ) conj(δ), δ = λⱼ − λᵢ, so along λ + t w, V fixed, with ω = conj(wⱼ − wᵢ)
//   c = [∂K − (r/2) ∂²K + …]/ω,  r = conj(δ)/ω,
// whatever direction w has in the complex plane.
#include "linalg/eig_rule.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "linalg/bounds.hpp"
#include "linalg/eig_clusters.hpp"
#include "linalg/quotients.hpp"
#include "linalg/stack.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

// Where several elements are the largest, the phase of the vector jumps from one to the other.
void refuse_phases(const Tensor& v, const Tensor& first, const Tensor& along, const Tensor& g) {
  const Unrecorded here;
  const Tensor size = wp::abs(v), most = wp::max(size, {.axis = -2, .keepdims = true});
  const double u = round_off(real_of(v.dtype()));
  const Tensor tied = logical_and(logical_not(first), greater(size, multiply(most, 1 - 64 * u)));
  const Tensor whole = sum(multiply(wp::abs(g), size), {.axis = -2, .keepdims = true});
  const Tensor turns = greater(wp::abs(imag(along)), multiply(whole, gauge_rounding(v.dtype(), v.shape().back())));
  if (any_true(logical_and(wp::any(tied, {.axis = -2, .keepdims = true}), turns)))
    refuse<GaugeError>(
        "WP-GRD-007",
        "the loss depends on the phase of an eigenvector, which several elements of the same size leave "
        "open.",
        "Use what does not depend on it, as v conj(v)ᵀ.");
}

// K
Tensor turning(const Tensor& v, const Tensor& g) {
  const std::int64_t n = v.shape().back();
  const Tensor along = sum(multiply(conj(g), v), {.axis = -2, .keepdims = true});  // gⱼᴴ vⱼ
  const Tensor first = unrecorded([&] {
    return equal(argmax(wp::abs(v), {.axis = -2, .keepdims = true}), expand_dims(arange(n), {.axis = -1}));
  });
  refuse_phases(v, first, along, g);
  const Tensor top = where(first, divide(complex128(0, 1), conj(where(first, v, 1))), 0);
  const Tensor free = add(subtract(g, multiply(v, real(along))), multiply(top, imag(along)));
  return matmul(adjoint(v), free);
}

Tensor differences(const Tensor& w) {
  return subtract(row(w), column(w));
}

// What the inverse of V makes of rounding, relative to the gradient: of the quotients, and of vectors that mix.
void find_lost(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& gv, const Tensor& core,
               const Tensor& g, const EigenClusters& c) {
  const double u = round_off(real_of(v.dtype())), terms = terms_for(b);
  const Unrecorded here;
  if (!b.verify().value_or(true)) return;
  const Tensor size = wp::abs(v), one = identity(v.shape().back(), DType::boolean);
  const Tensor gap = where(one, 1, wp::abs(differences(w))), near = less_equal(gap, c.near);
  Tensor off = multiply(wp::abs(core), 4 * u);
  if (gv.defined()) {
    const Tensor direct =
        divide(multiply(matmul(matrix_transpose(size), wp::abs(gv)), 4 * u), where(equal(gap, 0), 1, gap));
    off = add(off, where(one, 0, where(near, multiply(wp::abs(core), std::pow(u, terms / (terms + 1))), direct)));
  }
  const Tensor inverse = wp::abs(diagnosed::inv(v, {.if_ill = "ignore"}).value);
  const Tensor lost = size_of(matmul(matrix_transpose(inverse), matmul(off, matrix_transpose(size))));
  const Tensor part = divide(lost, where(equal(size_of(g), 0), 1, size_of(g)));
  const double allowed = std::pow(u, 0.4),
               worst = astype(wp::max(where(equal(size_of(g), 0), 0, part)), f64).item<double>();
  if (worst > allowed)
    find_loss(
        b, "WP-GRD-012", worst, allowed,
        say("the eigenvectors are nearly dependent: the gradient is a difference of large numbers, and may be off "
            "by ",
            worst, " of itself."),
        "Use a function of the matrix (expm, sqrtm, matrix_power), or eigh if it should be symmetric.");
}

// t: cotangents of values and vectors, and their derivatives along c.w.
Tensor gradient_of(const Backward& b, const Tensor& w, const Tensor& v, const std::vector<Tensors>& t,
                   const EigenClusters& c) {
  const std::int64_t n = w.shape().back();
  Tensor core = t[0][0].defined() ? on_diagonal(t[0][0]) : Tensor();
  if (t[0][1].defined()) {
    Terms terms;
    for (const Tensors& g : t) terms.push_back(turning(v, g[1]));
    const Tensor size = unrecorded([&] { return size_of(matmul(wp::abs(adjoint(v)), wp::abs(t[0][1]))); });
    Quotients quotients(b, c, n, size);
    const Tensor one = identity(n, DType::boolean);
    core = sum_of(core, where(one, 0, quotients.of(terms, conj(differences(w)), conj(differences(c.w)), one)));
  }
  const Tensor vh = adjoint(v);
  const Tensor g = diagnosed::solve(vh, matmul(core, vh), {.if_ill = "ignore"}).value;
  find_lost(b, w, v, t[0][1], core, g, c);
  return g;
}

Tensor gradient_at(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& a, const EigenClusters& c,
                   int order) {
  const Tensor inverse = diagnosed::inv(v, {.if_ill = "ignore"}).value;
  const Tensor moved = matmul(multiply(v, row(c.w)), inverse);
  const Tensor da = is_complex(b.dtype(0)) ? moved : real(moved);
  return gradient_of(b, w, v, b.taylor({{w, v}, {a}}, {{c.w, {}}, {astype(da, b.dtype(0))}}, order), c);
}

// Values with ties made exact.
Tensor levelled_values(const EigenClusters& c, const Tensor& like) {
  const auto n = static_cast<std::size_t>(like.shape().back());
  std::vector<complex128> v = c.z;
  for (const EigenClusters::Tie& t : c.all_ties) {
    complex128 mean = 0;
    for (const std::size_t i : t.values) mean += c.z[t.member * n + i] / static_cast<double>(t.values.size());
    for (std::size_t i = 0; i < t.values.size(); ++i) {
      v[t.member * n + t.values[i]] = mean;
      if (!t.mirrored.empty()) v[t.member * n + t.mirrored[i]] = std::conj(mean);
    }
  }
  return astype(Tensor::from(v, like.shape()), like.dtype());
}

void verify_eig(const Backward& b, const EigenClusters& c) {
  const Unrecorded here;
  const Tensor &w = b.out[0], &v = b.out[1], level = levelled_values(c, w);
  const auto bases = [&](int, std::uint64_t seed) {
    const Tensor r = c.basis(w.shape(), v.dtype(), seed);
    return Bases{r, r};
  };
  compare_bases(b, c, finfo(real_of(w.dtype())).eps, 0, 0, bases, [&](const Tensor& r, const Tensor&) {
    const Tensor turned = matmul(v, r);
    const Tensor a = matmul(multiply(turned, row(level)), diagnosed::inv(turned, {.if_ill = "ignore"}).value);
    const Tensor own = astype(is_complex(b.dtype(0)) ? a : real(a), b.dtype(0));
    return gradient_at(b, level, turned, own, c, c.terms(2));
  });
}

// How far cotangents of tied values are apart, relative to the largest of their member.
double unevenness(const EigenClusters& c, std::size_t n, const std::vector<complex128>& g) {
  double worst = 0;
  for (const EigenClusters::Tie& t : c.all_ties) {
    double most = 0, apart = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(g[t.member * n + i]));
    const auto spread = [&](const std::vector<std::size_t>& values) {
      for (const std::size_t i : values)
        apart = std::max(apart, std::abs(g[t.member * n + i] - g[t.member * n + values[0]]));
    };
    spread(t.values);
    spread(t.mirrored);
    if (most > 0) worst = std::max(worst, apart / most);
  }
  return worst;
}

// Each cotangent replaced by the mean over its tie, if the loss has a kink there. `at`: those of other values.
Tensor levelled(const Backward& b, const Tensor& w, const Tensor& g, const EigenClusters& c,
                const std::function<Tensor(const Tensor&)>& at) {
  const auto n = static_cast<std::size_t>(w.shape().back());
  const auto elements = [](const Tensor& t) { return astype(t, c128).to_vector<complex128>(); };
  const double allowed = std::ldexp(finfo(real_of(w.dtype())).eps, 14) * static_cast<double>(n);
  double worst = unrecorded([&] { return unevenness(c, n, elements(g)); });
  if (worst > allowed) worst = unrecorded([&] { return unevenness(c, n, elements(at(levelled_values(c, w)))); });
  if (worst <= allowed) return g;
  find_kink(b, worst, allowed,
            "the loss has a kink here: it treats eigenvalues that are equal differently. The gradient is a "
            "subgradient: the mean over the tie.");
  std::vector<double> mean(static_cast<std::size_t>(w.size()) * n, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.size()); ++i) mean[i * n + i % n] = 1;
  for (const EigenClusters::Tie& t : c.all_ties)
    for (const auto& values : {t.values, t.mirrored})
      for (const std::size_t i : values)
        for (const std::size_t j : values) mean[(t.member * n + i) * n + j] = 1 / static_cast<double>(values.size());
  Dims shape = w.shape();
  shape.push_back(w.shape().back());
  return squeeze(matmul(astype(Tensor::from(mean, shape), g.dtype()), column(g)), -1);
}

// Cotangents that differ between values whose vectors mix.
void find_mixed(const Backward& b, const Tensor& g, const EigenClusters& c) {
  const Unrecorded here;
  if (!b.verify().value_or(true) || !c.any) return;
  const std::vector<complex128> v = astype(g, c128).to_vector<complex128>();
  const auto n = static_cast<std::size_t>(g.shape().back());
  const double half = 1000 * std::sqrt(round_off(real_of(g.dtype())));
  double least = HUGE_VAL;
  for (std::size_t first = 0; first < v.size(); first += n) {
    double most = 0;
    for (std::size_t i = first; i < first + n; ++i) most = std::max(most, std::abs(v[i]));
    for (std::size_t i = first; i < first + n; ++i)
      for (std::size_t j = i + 1; j < first + n; ++j) {
        if (c.group[i] >= 0 && c.group[i] == c.group[j]) continue;
        const double gap = std::abs(c.z[i] - c.z[j]), error = std::max(c.error[i], c.error[j]);
        if (error * std::abs(v[i] - v[j]) > half * most * gap) least = std::min(least, gap);
      }
  }
  if (std::isfinite(least))
    find_loss(b, "WP-GRD-008", least, half,
              say("the loss weighs eigenvalues differently that differ by ", least,
                  " only: their vectors, of which the gradient is made, have lost digits accordingly."),
              "Use what treats them alike, or a wider dtype.");
}

// Vectors of ties that are computed may be nearly dependent: orthonormal ones instead. Where the way back is
// differentiated again, vectors must belong to their own values, as those split.
Tensor better_basis(const Backward& b, const Tensor& w, const Tensor& v, const EigenClusters& c) {
  return c.ties && !b.recorded() ? matmul(v, c.basis(w.shape(), v.dtype(), 0)) : v;
}

Tensor gradient_of_values(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& g,
                          const EigenClusters& c, const std::function<Tensor(const Tensor&)>& at) {
  const Tensor level = levelled(b, w, g, c, at);
  find_mixed(b, level, c);
  return gradient_of(b, w, better_basis(b, w, v, c), {{level, {}}}, c);
}

EigenClusters clusters_at(const Backward& b, const Tensor& w, const Tensor& v) {
  const int terms = terms_for(b);
  const Unrecorded here;
  const Tensor inverse = diagnosed::inv(v, {.if_ill = "ignore"}).value;
  EigenClusters c = eigen_clusters(b.in[0], w, v, inverse, terms);
  // |row j of V⁻¹| is the condition of eigenvalue j.
  const Tensor tied = c.ties ? matmul(v, c.basis(w.shape(), v.dtype(), 0)) : v;
  const Tensor rows = c.ties ? diagnosed::inv(tied, {.if_ill = "ignore"}).value : inverse;
  if (any_true(logical_not(less_equal(wp::abs(rows), 1e-3 / round_off(real_of(v.dtype()))))))
    no_derivative_here(
        "a matrix has an eigenvalue with fewer vectors than its multiplicity: there is no derivative.",
        "Use a function of the matrix (expm, sqrtm, matrix_power), or eigh if it should be symmetric.");
  return c;
}

}  // namespace

Tensors vjp_eig(const Backward& b) {
  const Tensor &w = b.out[0], &v = b.out[1];
  if (w.size() == 0) return {zeros_for(b.facts[0])};
  const EigenClusters c = clusters_at(b, w, v);
  if (!b.cotangents[1].defined())
    return {gradient_of_values(b, w, v, b.cotangents[0], c, [&](const Tensor& values) {
      return b.taylor({{values, {}}, {}}, {}, 0)[0][0];
    })};
  if (!c.any) return {gradient_of(b, w, v, {{b.cotangents[0], b.cotangents[1]}}, c)};
  if (b.verify().value_or(c.ties) && c.ties) verify_eig(b, c);
  return {gradient_at(b, w, better_basis(b, w, v, c), b.in[0], c, c.terms(terms_for(b)))};
}

// Where the way back is differentiated again, cotangents are computed once more from the values of this decomposition
// (vjp_svdvals).
Tensors vjp_eigvals(const Backward& b) {
  if (b.in[0].size() == 0) return {zeros_for(b.facts[0])};
  const auto f = diagnosed::eig(b.in[0]).value;
  const Tensor &w = f.eigenvalues, &v = f.eigenvectors;
  const EigenClusters c = clusters_at(b, w, v);
  const auto at = [&](const Tensor& values) { return b.taylor({{values}, {}}, {}, 0)[0][0]; };
  return {gradient_of_values(b, w, v, cotangent_at(b, c, w, at), c, at)};
}

}  // namespace wp::linalg
