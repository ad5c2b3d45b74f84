#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "kernels/lu.hpp"
#include "kernels/numbers.hpp"
#include "kernels/triangular.hpp"
#include "linalg/jacobi.hpp"

namespace wp::linalg {
namespace {

using kernels::RealOf;
using kernels::View;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}
// diag(1, α)·[c s; −s c] diagonalises [p k; k̄ q]: p − t|k|, q + t|k| (Golub & Van Loan 2013, §8.5.2); α takes k's
// phase.
template <class T>
struct Rotation {
  using R = typename RealOf<T>::type;
  T alpha;
  R size, t, c, s;
  Rotation(R p, T k, R q) : alpha(1), size(std::abs(k)), t(0), c(1), s(0) {
    if (size == 0) return;
    alpha = conjugate(k) / size;
    const R tau = (q - p) / (2 * size);
    t = std::copysign(1 / (std::fabs(tau) + std::hypot(R(1), tau)), tau);
    c = 1 / std::hypot(R(1), t);
    s = t * c;
  }
  // Of columns p, q; with the conjugate α of the rows of Vᴴ.
  void mix(T& x, T& y, T a) const {
    const T first = x, second = a * y;
    x = c * first - s * second;
    y = s * first + c * second;
  }
};

// Two-sided Jacobi on a Hermitian matrix K that is nearly diagonal, relative to its diagonal: |kᵢⱼ| is brought below
// tolerance·√|kᵢᵢkⱼⱼ|. Row-major; the rows of Vᴴ are turned with it.
template <class T>
class TwoSided {
 public:
  using R = typename RealOf<T>::type;
  TwoSided(std::int64_t n, T* k, T* vh) : n_(n), k_(k), vh_(vh) {}

  bool run(R tolerance) {
    for (int sweep = 0; sweep < 40; ++sweep) {
      bool turned = false;
      for (std::int64_t p = 0; p < n_; ++p)
        for (std::int64_t q = p + 1; q < n_; ++q) {
          const R size = std::abs(at(p, q)), p_size = std::fabs(std::real(at(p, p))),
                  q_size = std::fabs(std::real(at(q, q)));
          if (size <= tolerance * std::sqrt(p_size) * std::sqrt(q_size)) continue;
          turn(p, q);
          turned = true;
        }
      if (!turned) return true;
    }
    return false;
  }

 private:
  T& at(std::int64_t i, std::int64_t j) { return k_[i * n_ + j]; }
  void turn(std::int64_t p, std::int64_t q) {
    const Rotation<T> by(std::real(at(p, p)), at(p, q), std::real(at(q, q)));
    for (std::int64_t i = 0; i < n_; ++i) {
      by.mix(vh_[p * n_ + i], vh_[q * n_ + i], conjugate(by.alpha));
      if (i == p || i == q) continue;
      by.mix(at(i, p), at(i, q), by.alpha);
      at(p, i) = conjugate(at(i, p));
      at(q, i) = conjugate(at(i, q));
    }
    at(p, p) = std::real(at(p, p)) - by.t * by.size;
    at(q, q) = std::real(at(q, q)) + by.t * by.size;
    at(p, q) = at(q, p) = T(0);
  }

  std::int64_t n_;
  T *k_, *vh_;
};

// M = X·diag(d)·Xᴴ, column-major.
template <class T>
struct Revealed {
  using R = typename RealOf<T>::type;
  std::int64_t n;
  std::vector<T> x;
  std::vector<R> d;
  double condition = 0;  // of X, in the 1-norm

