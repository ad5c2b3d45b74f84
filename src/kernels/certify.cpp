#include "kernels/certify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/each_float.hpp"
#include "kernels/residual.hpp"
#include "simd/float_state.hpp"

namespace wp::kernels {
namespace {

constexpr double u = 0x1p-53;
constexpr double eta = std::numeric_limits<double>::denorm_min();

// At least the exact value of a sum of products ≥ 0 that was computed as v with up to `count` roundings on top of
// each other, and as many underflows: (1 − u)^−count ≤ 1 + 2·count·u; two more for the roundings made here.
double above(double v, std::int64_t count) {
  const auto c = static_cast<double>(count);
  return v * (1 + 2 * (c + 2) * u) + (c + 1) * eta;
}
// At least γ_count.
double gamma(std::int64_t count) {
  const double c = static_cast<double>(count) * u;
  return above(c / (1 - c), 3);
}
// Roundings on top of each other in an element of a product with `terms` terms, in blocks of at least 128.
std::int64_t depth(std::int64_t terms) {
  return terms + terms / 128 + 4;
}

double size(double v) {
  return std::fabs(v);
}
// At most 1.42 |z|, and at least |z|(1 − u).
double size(std::complex<double> z) {
  return std::fabs(z.real()) + std::fabs(z.imag());
}
double modulus(double v) {
  return std::fabs(v);
}
double modulus(std::complex<double> z) {
  return std::hypot(z.real(), z.imag());
}

bool rounds_to_nearest() {
  const simd::FloatState s = simd::float_state();
  return s.rounding == simd::Rounding::nearest && !s.flush_to_zero && !s.denormals_are_zero;
}

// The view itself, or a copy in double.
template <class T>
class Widening {
 public:
  using W = Wide<T>;
  Widening(std::int64_t m, std::int64_t n, View<T> a)
      : copy_(std::is_same_v<T, W> || !a.data ? 1 : std::max<std::int64_t>(1, m * n)) {
    if constexpr (std::is_same_v<T, W>) {
      view_ = a;
    } else {
      view_ = {a.data ? copy_.data() : nullptr, n, 1};
      for (std::int64_t i = 0; a.data && i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) copy_.data()[i * n + j] = W(a.data[i * a.rows + j * a.columns]);
    }
  }
  View<W> view() const { return view_; }

 private:
  Buffer<W> copy_;
  View<W> view_;
};

// to = R·B, B n × k row-major, to row-major.
template <class W>
void product(std::int64_t n, std::int64_t k, View<W> r, View<W> b, W* to) {
  gemm<W>(n, k, n, r, b, {to, k, 1});
}

// At least Σ_k |R_ik| v_k for v ≥ 0.
template <class W>
double row_times(std::int64_t n, View<W> r, std::int64_t i, const double* v, std::int64_t stride) {
  double sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += size(r.data[i * r.rows + k * r.columns]) * v[k * stride];
  return above(sum, n + 3);
}

}  // namespace

template <class T>
std::optional<Contraction> contraction(std::int64_t n, View<T> a, View<Wide<T>> r) {
  using W = Wide<T>;
  constexpr std::int64_t parts = RealOf<T>::parts;
  Contraction g;
  if (n == 0) return g;
  if (!rounds_to_nearest()) return std::nullopt;
  const Widening<T> wide(n, n, a);
  const View<W> A = wide.view();
  Buffer<W> p(n * n);
  product<W>(n, n, r, A, p.data());
  std::vector<double> sums(static_cast<std::size_t>(n));  // |A| e
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += size(A.data[i * A.rows + j * A.columns]);
    sums[static_cast<std::size_t>(i)] = above(sum, n + 2);
  }
  // |R A − P| ≤ γ |R||A| + terms·η per part.
  const std::int64_t terms = n * parts;
  const double factor = gamma(depth(terms)), underflow = static_cast<double>(2 * n * terms) * eta;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += modulus(W(i == j ? 1 : 0) - p.data()[i * n + j]);
    const double rounding = factor * row_times(n, r, i, sums.data(), 1);
    const double bound = above(above(sum, n + 6) + (rounding + underflow), 4);
    if (!(bound < 1)) return std::nullopt;
    g.rows.push_back(bound);
    g.norm = std::max(g.norm, bound);
  }
  return g;
}

template <class T>
bool certified_errors(std::int64_t n, std::int64_t k, View<T> a, View<Wide<T>> r, const Contraction& g, View<T> x,
                      View<T> l, View<T> b, double* errors) {
  using W = Wide<T>;
  constexpr std::int64_t parts = RealOf<T>::parts;
  if (n == 0 || k == 0) return true;
  if (!rounds_to_nearest()) return false;
  const Widening<T> A(n, n, a), X(n, k, x), L(n, k, l), B(n, k, b);
  Buffer<W> rest(n * k), z(n * k);
  Buffer<double> sizes(n * k);
  residual<W>(n, n, k, A.view(), X.view(), L.view(), B.view(), rest.data(), sizes.data());
  product<W>(n, k, r, View<W>{rest.data(), k, 1}, z.data());

  // |r − r̂| ≤ (u |r̂| + γ² S + 8 N η) / (1 − u) per part (residual.hpp), |R r̂ − z| ≤ γ |R||r̂| + terms·η per part:
  // sizes ← γ |r̂| + |r − r̂|.
  const std::int64_t terms = n * parts, count = terms * (l.data ? 2 : 1) + 1, most = 2 * count + kResidualTerms;
  const double square = above(gamma(most) * gamma(most), 2), factor = gamma(depth(terms)) + 2 * u;
  const double tiny = static_cast<double>(16 * count + 2) * eta;
  for (std::int64_t e = 0; e < n * k; ++e)
    sizes.data()[e] = above(factor * size(rest.data()[e]) + (square * above(sizes.data()[e], most) + tiny), 8);

  const double slack = (1 - g.norm) * (1 - 4 * u);
  bool finite = true;
  for (std::int64_t c = 0; c < k; ++c) {
    double norm = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double rounding = row_times(n, r, i, sizes.data() + c, k) + static_cast<double>(2 * terms) * eta;
      double& q = errors[i * k + c];
      q = above(modulus(z.data()[i * k + c]) + rounding, 6);
      norm = !(q <= norm) ? q : norm;  // NaN stays
    }
    for (std::int64_t i = 0; i < n; ++i) {
      double& q = errors[i * k + c];
      q = above(q + g.rows[static_cast<std::size_t>(i)] * (norm / slack), 6);
      finite &= std::isfinite(q);
    }
  }
  return finite;
}

#define WP_INSTANTIATE(T)                                                                                         \
  template std::optional<Contraction> contraction(std::int64_t, View<T>, View<Wide<T>>);                          \
  template bool certified_errors(std::int64_t, std::int64_t, View<T>, View<Wide<T>>, const Contraction&, View<T>, \
                                 View<T>, View<T>, double*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
