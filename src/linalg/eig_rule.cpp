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

// gⱼᴴ vⱼ: what the loss makes of length and phase of a vector.
Tensor along_vectors(const Tensor& v, const Tensor& g) {
  return sum(multiply(conj(g), v), {.axis = -2, .keepdims = true});
}
Tensor largest_elements(const Tensor& v) {
  const Unrecorded here;
  return equal(argmax(wp::abs(v), {.axis = -2, .keepdims = true}),
               expand_dims(arange(v.shape().back()), {.axis = -1}));
}

// K
Tensor turning(const Tensor& v, const Tensor& g) {
  const Tensor along = along_vectors(v, g), first = largest_elements(v);
  const Tensor top = where(first, divide(complex128(0, 1), conj(where(first, v, 1))), 0);
  const Tensor free = add(subtract(g, multiply(v, real(along))), multiply(top, imag(along)));
  return matmul(adjoint(v), free);
}

// Where several elements are the largest, the phase of the vector jumps from one to the other, and the loss must not
// depend on it. What rounding leaves of such a dependence is measured: it changes when phases turn by little.
void refuse_phases(const Backward& b, const Tensor& v) {
  b.choose();
  const Unrecorded here;
  const Tensor &w = b.out[0], &g = b.cotangents[1];
  const Tensor size = wp::abs(v), most = wp::max(size, {.axis = -2, .keepdims = true});
  const double u = round_off(real_of(v.dtype()));
  const Tensor tied = logical_and(logical_not(largest_elements(v)), greater(size, multiply(most, 1 - 64 * u)));
  const Tensor whole = sum(multiply(wp::abs(g), size), {.axis = -2, .keepdims = true}), along = along_vectors(v, g);
  Tensor bad = logical_and(
      wp::any(tied, {.axis = -2, .keepdims = true}),
      greater(wp::abs(imag(along)), multiply(whole, gauge_rounding(eps_of(b, v.dtype()), v.shape().back()))));
  for (std::uint64_t seed = 1; seed <= 3 && any_true(bad); ++seed) {
    const Tensor angle = multiply(real(noise_like(along, seed)), 64 * u);
    const Tensor turned = multiply(v, exp(multiply(angle, complex128(0, 1))));
    const Tensor again = along_vectors(turned, b.taylor({{w, turned}, {}}, {}, 0)[0][1]);
    bad = logical_and(bad, greater(wp::abs(imag(along)), multiply(wp::abs(subtract(again, along)), 64)));
  }
  if (any_true(bad))
    refuse<GaugeError>(
        "WP-GRD-007",
        "the loss depends on the phase of an eigenvector, which several elements of the same size leave open.",
        "Use what does not depend on it, as v conj(v)ᵀ.");
}

Tensor differences(const Tensor& w) {
  return subtract(row(w), column(w));
}

// The size of what the cotangent of the vectors is the sum of: of V f(Λ) V⁻¹ it may cancel but for rounding.
Tensor size_of_parts(const Backward& b, const Tensor& v) {
  Tensor noise;
  if (b.verify().value_or(true)) answered([&] { noise = measured_noise(b, {{}, v}, {{}, b.cotangents[1]}, 1); });
  return noise.defined() ? unrecorded([&] { return divide(noise, 2 * eps_of(b, noise.dtype())); }) : noise;
}

// t: cotangents of values and vectors, and their derivatives along c.w. `parts`: size_of_parts. `lost`:
// Quotients::lost.
Tensor gradient_of(const Backward& b, const Tensor& w, const Tensor& v, const std::vector<Tensors>& t,
                   const EigenClusters& c, const Tensor& parts = {}, Tensor* lost = nullptr) {
  const std::int64_t n = w.shape().back();
  Tensor core = t[0][0].defined() ? on_diagonal(t[0][0]) : Tensor();
  if (t[0][1].defined()) {
    Terms terms;
    for (const Tensors& g : t) terms.push_back(turning(v, g[1]));
    // Where the cotangent cancels, what it is made of is seen in its derivative too.
    const auto size_at = [&](std::size_t order) {
      return unrecorded([&] { return size_of(matmul(wp::abs(adjoint(v)), wp::abs(t[order][1]))); });
    };
    const Tensor given = size_at(0), own = parts.defined() ? maximum(given, parts) : given,
                 size = t.size() > 1 ? maximum(own, unrecorded([&] { return c.per_size(size_at(1)); })) : own;
    Quotients quotients(b, c, n, own, size, [&] { return measured_noise(b, {{}, v}, {{}, t[0][1]}); });
    const Tensor one = identity(n, DType::boolean);
    core = sum_of(core, where(one, 0, quotients.of(terms, conj(differences(w)), conj(differences(c.w)), one)));
    const Tensor whole = unrecorded([&] { return size_of(core); });
    quotients.find_cancelled(whole);
    if (lost) *lost = quotients.lost(whole);
  }
  const Tensor vh = adjoint(v);
  return diagnosed::solve(vh, matmul(core, vh), {.if_ill = "ignore"}).value;
}

