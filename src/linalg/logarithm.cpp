#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/each_float.hpp"
#include "kernels/triangular.hpp"
#include "linalg/exponential.hpp"

namespace wp::linalg {
namespace {

// Bounds of ‖X‖ up to which the [m/m] approximants to (I − X)^p and log(I − X) are exact in f64 (Higham & Lin 2011,
// table 3.1; those of the logarithm are a little larger).
constexpr std::array<double, 7> kTheta{1.51e-5, 2.24e-3, 1.88e-2, 6.04e-2, 1.24e-1, 2.00e-1, 2.79e-1};

template <class S>
using RealOf = typename Dense<S>::Real;

// e^w − 1.
template <class S>
S expm1_of(S w) {
  if constexpr (kernels::RealOf<S>::parts == 2) {
    const auto x = w.real(), y = w.imag(), half = std::sin(y / 2);
    return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
  } else {
    return std::expm1(w);
  }
}

// (log y − log x), without cancellation for y near x: 2 atanh((y − x)/(y + x)), on the sheet of the two logarithms.
template <class S>
S log_difference(S x, S y, S log_x, S log_y) {
  const S z = (y - x) / (y + x), direct = log_y - log_x;
  if (!(std::abs(z) < 0.5)) return direct;
  S d = std::atanh(z) * RealOf<S>(2);
  if constexpr (kernels::RealOf<S>::parts == 2)
    d.imag(d.imag() + static_cast<RealOf<S>>(2 * M_PI * std::round((direct.imag() - d.imag()) / (2 * M_PI))));
  return d;
}

// (y^p − x^p)/(y − x) = x^((p)/2) y^(p/2) 2 sinh(p (log y − log x)/2)/(y − x).
template <class S>
S power_difference(S x, S y, S log_x, S log_y, RealOf<S> p) {
  if (x == y) return p * std::exp((p - 1) * log_x);
  const S d = log_difference(x, y, log_x, log_y) * (p / 2);
  if (std::abs(d) > 1) return (std::exp(p * log_y) - std::exp(p * log_x)) / (y - x);
  return std::exp((log_x + log_y) * (p / 2)) * std::sinh(d) * RealOf<S>(2) / (y - x);
}

// The diagonal of t^p and the one above it.
template <class S>
void exact_power(const Dense<S>& t, const std::vector<S>& logs, RealOf<S> p, Dense<S>& x) {
  for (std::int64_t i = 0; i < t.n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    x(i, i) = std::exp(p * logs[k]);
    if (i + 1 < t.n)
      x(i, i + 1) = times(t(i, i + 1), power_difference(t(i, i), t(i + 1, i + 1), logs[k], logs[k + 1], p));
  }
}

template <class S>
struct NearIdentity {
  Dense<S> x;           // t^(1/2^roots) − I, its diagonals without cancellation
  int roots, degree;    // of the approximant
  std::vector<S> logs;  // of t's diagonal
};

// Roots until max(‖X²‖^(1/2), ‖X³‖^(1/3)), which bounds what ‖X‖ would, is below the largest bound.
template <class S>
NearIdentity<S> near_identity(const Dense<S>& t) {
  constexpr int kMost = 100;
  NearIdentity<S> out{Dense<S>(), 0, 1, {}};
  const std::int64_t n = t.n;
  Dense<S> r = t;
  double alpha = 0;
  for (;; ++out.roots) {
    Dense<S> x = r;
    for (std::int64_t i = 0; i < n; ++i) x(i, i) -= S(1);
    const Dense<S> square = x * x;
    alpha = std::max(std::sqrt(square.norm1()), std::cbrt((square * x).norm1()));
    if (alpha <= kTheta.back() || out.roots == kMost || !(alpha < HUGE_VAL)) break;
    r = triangular_root(r);
  }
  while (out.degree < 7 && alpha > kTheta[static_cast<std::size_t>(out.degree - 1)]) ++out.degree;
  for (std::int64_t i = 0; i < n; ++i) out.logs.push_back(std::log(t(i, i)));
  const RealOf<S> p = std::ldexp(RealOf<S>(1), -out.roots);
  if (out.roots > 0) exact_power(t, out.logs, p, r);
  for (std::int64_t i = 0; i < n; ++i) r(i, i) = expm1_of(out.logs[static_cast<std::size_t>(i)] * p);
  out.x = std::move(r);
  return out;
}

// Y ← (I + f X)⁻¹ Y for upper triangular X.
template <class S>
void divide(const Dense<S>& x, RealOf<S> f, Dense<S>& y) {
  Dense<S> m = x;
  m *= f;
  for (std::int64_t i = 0; i < m.n; ++i) m(i, i) += S(1);
  kernels::solve_triangular<S>({.upper = true, .unit = false}, m.n, y.n, m.view(), y.view());
}

// Nodes and weights of Gauss and Legendre's rule on [0, 1], by Newton's method.
struct Rule {
  std::vector<double> nodes, weights;
  explicit Rule(int m) {
    for (int k = 0; k < m; ++k) {
      double x = std::cos(M_PI * (k + 0.75) / (m + 0.5)), slope = 1;
      for (int round = 0; round < 8; ++round) {
        double before = 1, here = x;
        for (int j = 2; j <= m; ++j) {
          const double next = ((2 * j - 1) * x * here - (j - 1) * before) / j;
          before = here;
          here = next;
        }
        slope = m * (x * here - before) / (x * x - 1);
        x -= here / slope;
      }
      nodes.push_back((1 + x) / 2);
      weights.push_back(1 / ((1 - x * x) * slope * slope));
    }
  }
};

}  // namespace

template <class S>
Dense<S> triangular_log(const Dense<S>& t) {
  using R = RealOf<S>;
  const std::int64_t n = t.n;
  const NearIdentity<S> near = near_identity(t);
  // The [m/m] approximant to log(I + X) is Σ wⱼ X (I + xⱼ X)⁻¹ (Higham 2001).
  const Rule rule(near.degree);
  Dense<S> out(n, n);
  for (std::size_t k = 0; k < rule.nodes.size(); ++k) {
    Dense<S> y = near.x;
    divide(near.x, static_cast<R>(rule.nodes[k]), y);
    out.add(static_cast<R>(rule.weights[k]), y);
  }
  out.shift(near.roots);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    out(i, i) = near.logs[k];
    if (i + 1 == n) continue;
    const S x = t(i, i), y = t(i + 1, i + 1);
    out(i, i + 1) =
        x == y ? t(i, i + 1) / x : times(t(i, i + 1), log_difference(x, y, near.logs[k], near.logs[k + 1]) / (y - x));
  }
  return out;
}

