// Let A = U S Vᴴ and K± = skew(Uᴴ gU) ± skew(Vᴴ gV), skew(Z) = (Z − Zᴴ)/2. Then
//   gA = U [diag(gS) + K⁺_ij/(s_j − s_i) (i ≠ j) + K⁻_ij/(s_i + s_j)] Vᴴ + (I − UUᴴ) gU S⁻¹ Vᴴ + U S⁻¹ gVᴴ (I − VVᴴ),
// and for A = V diag(λ) Vᴴ: gA = V [diag(gλ) + skew(Vᴴ gV)_ij/(λ_j − λ_i)] Vᴴ. For a loss that does not depend on the
// basis of a repeated value every numerator vanishes with its denominator. Along s + t w, U and V fixed, with w
// different inside each cluster, it vanishes at t = −r, r = denominator / (the same of w), so
//   K/d = [∂K − (r/2) ∂²K + (r²/6) ∂³K − …] / d(w),
// derivatives along w of the cotangents that the rest of the computation gives.
#include "linalg/spectral_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/text.hpp"
#include "linalg/clusters.hpp"
#include "linalg/rule_kit.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
namespace {

// The terms K, ∂K, ∂²K, … of one numerator.
using Terms = std::vector<Tensor>;

class Quotients {
 public:
  // `size`: of the cotangents of each member, […, 1, 1].
  Quotients(const Backward& b, const Clusters& c, std::int64_t n, const Tensor& size) : b_(b), c_(c) {
    const Unrecorded here;
    if (size.defined()) tolerance_ = multiply(size, std::ldexp(finfo(size.dtype()).eps, 13) * static_cast<double>(n));
  }

  // K/d; `dw`: the denominator made of w. Where d is small: the series, if K vanishes with d.
  Tensor of(const Terms& k, const Tensor& d, const Tensor& dw, const Tensor& except = {}) {
    if (k.empty() || !k[0].defined()) return {};
    Tensor small;
    {
      const Unrecorded here;
      small = c_.any ? less_equal(wp::abs(d), c_.near) : zeros_like(d, {.dtype = DType::boolean});
      if (except.defined()) small = logical_and(small, logical_not(except));
    }
    const auto direct = [&](const Tensor& series) {
      const Tensor safe = where(except.defined() ? logical_or(series, except) : series, 1, d);
      return divide(k[0], safe);
    };
    if (k.size() == 1 || !bool(wp::any(small))) return direct(small);
    const Tensor step = where(small, dw, 1), r = divide(where(small, d, 0), step);
    Tensor series = k[1];
    double factor = 1;
    for (std::size_t t = 2; t < k.size(); ++t) {
      factor /= -static_cast<double>(t);
      series = add(series, multiply(k[t], multiply(t == 2 ? r : power(r, t - 1), factor)));
    }
    const Tensor limit = divide(series, step);
    judge(k[0], multiply(d, limit), d, small);
    return where(small, limit, direct(small));
  }
  // What must vanish because the matrix determines it not at all.
  void must_vanish(const Tensor& k, std::string_view what) const {
    const Unrecorded here;
    if (bool(wp::any(greater(wp::abs(k), tolerance_)))) refuse_gauge(what, largest(k));
  }