// Cotangents at other factors, and their derivatives along c.w.
std::vector<Tensors> series_of(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& a,
                               const EigenClusters& c, int order) {
  if (order == 0) return b.taylor({{w, v}, {a}}, {}, 0);
  const Tensor inverse = diagnosed::inv(v, {.if_ill = "ignore"}).value;
  const Tensor moved = matmul(multiply(v, row(c.w)), inverse);
  const Tensor da = is_complex(b.dtype(0)) ? moved : real(moved);
  return b.taylor({{w, v}, {a}}, {{c.w, {}}, {astype(da, b.dtype(0))}}, order);
}

// The gradient there. (Without clusters, and unless somebody asks again, the cotangents at hand would do.)
Tensor gradient_at(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& a, const EigenClusters& c,
                   int order, bool whole = false, const Tensor& parts = {}, Tensor* lost = nullptr) {
  const auto t = series_of(b, w, v, a, c, order);
  const Tensor g = gradient_of(b, w, v, t, c, parts, lost);
  return whole && order > 0 && t[0].size() > 2 ? sum_of(g, t[0][2]) : g;
}

// Values with ties made exact, or split a little.
Tensor levelled_values(const EigenClusters& c, const Tensor& like, double split) {
  const auto n = static_cast<std::size_t>(like.shape().back());
  std::vector<complex128> v = c.z;
  for (const EigenClusters::Tie& t : c.all_ties) {
    complex128 mean = 0;
    for (const std::size_t i : t.values) mean += c.z[t.member * n + i] / static_cast<double>(t.values.size());
    for (std::size_t i = 0; i < t.values.size(); ++i) {
      const std::size_t pair = t.real ? std::max(i, t.partner[i]) : i;  // they stay conjugate
      const complex128 at = mean + split * std::abs(mean) * static_cast<double>(pair * 7 % 61 + 1) / 16.0;
      v[t.member * n + t.values[i]] = at;
      if (!t.mirrored.empty()) v[t.member * n + t.mirrored[i]] = std::conj(at);
    }
  }
  return astype(Tensor::from(v, like.shape()), like.dtype());
}

void verify_eig(const Backward& b, const EigenClusters& c) {
  const Unrecorded here;
  const Tensor &w = b.out[0], &v = b.out[1];
  const double eps = eps_of(b, w.dtype());
  const Tensor level = levelled_values(c, w, eps);
  const auto bases = [&](int, std::uint64_t seed) {
    const Tensor r = c.basis(w.shape(), v.dtype(), seed);
    return Bases{r, r};
  };
  compare_bases(b, c, eps, 0, 0, bases, [&](const Tensor& r, const Tensor&) {
    const Tensor turned = matmul(v, r);
    const Tensor a = matmul(multiply(turned, row(level)), diagnosed::inv(turned, {.if_ill = "ignore"}).value);
    const Tensor own = astype(is_complex(b.dtype(0)) ? a : real(a), b.dtype(0));
    return gradient_at(b, level, turned, own, c, c.terms(2), true);
  });
}

// How far cotangents of each tie are apart, relative to the largest of their member.
std::vector<double> unevenness(const EigenClusters& c, std::size_t n, const std::vector<complex128>& g) {
  std::vector<double> all;
  for (const EigenClusters::Tie& t : c.all_ties) {
    double most = 0, apart = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(g[t.member * n + i]));
    const auto spread = [&](const std::vector<std::size_t>& values) {
      for (const std::size_t i : values)
        apart = std::max(apart, std::abs(g[t.member * n + i] - g[t.member * n + values[0]]));
    };
    spread(t.values);
    spread(t.mirrored);
    all.push_back(most > 0 ? apart / most : 0);
  }
  return all;
}

