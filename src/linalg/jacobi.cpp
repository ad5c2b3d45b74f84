#include "linalg/jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/cholesky.hpp"
#include "kernels/condition.hpp"
#include "kernels/lapack.hpp"
#include "kernels/lu.hpp"
#include "linalg/bounds.hpp"

namespace wp::linalg {
namespace {

using kernels::MutableView;
using kernels::RealOf;
using kernels::View;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}
template <class T>
T conjugate(T v) {
  if constexpr (RealOf<T>::parts == 2)
    return std::conj(v);
  else
    return v;
}

// Scaling must gain at least two digits over what an error of u·‖H‖ leaves: spread is log₂ max d²/min d².
bool pays(int spread, double condition) {
  return spread > 6 + std::log2(condition);
}

// ‖B⁻¹‖₁ from the Cholesky factor of B.
template <class T>
double inverse_norm(std::int64_t n, View<T> l) {
  const auto solve = [&](T* x) { kernels::cholesky_solve<T>(n, 1, l, {x, 1, 1}); };
  return static_cast<double>(kernels::inverse_norm<T>(n, solve, solve).estimate);
}

template <class T>
double relative_error(std::int64_t n, double inverse) {
  const double u = std::numeric_limits<typename RealOf<T>::type>::epsilon() / 2;
  return growth_of_errors(n) * u * std::max(inverse, 1.0);
}

// 2^x[i] is about √hᵢᵢ; empty if one is not positive.
template <class T>
std::vector<int> diagonal_exponents(std::int64_t n, const T* h) {
  std::vector<int> x(at(n));
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(std::real(h[i * n + i]) > 0)) return {};
    std::frexp(std::real(h[i * n + i]), &x[at(i)]);
    x[at(i)] = (x[at(i)] - (x[at(i)] & 1)) / 2;
  }
  return x;
}

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
          turn(p, q, size);
          turned = true;
        }
      if (!turned) return true;
    }
    return false;
  }

 private:
  T& at(std::int64_t i, std::int64_t j) { return k_[i * n_ + j]; }
  // Columns p, q ← p, q·diag(1, α)·[c s; −s c] makes k_pq zero (Golub & Van Loan 2013, §8.5.2); α takes its phase.
  void turn(std::int64_t p, std::int64_t q, R size) {
    const T alpha = conjugate(at(p, q)) / size;
    const R tau = (std::real(at(q, q)) - std::real(at(p, p))) / (2 * size);
    const R t = std::copysign(1 / (std::fabs(tau) + std::hypot(R(1), tau)), tau);
    const R c = 1 / std::hypot(R(1), t), s = t * c;
    for (std::int64_t i = 0; i < n_; ++i) {
      T &x = vh_[p * n_ + i], &y = vh_[q * n_ + i];
      mix(x, y, c, s, conjugate(alpha));
      if (i == p || i == q) continue;
      mix(at(i, p), at(i, q), c, s, alpha);
      at(p, i) = conjugate(at(i, p));
      at(q, i) = conjugate(at(i, q));
    }
    at(p, p) = std::real(at(p, p)) - t * size;
    at(q, q) = std::real(at(q, q)) + t * size;
    at(p, q) = at(q, p) = T(0);
  }
  static void mix(T& x, T& y, R c, R s, T alpha) {
    const T first = x, second = alpha * y;
    x = c * first - s * second;
    y = s * first + c * second;
  }

  std::int64_t n_;
  T *k_, *vh_;
};

// The eigenvalues of Hermitian M = U·diag(s)·Vᴴ, s falling (all column-major), into s, and its eigenvectors into the
// rows of the row-major Vᴴ. VᴴMV = VᴴU·diag(s) is diagonal but where s and −s are near each other: left and right
// vectors are then mixed. Of kᵢⱼ and kⱼᵢ the one that is multiplied by the smaller s is the more exact.
template <class T>
bool give_signs(std::int64_t n, const T* u, const T* vh, typename RealOf<T>::type* s, T* rows) {
  using R = typename RealOf<T>::type;
  std::vector<T> k(at(n * n));
  kernels::gemm<T>(n, n, n, View<T>{vh, 1, n}, View<T>{u, 1, n}, {k.data(), n, 1});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i; j < n; ++j) {
      T &above = k[at(i * n + j)], &below = k[at(j * n + i)];
      above = i == j ? T(std::real(above) * s[i]) : above * s[j];
      below = conjugate(above);
    }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) rows[i * n + j] = vh[i + j * n];
  const R tolerance = static_cast<R>(std::sqrt(static_cast<double>(n))) * std::numeric_limits<R>::epsilon();
  if (!TwoSided<T>(n, k.data(), rows).run(tolerance)) return false;
  for (std::int64_t i = 0; i < n; ++i) s[i] = std::real(k[at(i * n + i)]);
  return true;
}

// ‖B⁻¹‖₁ for |H| = D·B·D with D² the diagonal of |H| = V·diag(|w|)·Vᴴ; V row-major.
template <class T>
double modulus_condition(std::int64_t n, const typename RealOf<T>::type* w, const T* v) {
  using R = typename RealOf<T>::type;
  std::vector<T> g(v, v + n * n), b(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    T* const row = g.data() + i * n;
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      row[j] *= std::sqrt(std::fabs(w[j]));
      sum += std::norm(std::complex<double>(row[j]));
    }
    if (!(sum > 0)) return HUGE_VAL;
    for (std::int64_t j = 0; j < n; ++j) row[j] *= static_cast<R>(1 / std::sqrt(sum));
  }
  const View<T> rows{g.data(), n, 1};
  kernels::gemm<T>(n, n, n, rows, rows.transposed().conjugated(), {b.data(), n, 1});
  if (kernels::cholesky_factor<T>(n, {b.data(), n, 1}) >= 0) return HUGE_VAL;
  return inverse_norm<T>(n, {b.data(), n, 1});
}