 private:
  static Tensor power(const Tensor& r, std::size_t n) {
    Tensor p = r;
    for (std::size_t i = 1; i < n; ++i) p = multiply(p, r);
    return p;
  }
  // Where K does not vanish with d, the loss depends on the basis: at a tie there is no derivative; beside it there
  // is one, and it is large.
  void judge(const Tensor& k, const Tensor& expected, const Tensor& d, Tensor& small) const {
    const Unrecorded here;
    const Tensor off = wp::abs(subtract(k, expected));
    const Tensor bad = logical_and(small, greater(off, tolerance_));
    if (!bool(wp::any(bad))) return;
    const Tensor tied = logical_and(bad, less_equal(wp::abs(d), c_.tie));
    if (bool(wp::any(tied))) refuse_gauge(tied_values(tied), largest(where(tied, off, 0)));
    small = logical_and(small, logical_not(bad));
    Finding f;
    f.code = "WP-GRD-008";
    f.measured = astype(wp::min(where(bad, wp::abs(d), HUGE_VAL)), f64).item<double>();
    f.threshold = largest(c_.near);
    f.message = say("the loss depends on the vectors of values that differ by ", f.measured,
                    " only: the derivative is large, about 1/gap, and its digits are lost accordingly.");
    f.advice = "Use what does not depend on the basis: projector, polar, low_rank, eigh_apply, svd_apply.";
    b_.find(std::move(f));
  }
  // "the basis of the repeated values 2 and 2 (numbers 0 and 1)"
  std::string tied_values(const Tensor& tied) const {
    const std::vector<bool> all = tied.to_vector<bool>();
    const auto first = static_cast<std::size_t>(std::find(all.begin(), all.end(), true) - all.begin());
    const auto columns = static_cast<std::size_t>(tied.shape().back()),
               rows = static_cast<std::size_t>(tied.shape(-2));
    const std::size_t member = first / (rows * columns), j = first % columns, i = first / columns % rows;
    const auto k = static_cast<std::size_t>(c_.w.shape().back());
    const double* const s = c_.s.data() + member * k;
    const std::string whose = c_.s.size() > k ? say(" of matrix ", member) : std::string();
    if (rows != columns || i == j || c_.at_zero[member * k + j])
      return say("the vectors of the vanishing value ", s[j], " (number ", j, ")", whose);
    return say("the basis of the repeated values ", s[std::min(i, j)], " and ", s[std::max(i, j)], " (numbers ",
               std::min(i, j), " and ", std::max(i, j), ")", whose);
  }
  [[noreturn]] void refuse_gauge(std::string_view what, double measured) const {
    refuse<GaugeError>("WP-GRD-007",
                       say("the loss depends on ", what, ", which the matrix does not determine (measured ", measured,
                           ", rounding ", largest(tolerance_), "): it has no derivative."),
                       "Use what does not depend on it: projector, polar, low_rank, eigh_apply, svd_apply.");
  }

  const Backward& b_;
  const Clusters& c_;
  Tensor tolerance_;
};

// Two terms of the series keep two thirds of the digits at every gap; each further differentiation needs one more.
int terms_for(const Backward& b) {
  return 2 + b.depth();
}

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

Tensor gradient_of_svd(const Backward& b, const Factors& p, const std::vector<Cotangents>& t, const Clusters& c) {
  const std::int64_t k = p.S.shape().back(), m = p.U.shape(-2), n = p.V.shape(-2);
  const Tensor u1 = leading(p.U, k), v1 = leading(p.V, k), u2 = trailing(p.U, k), v2 = trailing(p.V, k);
  Terms plus_terms, minus_terms, of_u, of_v;
  Tensor size;
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
      if (&g == &t[0]) {
        const Unrecorded here;
        const Tensor own = size_of(matmul(adjoint(whole), g_whole));
        size = size.defined() ? maximum(size, own) : own;
      }
      return skew(inner);
    };
    const Tensor ku = part(p.U, g.U, u1, u2, m, of_u), kv = part(p.V, g.V, v1, v2, n, of_v);
    plus_terms.push_back(sum_of(ku, kv));
    minus_terms.push_back(minus(ku, kv));
  }
  Tensor core = t[0].S.defined() ? on_diagonal(t[0].S) : Tensor();
  Tensor g;
  Quotients quotients(b, c, std::max(m, n), size);
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
  if (core.defined()) g = matmul(matmul(u1, core), adjoint(v1));
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
  return g;
}

void find_kink(const Backward& b, double measured, double threshold, std::string message) {
  Finding f;
  f.code = "WP-GRD-009";
  f.measured = measured;
  f.threshold = threshold;
  f.message = std::move(message);
  f.advice = "Move the matrix, or use a smooth loss.";
  b.find(std::move(f));
}

// A cotangent of values alone is smooth where tied values have the same, and zeros have none. Elsewhere there is a
// kink: the mean over the tie is a subgradient, and does not depend on the basis.
Tensor levelled(const Backward& b, const Tensor& g, const Clusters& c, std::string_view what) {
  if (!c.ties) return g;
  const auto k = static_cast<std::size_t>(g.shape().back());
  const std::vector<double> v = unrecorded([&] { return astype(g, f64).to_vector<double>(); }), to = level(c, k, v);
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    size = std::max(size, std::fabs(v[i]));
    worst = std::max(worst, std::fabs(v[i] - to[i]));
  }
  if (worst <= std::ldexp(1.0, 14) * static_cast<double>(k) * finfo(g.dtype()).eps * size) return g;
  find_kink(b, worst, std::numeric_limits<double>::quiet_NaN(),
            say("the loss has a kink here: it treats ", what,
                " that are equal (or zero) differently. The gradient is a subgradient: the mean over the tie."));
  // The same as a matrix, column by column, so that it differentiates.
  std::vector<double> mean(v.size() * k, 0);
  for (std::size_t j = 0; j < k; ++j) {
    std::vector<double> unit(v.size(), 0);
    for (std::size_t first = 0; first < v.size(); first += k) unit[first + j] = 1;
    const std::vector<double> column_of = level(c, k, unit);
    for (std::size_t i = 0; i < v.size(); ++i) mean[i * k + j] = column_of[i];
  }
  Dims shape = g.shape();
  shape.push_back(g.shape().back());
  return squeeze(matmul(astype(Tensor::from(mean, shape), g.dtype()), column(g)), -1);
}