  bool factor(const T* m) {
    std::vector<T> a(m, m + n * n), l(at(n * n)), diagonal(at(n)), below(at(n));
    std::vector<lapack::Pivot> pivots(at(n));
    std::vector<std::int64_t> rows(at(n));
    if (lapack::ldl<T>(lapack::Form::hermitian, n, a.data(), n, pivots.data()) < 0) return false;
    lapack::ldl_unpack<T>(n, a.data(), n, pivots.data(), l.data(), n, diagonal.data(), below.data(), rows.data());
    const View<T> lower{l.data(), 1, n};
    const auto solve = [&](T* y) { kernels::solve_triangular<T>({false, true}, n, 1, lower, {y, 1, 1}); };
    const auto adjoint = [&](T* y) {
      kernels::solve_triangular<T>({true, true}, n, 1, lower.transposed().conjugated(), {y, 1, 1});
    };
    condition = kernels::norms<T>(n, n, lower).one *
                static_cast<double>(kernels::inverse_norm<T>(n, solve, adjoint).estimate);
    x.resize(at(n * n));
    for (std::int64_t j = 0; j < n; ++j) {
      d.push_back(std::real(diagonal[at(j)]));
      for (std::int64_t i = 0; i < n; ++i) x[at(rows[at(i)] + j * n)] = l[at(i + j * n)];
    }
    for (std::int64_t j = 0; j + 1 < n; ++j)
      if (below[at(j)] != T(0)) split(j, conjugate(below[at(j)]));
    return true;
  }
  // The block of rows and columns j, j + 1 becomes diagonal.
  void split(std::int64_t j, T above) {
    const Rotation<T> by(d[at(j)], above, d[at(j + 1)]);
    for (std::int64_t i = 0; i < n; ++i) by.mix(x[at(i + j * n)], x[at(i + (j + 1) * n)], by.alpha);
    d[at(j)] -= by.t * by.size;
    d[at(j + 1)] += by.t * by.size;
  }
};

// M = U·diag(s)·Vᴴ, s falling, column-major: X·D·P = Q·R, W = R·Pᵀ·Xᴴ, Wᴴ = V·diag(s)·Ūᴴ by one-sided Jacobi, U =
// Q·Ū. `condition` becomes that of R with rows of equal size.
template <class T>
bool decompose(const Revealed<T>& m, typename RealOf<T>::type* s, T* u, T* v, double& condition) {
  const std::int64_t n = m.n;
  std::vector<T> r = m.x, tau(at(n)), turned(at(n * n)), product(at(n * n)), left(at(n * n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) r[at(i + j * n)] *= m.d[at(j)];
  std::vector<std::int64_t> columns(at(n));
  if (lapack::qr_pivoted<T>(n, n, r.data(), n, columns.data(), tau.data()) != 0) return false;
  std::vector<T> upper(at(n * n)), even(at(n * n));
  bool singular = false;
  for (std::int64_t j = 0; j < n; ++j) {
    std::copy_n(m.x.data() + columns[at(j)] * n, n, turned.data() + j * n);
    for (std::int64_t i = 0; i <= j; ++i) {
      const T pivot = r[at(i + i * n)];
      singular = singular || pivot == T(0);
      upper[at(i + j * n)] = r[at(i + j * n)];
      even[at(i + j * n)] = singular ? T(0) : r[at(i + j * n)] / pivot;
    }
  }
  const View<T> unit{even.data(), 1, n};
  const auto solve = [&](T* y) { kernels::solve_triangular<T>({true, true}, n, 1, unit, {y, 1, 1}); };
  const auto adjoint = [&](T* y) {
    kernels::solve_triangular<T>({false, true}, n, 1, unit.transposed().conjugated(), {y, 1, 1});
  };
  condition = singular ? HUGE_VAL
                       : kernels::norms<T>(n, n, unit).one *
                             static_cast<double>(kernels::inverse_norm<T>(n, solve, adjoint).estimate);
  kernels::gemm<T>(n, n, n, View<T>{turned.data(), 1, n}, View<T>{upper.data(), n, 1}.conjugated(),
                   {product.data(), 1, n});
  if (lapack::svd_by<T>(lapack::SvdMethod::jacobi, lapack::Vectors::thin, n, n, product.data(), n, s, v, n,
                        left.data(), n) != 0)
    return false;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) u[i + j * n] = conjugate(left[at(j + i * n)]);
  return lapack::apply_q<T>(lapack::Side::left, lapack::Op::none, n, n, n, r.data(), n, tau.data(), u, n) == 0;
}

// The eigenvalues of Hermitian M = U·diag(s)·Vᴴ, s falling (all column-major), into s, and its eigenvectors into the
// rows of the row-major Vᴴ. VᴴMV = VᴴU·diag(s) is diagonal but where s and −s are near each other: left and right
// vectors are then mixed. Of kᵢⱼ and kⱼᵢ the one that is multiplied by the smaller s is the more exact.
template <class T>
bool give_signs(std::int64_t n, const T* u, const T* v, typename RealOf<T>::type* s, T* rows) {
  using R = typename RealOf<T>::type;
  std::vector<T> k(at(n * n));
  kernels::gemm<T>(n, n, n, View<T>{v, n, 1}.conjugated(), View<T>{u, 1, n}, {k.data(), n, 1});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i; j < n; ++j) {
      T &above = k[at(i * n + j)], &below = k[at(j * n + i)];
      above = i == j ? T(std::real(above) * s[i]) : above * s[j];
      below = conjugate(above);
    }
  for (std::int64_t i = 0; i < n * n; ++i) rows[i] = conjugate(v[i]);
  const R tolerance = static_cast<R>(std::sqrt(static_cast<double>(n))) * std::numeric_limits<R>::epsilon();
  if (!TwoSided<T>(n, k.data(), rows).run(tolerance)) return false;
  for (std::int64_t i = 0; i < n; ++i) s[i] = std::real(k[at(i * n + i)]);
  return true;
}