// Is H = D·B·D with B of much smaller condition?
template <class T>
bool is_graded(std::int64_t n, const T* h) {
  const kernels::Equilibration by = kernels::equilibrate_symmetric<T>(n, {h, n, 1});
  const auto [low, high] = std::minmax_element(by.rows.begin(), by.rows.end());
  const int spread = 2 * (*high - *low);
  if (!pays(spread, 1)) return false;
  std::vector<T> b(at(n * n));
  kernels::scale<T, T>(n, n, {h, n, 1}, by.rows.data(), by.rows.data(), b.data());
  const double norm = kernels::norms<T>(n, n, {b.data(), n, 1}).one;
  std::vector<std::int64_t> pivots(at(n));
  if (kernels::lu_factor<T>(n, n, b.data(), n, pivots.data()) >= 0) return false;
  const auto solve = [&](kernels::Form form) {
    return [&, form](T* x) { kernels::lu_solve<T>(form, n, 1, {b.data(), n, 1}, pivots.data(), {x, 1, 1}); };
  };
  const auto plain = solve(kernels::Form::plain), adjoint = solve(kernels::Form::adjoint);
  return pays(spread, norm * static_cast<double>(kernels::inverse_norm<T>(n, plain, adjoint).estimate));
}

}  // namespace

template <class T>
Jacobi jacobi_definite(std::int64_t n, const T* h, bool always, typename RealOf<T>::type* w, T* v) {
  using R = typename RealOf<T>::type;
  const std::vector<int> x = diagonal_exponents(n, h);
  if (x.empty()) return {};
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (!always && !pays(2 * (*high - *low), 1)) return {};
  // Rows with falling diagonal, so that L is nearly orthogonal already; in B, so that nothing underflows.
  std::vector<std::int64_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t p, std::int64_t q) { return std::real(h[p * n + p]) > std::real(h[q * n + q]); });
  std::vector<int> down;
  for (const int e : x) down.push_back(-e);
  std::vector<T> scaled(at(n * n)), l(at(n * n));
  kernels::scale<T, T>(n, n, {h, n, 1}, down.data(), down.data(), scaled.data());
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) l[at(i + j * n)] = scaled[at(order[at(i)] * n + order[at(j)])];
  const MutableView<T> columns{l.data(), 1, n};
  if (kernels::cholesky_factor<T>(n, columns) >= 0) return {};
  const double inverse = inverse_norm<T>(n, columns);
  if (!always && !pays(2 * (*high - *low), inverse)) return {};
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = j; i < n; ++i) {
      const R f = std::ldexp(R(1), x[at(order[at(i)])]);
      l[at(i + j * n)] *= f;
    }
  std::vector<R> s(at(n));
  if (lapack::svd_lower<T>(v != nullptr, n, l.data(), s.data()) != 0) return {};
  for (std::int64_t j = 0; j < n; ++j) {
    w[n - 1 - j] = s[at(j)] * s[at(j)];
    for (std::int64_t i = 0; i < n && v; ++i) v[order[at(i)] * n + n - 1 - j] = l[at(i + j * n)];
  }
  return {true, relative_error<T>(n, inverse)};
}

template <class T>
Jacobi jacobi_indefinite(std::int64_t n, const T* h, bool always, typename RealOf<T>::type* w, T* v) {
  using R = typename RealOf<T>::type;
  if (!always && !is_graded<T>(n, h)) return {};
  std::vector<T> u(at(n * n)), vh(at(n * n));
  std::vector<R> s(at(n));
  // Row-major memory is the conjugate matrix to LAPACK; so the rows of its Vᴴ are the eigenvectors of H.
  if (lapack::svd_by<T>(lapack::SvdMethod::jacobi, lapack::Vectors::thin, n, n, h, n, s.data(), u.data(), n,
                        vh.data(), n) != 0)
    return {};
  std::vector<T> vectors(at(n * n));
  if (!give_signs<T>(n, u.data(), vh.data(), s.data(), vectors.data())) return {};
  std::vector<std::int64_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t p, std::int64_t q) { return s[at(p)] < s[at(q)]; });
  T* const to = v ? v : u.data();
  for (std::int64_t j = 0; j < n; ++j) {
    w[j] = s[at(order[at(j)])];
    for (std::int64_t i = 0; i < n; ++i) to[i * n + j] = vectors[at(order[at(j)] * n + i)];
  }
  const double relative = relative_error<T>(n, modulus_condition<T>(n, w, to));
  return {always || relative < 0.1, relative};
}

#define WP_INSTANTIATE(T)                                                                          \
  template Jacobi jacobi_definite<T>(std::int64_t, const T*, bool, typename RealOf<T>::type*, T*); \
  template Jacobi jacobi_indefinite<T>(std::int64_t, const T*, bool, typename RealOf<T>::type*, T*);
WP_INSTANTIATE(float)
WP_INSTANTIATE(double)
WP_INSTANTIATE(std::complex<float>)
WP_INSTANTIATE(std::complex<double>)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