// Each cotangent replaced by the mean over its tie, if the loss has a kink there (quotients.cpp, levelled). `at`:
// those of other values.
Tensor levelled(const Backward& b, const Tensor& w, const Tensor& g, const EigenClusters& c,
                const std::function<Tensor(const Tensor&)>& at) {
  if (!c.ties) return g;
  const auto n = static_cast<std::size_t>(w.shape().back());
  const double eps = eps_of(b, w.dtype()), allowed = std::ldexp(eps, 14) * static_cast<double>(n);
  const auto far = [&](const Tensor& t) { return unevenness(c, n, astype(t, c128).to_vector<complex128>()); };
  std::vector<double> uneven = unrecorded([&] { return far(at(levelled_values(c, w, 4 * eps))); });
  const std::vector<double> wide = unrecorded([&] { return far(at(levelled_values(c, w, 64 * eps))); });
  for (std::size_t t = 0; t < uneven.size(); ++t)
    if (uneven[t] <= wide[t] / 4) uneven[t] = 0;
  const double worst = uneven.empty() ? 0 : *std::max_element(uneven.begin(), uneven.end());
  if (worst <= allowed) return g;
  find_kink(b, worst, allowed,
            "the loss has a kink here: it treats eigenvalues that are equal differently. The gradient is a "
            "subgradient: the mean over the tie.");
  std::vector<double> mean(static_cast<std::size_t>(w.size()) * n, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(w.size()); ++i) mean[i * n + i % n] = 1;
  for (std::size_t k = 0; k < uneven.size(); ++k) {
    if (uneven[k] <= allowed) continue;
    const EigenClusters::Tie& t = c.all_ties[k];
    for (const auto& values : {t.values, t.mirrored})
      for (const std::size_t i : values)
        for (const std::size_t j : values) mean[(t.member * n + i) * n + j] = 1 / static_cast<double>(values.size());
  }
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

struct Near {
  Tensor w, v, a;  // A V = V diag(w)
};
// The decomposition where the matrix is rounded otherwise, to first order: A + E has V (1 + N), N_ij = M_ij/(λⱼ − λᵢ)
// and M = V⁻¹ E V.
Near rounded(const Backward& b, const Tensor& w0, const Tensor& v0, const Tensor& x, const Tensor& apart,
             std::uint64_t seed) {
  const double u = round_off(real_of(v0.dtype()));
  const Tensor e = multiply(multiply(b.in[0], noise_like(b.in[0], seed)), 4 * u);
  const Tensor m = product(x, astype(e, v0.dtype()), v0);
  const Tensor turn = where(apart, divide(m, where(apart, differences(w0), 1)), 0);
  const Tensor v = multiply(add(v0, matmul(v0, turn)), add(multiply(real(noise_like(v0, seed + 10)), 2 * u), 1));
  return {add(w0, linalg::diagonal(m)), divide(v, sqrt(sum(square(wp::abs(v)), {.axis = -2, .keepdims = true}))),
          add(b.in[0], e)};
}

// Pairs of values that are neither tied nor the same number: how vectors of that turn with rounding is not known.
Tensor pairs_apart(const Tensor& v, const EigenClusters& c) {
  const auto n = static_cast<std::size_t>(v.shape().back());
  std::vector<double> apart(static_cast<std::size_t>(v.size()), 1);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    const std::size_t p = i / n, q = i / (n * n) * n + i % n;
    if (c.z[p] == c.z[q] || (c.group[p] >= 0 && c.group[p] == c.group[q])) apart[i] = 0;
  }
  return astype(Tensor::from(apart, v.shape()), DType::boolean);
}