// What the rounding errors of M = X·D·Xᴴ, |ΔM| ≤ u·(|M| + |X|·|D|·|Xᴴ|) (Higham 1997), can do: |δλ| ≤ η·|λ| with η =
// ‖|M|^(−1/2)·ΔM·|M|^(−1/2)‖ (Veselić & Slapničar 1993), the root taken from the eigenvectors, rows of `vh`. In units
// of u.
template <class T>
double sensitivity(const Revealed<T>& m, const T* given, const typename RealOf<T>::type* w, const T* vh) {
  const std::int64_t n = m.n;
  std::vector<double> x(at(n * n)), scaled(at(n * n)), error(at(n * n)), g(at(n * n)), half(at(n * n)),
      eta(at(n * n));
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) {
      x[at(i * n + j)] = std::abs(m.x[at(i + j * n)]);
      scaled[at(i * n + j)] = x[at(i * n + j)] * std::fabs(m.d[at(j)]);
      error[at(i * n + j)] = std::abs(given[i * n + j]);
      g[at(i * n + j)] = std::abs(vh[j * n + i]) / std::sqrt(std::fabs(static_cast<double>(w[j])));
    }
  const View<double> by{g.data(), n, 1}, absolute{x.data(), n, 1}, delta{error.data(), n, 1};
  kernels::gemm<double>(n, n, n, {scaled.data(), n, 1}, absolute.transposed(), {error.data(), n, 1},
                        kernels::Into::add);
  kernels::gemm<double>(n, n, n, delta, by, {half.data(), n, 1});
  kernels::gemm<double>(n, n, n, by.transposed(), {half.data(), n, 1}, {eta.data(), n, 1});
  const double norm = kernels::norms<double>(n, n, {eta.data(), n, 1}).one;
  return std::isnan(norm) ? HUGE_VAL : norm;
}

// Is H = D·B·D with B of much smaller condition?
template <class T>
bool is_graded(std::int64_t n, const T* h) {
  const kernels::Equilibration by = kernels::equilibrate_symmetric<T>(n, {h, n, 1});
  const auto [low, high] = std::minmax_element(by.rows.begin(), by.rows.end());
  const int spread = 2 * (*high - *low);
  if (!scaling_pays(spread, 1)) return false;
  std::vector<T> b(at(n * n));
  kernels::scale<T, T>(n, n, {h, n, 1}, by.rows.data(), by.rows.data(), b.data());
  const double norm = kernels::norms<T>(n, n, {b.data(), n, 1}).one;
  std::vector<std::int64_t> pivots(at(n));
  if (kernels::lu_factor<T>(n, n, b.data(), n, pivots.data()) >= 0) return false;
  const auto solve = [&](kernels::Form form) {
    return [&, form](T* x) { kernels::lu_solve<T>(form, n, 1, {b.data(), n, 1}, pivots.data(), {x, 1, 1}); };
  };
  const auto plain = solve(kernels::Form::plain), adjoint = solve(kernels::Form::adjoint);
  return scaling_pays(spread, norm * static_cast<double>(kernels::inverse_norm<T>(n, plain, adjoint).estimate));
}

}  // namespace

template <class T>
Jacobi jacobi_indefinite(std::int64_t n, const T* h, bool always, typename RealOf<T>::type* w, T* v) {
  using R = typename RealOf<T>::type;
  if (!always && !is_graded<T>(n, h)) return {};
  // Row-major memory is the conjugate matrix to LAPACK; so the rows of its Vᴴ are the eigenvectors of H.
  Revealed<T> m{n, {}, {}};
  std::vector<T> left(at(n * n)), right(at(n * n)), vectors(at(n * n));
  std::vector<R> s(at(n));
  double condition = 0;
  if (!m.factor(h) || !decompose<T>(m, s.data(), left.data(), right.data(), condition)) return {};
  if (!give_signs<T>(n, left.data(), right.data(), s.data(), vectors.data())) return {};
  const double relative = 4 * std::numeric_limits<R>::epsilon() *
                          (sensitivity<T>(m, h, s.data(), vectors.data()) + m.condition * condition);
  std::vector<std::int64_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t p, std::int64_t q) { return s[at(p)] < s[at(q)]; });
  for (std::int64_t j = 0; j < n; ++j) {
    w[j] = s[at(order[at(j)])];
    for (std::int64_t i = 0; i < n && v; ++i) v[i * n + j] = vectors[at(order[at(j)] * n + i)];
  }
  return {always || relative < 0.1, relative};
}

template <class T>
Jacobi jacobi_pair(const T* h, typename RealOf<T>::type* w, T* v) {
  using R = typename RealOf<T>::type;
  const R p = std::real(h[0]), q = std::real(h[3]);
  const Rotation<T> by(p, h[1], q);
  const R change = by.t * by.size, values[] = {p - change, q + change};
  const int least = values[1] < values[0] ? 1 : 0;
  double relative = 0;
  for (int i = 0; i < 2; ++i) {
    const int from = i == 0 ? least : 1 - least;
    w[i] = values[from];
    // t|k| has seven roundings, w one more; p and q are as given.
    relative =
        std::max(relative, 4 * std::numeric_limits<R>::epsilon() * (std::fabs(change) / std::fabs(w[i]) + 1.0));
    if (!v) continue;
    v[i] = from == 0 ? T(by.c) : T(by.s);
    v[2 + i] = by.alpha * (from == 0 ? -by.s : by.c);
  }
  return {true, std::isnan(relative) ? HUGE_VAL : relative};
}

#define WP_INSTANTIATE(T)                                                  \
  template Jacobi jacobi_pair<T>(const T*, typename RealOf<T>::type*, T*); \
  template Jacobi jacobi_indefinite<T>(std::int64_t, const T*, bool, typename RealOf<T>::type*, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