Tensor gradient_of_values(const Backward& b, const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& g,
                          const Clusters& c) {
  const Tensor level = levelled(b, g, c, "singular values");
  const std::int64_t k = s.shape().back();
  return matmul(multiply(leading(u, k), row(level)), adjoint(leading(adjoint(vh), k)));
}

Factors factors_of(const Tensors& outputs) {
  return {outputs[0], outputs[1], adjoint(outputs[2])};
}

// The gradient at other factors, with the series.
Tensor gradient_at(const Backward& b, const Tensors& outputs, const Tensor& a, const Clusters& c, int order) {
  const Factors p = factors_of(outputs);
  const std::int64_t k = p.S.shape().back();
  Tensor da;
  {
    const Unrecorded here;
    da = matmul(multiply(leading(p.U, k), row(c.w)), adjoint(leading(p.V, k)));
  }
  std::vector<Cotangents> t;
  for (const Tensors& g : b.taylor({outputs, {a}}, {{{}, c.w, {}}, {da}}, order)) t.push_back(cotangents_of(g));
  return gradient_of_svd(b, p, t, c);
}

// The values with ties made exact.
Tensor level_values(const Clusters& c, const Tensor& like) {
  const std::vector<double> v = level(c, static_cast<std::size_t>(like.shape().back()), c.s);
  return astype(Tensor::from(v, like.shape()), like.dtype());
}
Tensor turned(const Tensor& whole, const Tensor& r) {
  const std::int64_t k = r.shape().back();
  const Tensor one = matmul(leading(whole, k), r), two = trailing(whole, k);
  return two.defined() ? concat({one, two}, {.axis = -1}) : one;
}

// A smooth loss gives the same gradient in every basis of a tie. `at(r, l)` computes it with right and left vectors
// turned.
void verify(const Backward& b, const Clusters& c, const Tensor& s, DType dtype, bool signs,
            const std::function<Tensor(const Tensor&, const Tensor&)>& at) {
  Clusters none = c;
  none.group.assign(c.group.size(), -1);
  const Tensor straight = rotation(none, s.shape(), dtype, false, 1), r = rotation(c, s.shape(), dtype, signs, 2);
  Tensor l = r;  // bases of a vanishing value turn apart
  if (std::find(c.at_zero.begin(), c.at_zero.end(), 1) != c.at_zero.end()) {
    const Tensor vanishes = Tensor::from(std::vector<double>(c.at_zero.begin(), c.at_zero.end()), s.shape());
    l = where(greater(row(vanishes), 0), rotation(c, s.shape(), dtype, false, 3), r);
  }
  const Tensor one = at(straight, straight), two = at(r, l);
  const double off = largest(subtract(one, two)), size = std::max(largest(one), largest(two));
  const double allowed = 16 * std::sqrt(finfo(s.dtype()).eps) * size;
  if (off <= allowed) return;
  if (!c.ties)
    refuse<GaugeError>("WP-GRD-007",
                       say("the gradient changes by ", off, " (of ", size,
                           ") when vectors change their sign, which the matrix does not determine."),
                       "Are the factors unpacked in the right order? Use products in which signs cancel.");
  find_kink(b, off, allowed,
            "the gradient changes with the basis of repeated or vanishing values: the loss has a kink here, and the "
            "gradient is one of its subgradients.");
}

void verify_svd(const Backward& b, const Clusters& c, bool signs) {
  const Unrecorded here;
  const Tensor s = level_values(c, b.out[1]);
  const std::int64_t k = s.shape().back();
  verify(b, c, s, b.out[0].dtype(), signs, [&](const Tensor& r, const Tensor& l) {
    const Tensor u = turned(b.out[0], l), v = turned(adjoint(b.out[2]), r);
    const Tensor a = matmul(multiply(leading(u, k), row(s)), adjoint(leading(v, k)));
    return gradient_at(b, {u, s, adjoint(v)}, a, c, c.any ? 2 : 0);
  });
}