// How far the gradient moves when the matrix is rounded otherwise are the digits that it has lost. Only looked at
// where nearly dependent vectors or small gaps may lose them; three times, as few digits may agree by chance.
void find_lost(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& g, const EigenClusters& c,
               const std::function<Tensor(const Near&)>& at) {
  const Unrecorded here;
  if (!b.verify().value_or(true)) return;
  const double u = round_off(real_of(v.dtype())), allowed = std::pow(u, 0.4);
  const Tensor x = diagnosed::inv(v, {.if_ill = "ignore"}).value, apart = pairs_apart(v, c);
  const Tensor most = column(wp::max(wp::abs(w), {.axis = -1, .keepdims = true}));
  const Tensor gap = wp::min(where(apart, wp::abs(differences(w)), most), {.axis = {-2, -1}, .keepdims = true});
  const Tensor least = maximum(gap, c.near),
               risk = divide(multiply(square(size_of(x)), most), where(equal(least, 0), 1, least));
  if (!any_true(greater(risk, std::pow(u, -0.3)))) return;
  Tensor off = zeros_like(most);
  std::array<Tensor, 3> otherwise;
  for (std::size_t k = 0; k < 3; ++k) {
    otherwise[k] = at(rounded(b, w, v, x, apart, k + 1));
    off = maximum(off, size_of(subtract(otherwise[k], g)));
  }
  const Tensor size = size_of(g),
               part = where(equal(size, 0), 0, divide(multiply(off, 4), where(equal(size, 0), 1, size)));
  double worst = astype(wp::max(part), f64).item<double>();
  // Vectors that are dependent but for a few digits may lose them all alike.
  const bool alike = b.cotangents.size() > 1 && b.cotangents[1].defined() && any_true(greater(risk, 0.1 / u));
  if (alike) worst = std::max(worst, 1.0);
  if (worst <= allowed) return;
  Finding f = loss_of_digits(
      "WP-GRD-012", worst, allowed,
      say("eigenvectors are nearly dependent, or eigenvalues nearly equal: rounding of the matrix moves the gradient "
          "by about ",
          worst, " of itself."),
      "Use a function of the matrix (expm, sqrtm, matrix_power), or eigh if it should be symmetric.");
  b.of_derivative() && !alike ? b.suspect(std::move(f), otherwise) : b.find(std::move(f));
}

Tensor gradient_of_values(const Backward& b, const Tensor& w, const Tensor& v, const Tensor& g,
                          const EigenClusters& c, const std::function<Tensor(const Tensor&)>& at) {
  const Tensor level = levelled(b, w, g, c, at);
  find_mixed(b, level, c);
  const Tensor g_a = gradient_of(b, w, better_basis(b, w, v, c), {{level, {}}}, c);
  find_lost(b, w, v, g_a, c, [&](const Near& r) { return gradient_of(b, r.w, r.v, {{at(r.w), {}}}, c); });
  return g_a;
}

EigenClusters clusters_at(const Backward& b, const Tensor& w, const Tensor& v, bool wide = false) {
  const int terms = terms_for(b);
  const Unrecorded here;
  const Tensor inverse = diagnosed::inv(v, {.if_ill = "ignore"}).value;
  EigenClusters c = eigen_clusters(b.in[0], w, v, inverse, terms, eps_of(b, w.dtype()), wide);
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
  refuse_phases(b, v);
  if (b.verify().value_or(c.ties) && c.ties) verify_eig(b, c);
  const int order = c.terms(terms_for(b));
  const Tensor parts = size_of_parts(b, v), basis = better_basis(b, w, v, c);
  const auto at = [&](const Near& r, bool given = false) {
    Tensor lost;
    const Tensor g = c.any || !given ? gradient_at(b, r.w, r.v, r.a, c, order, false, parts, &lost)
                                     : gradient_of(b, w, v, {{b.cotangents[0], b.cotangents[1]}}, c, parts, &lost);
    if (!lost.defined()) return g;
    const EigenClusters wide = clusters_at(b, w, v, true);
    return where_lost(
        b, g, lost, {1}, [&] { return per_size(wide, series_of(b, r.w, r.v, r.a, wide, 1)); },
        [&] { return gradient_at(b, r.w, r.v, r.a, wide, terms_for(b) + 1, false, parts); }, parts);
  };
  const Tensor g = at({w, basis, b.in[0]}, true);
  find_lost(b, w, v, g, c, [&](const Near& r) { return at(r); });
  return {g};
}

// Where the way back is differentiated again, cotangents are computed once more from the values of this decomposition
// (vjp_svdvals).
Tensors vjp_eigvals(const Backward& b) {
  if (b.in[0].size() == 0) return {zeros_for(b.facts[0])};
  const auto f = diagnosed::eig(b.in[0], {.if_ill = b.attr(0).text()}).value;
  const Tensor &w = f.eigenvalues, &v = f.eigenvectors;
  const EigenClusters c = clusters_at(b, w, v);
  const auto at = [&](const Tensor& values) { return b.taylor({{values}, {}}, {}, 0)[0][0]; };
  return {gradient_of_values(b, w, v, cotangent_at(b, c, w, at), c, at)};
}

}  // namespace wp::linalg
