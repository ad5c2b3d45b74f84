#include "linalg/jacobi.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/cholesky.hpp"
#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "linalg/bounds.hpp"

namespace wp::linalg {
namespace {

using kernels::MutableView;
using kernels::RealOf;
using kernels::View;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
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

}  // namespace

bool scaling_pays(int spread, double condition) {
  return spread > 6 + std::log2(condition);
}

template <class T>
Jacobi jacobi_definite(std::int64_t n, const T* h, bool always, typename RealOf<T>::type* w, T* v) {
  using R = typename RealOf<T>::type;
  const std::vector<int> x = diagonal_exponents(n, h);
  if (x.empty()) return {};
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (!always && !scaling_pays(2 * (*high - *low), 1)) return {};
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
  if (!always && !scaling_pays(2 * (*high - *low), inverse)) return {};
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

#define WP_INSTANTIATE(T) \
  template Jacobi jacobi_definite<T>(std::int64_t, const T*, bool, typename RealOf<T>::type*, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