// ---- eigh ----
Tensor gradient_of_eigh(const Backward& b, const Tensor& values, const Tensor& v, const std::vector<Tensors>& t,
                        const Clusters& c) {
  const std::int64_t n = v.shape().back();
  Tensor core = t[0][0].defined() ? on_diagonal(t[0][0]) : Tensor();
  if (t[0][1].defined()) {
    Terms terms;
    for (const Tensors& g : t) terms.push_back(skew(matmul(adjoint(v), g[1])));
    Tensor size;
    {
      const Unrecorded here;
      size = size_of(matmul(adjoint(v), t[0][1]));
    }
    Quotients quotients(b, c, n, size);
    const Tensor same = astype(eye(n), DType::boolean);
    if (is_complex(v.dtype())) quotients.must_vanish(where(same, terms[0], 0), "the phases of eigenvectors");
    const Tensor pole =
        quotients.of(terms, subtract(row(values), column(values)), subtract(row(c.w), column(c.w)), same);
    core = sum_of(core, where(same, 0, pole));
  }
  return matmul(matmul(v, core), adjoint(v));
}

Tensor eigh_gradient_at(const Backward& b, const Tensor& values, const Tensor& v, const Tensor& a, const Clusters& c,
                        int order) {
  Tensor da;
  {
    const Unrecorded here;
    da = matmul(multiply(v, row(c.w)), adjoint(v));
  }
  return gradient_of_eigh(b, values, v, b.taylor({{values, v}, {a}}, {{c.w, {}}, {da}}, order), c);
}

Tensor gradient_of_eigenvalues(const Backward& b, const Tensor& v, const Tensor& g, const Clusters& c) {
  return matmul(multiply(v, row(levelled(b, g, c, "eigenvalues"))), adjoint(v));
}

}  // namespace

Tensors vjp_svd(const Backward& b) {
  const Tensor& s = b.out[1];
  const int terms = terms_for(b);
  const bool vectors = b.cotangents[0].defined() || b.cotangents[2].defined();
  if (s.size() == 0) return {zeros_for(b.facts[0])};
  const Clusters c = clusters_of(s, b.residuals[0], true, terms);
  Tensors g{b.cotangents[0], b.cotangents[1], b.cotangents[2]};
  if (!vectors) return {gradient_of_values(b, b.out[0], s, b.out[2], g[1], c)};
  const Tensors outputs{b.out[0], s, b.out[2]};
  if (b.verify().value_or(c.any && c.ties)) verify_svd(b, c, b.verify().value_or(false));
  if (!c.any) return {gradient_of_svd(b, factors_of(outputs), {cotangents_of(g)}, c)};
  return {gradient_at(b, outputs, b.in[0], c, terms)};
}

Tensors vjp_eigh(const Backward& b) {
  const Tensor &values = b.out[0], &v = b.out[1];
  const int terms = terms_for(b);
  if (values.size() == 0) return {zeros_for(b.facts[0])};
  const Clusters c = clusters_of(values, b.residuals[0], false, terms);
  Tensor g;
  if (!b.cotangents[1].defined()) {
    g = gradient_of_eigenvalues(b, v, b.cotangents[0], c);
  } else {
    if (b.verify().value_or(c.any && c.ties)) {
      const Unrecorded here;
      const Tensor level = level_values(c, values);
      verify(b, c, level, v.dtype(), b.verify().value_or(false), [&](const Tensor& r, const Tensor&) {
        const Tensor vectors = matmul(v, r);
        return eigh_gradient_at(b, level, vectors, matmul(multiply(vectors, row(level)), adjoint(vectors)), c,
                                c.any ? 2 : 0);
      });
    }
    g = c.any ? eigh_gradient_at(b, values, v, b.in[0], c, terms)
              : gradient_of_eigh(b, values, v, {{b.cotangents[0], b.cotangents[1]}}, c);
  }
  return {hermitian_cotangent(g, b.attr(0))};
}

Tensors vjp_svdvals(const Backward& b) {
  if (b.g().size() == 0) return {zeros_for(b.facts[0])};
  const SvdResult f = svd(b.in[0], {.full_matrices = false});
  const Clusters c = clusters_of(f.S, b.residuals[0], true, 2);
  return {gradient_of_values(b, f.U, f.S, f.Vh, b.g(), c)};
}

Tensors vjp_eigvalsh(const Backward& b) {
  if (b.g().size() == 0) return {zeros_for(b.facts[0])};
  const Attr& uplo = b.attr(0);
  const EighResult f = eigh(b.in[0], {.uplo = uplo ? std::optional(uplo.text()) : std::nullopt});
  const Clusters c = clusters_of(f.eigenvalues, b.residuals[0], false, 2);
  return {hermitian_cotangent(gradient_of_eigenvalues(b, f.eigenvectors, b.g(), c), uplo)};
}

}  // namespace wp::linalg