template <class S>
Dense<S> triangular_power(const Dense<S>& t, double exponent) {
  using R = RealOf<S>;
  const auto p = static_cast<R>(exponent);
  const NearIdentity<S> near = near_identity(t);
  Dense<S> x = near.x;
  x *= R(-1);
  // The [m/m] approximant to (1 − x)^p as a continued fraction, from its end (Higham & Lin 2011, algorithm 3.1).
  const auto coefficient = [&](int k) {
    const auto j = static_cast<R>(k / 2);
    return k == 1 ? -p : k % 2 == 0 ? (p - j) / (2 * (2 * j - 1)) : (-j - p) / (2 * (2 * j + 1));
  };
  Dense<S> y = x;
  y *= coefficient(2 * near.degree);
  for (int k = 2 * near.degree; k-- > 1;) {
    Dense<S> next = x;
    next *= coefficient(k);
    divide(y, R(1), next);
    y = std::move(next);
  }
  for (std::int64_t i = 0; i < y.n; ++i) y(i, i) += S(1);
  for (int k = near.roots;; --k) {
    exact_power(t, near.logs, static_cast<R>(std::ldexp(exponent, -k)), y);
    if (k == 0) return y;
    y = y * y;
  }
}

#define WP_LOGARITHM(S)                              \
  template Dense<S> triangular_log(const Dense<S>&); \
  template Dense<S> triangular_power(const Dense<S>&, double);
WP_FOR_FLOATS(WP_LOGARITHM)
#undef WP_LOGARITHM

}  // namespace wp::linalg
