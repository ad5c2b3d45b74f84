// Matrices that are hard to factor, their factors, and residuals in a wider precision.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/lu.hpp"
#include "kernels/triangular.hpp"
#include "wellposed/dtype.hpp"

namespace factors {

using Types = testing::Types<float, double, wp::complex64, wp::complex128>;

template <class T>
using Real = typename wp::kernels::RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = wp::kernels::RealOf<T>::parts == 2;
// Wide enough to see the rounding errors of T.
template <class T>
using WideReal = std::conditional_t<std::is_same_v<Real<T>, float>, double, long double>;
template <class T>
using Wide = std::conditional_t<is_complex<T>, std::complex<WideReal<T>>, WideReal<T>>;
template <class T>
inline constexpr double unit_roundoff = std::numeric_limits<Real<T>>::epsilon() / 2;

template <class T>
T conj_of(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return v;
  else
    return std::conj(v);
}
// By the formula: no calls for infinities.
template <class T>
T times(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

// Row-major with rows of `row` ≥ columns numbers; what lies between them is a mark that must stay.
template <class T>
struct Matrix {
  std::int64_t m = 0, n = 0, row = 0;
  std::vector<T> data;
  static constexpr int mark = 12345;

  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0)
      : m(rows), n(columns), row(columns + gap), data(static_cast<std::size_t>(rows * row), T(mark)) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) (*this)(i, j) = T(0);
  }
  T& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i * row + j)]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * row + j)]; }
  wp::kernels::View<T> view() const { return {data.data(), row, 1}; }
  wp::kernels::MutableView<T> view() { return {data.data(), row, 1}; }
  bool gaps_untouched() const {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = n; j < row; ++j)
        if ((*this)(i, j) != T(mark)) return false;
    return true;
  }
};

template <class T, class F>
Matrix<T> made(std::int64_t m, std::int64_t n, const F& element, std::int64_t gap = 0) {
  Matrix<T> a(m, n, gap);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) a(i, j) = static_cast<T>(element(i, j));
  return a;
}
template <class T>
Matrix<T> random_matrix(std::int64_t m, std::int64_t n, unsigned seed, std::int64_t gap = 0) {
  std::mt19937 g(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto one = [&] { return static_cast<Real<T>>(uniform(g)); };
  return made<T>(
      m, n,
      [&](std::int64_t, std::int64_t) {
        if constexpr (is_complex<T>) {
          const Real<T> re = one();
          return T(re, one());
        } else {
          return one();
        }
      },
      gap);
}

inline constexpr const char* kinds[] = {"random",         "Hilbert",         "graded",       "diagonal",
                                        "triangular",     "nearly singular", "zero columns", "badly scaled",
                                        "Wilkinson's W+", "orthogonal",      "Toeplitz"};
template <class T>
Matrix<T> of_kind(const std::string& kind, std::int64_t m, std::int64_t n) {
  using R = Real<T>;
  const Matrix<T> x = random_matrix<T>(m, n, static_cast<unsigned>(m * 1000 + n));
  const auto scale = [](double e) { return static_cast<R>(std::exp2(std::floor(e))); };
  const double reach = std::is_same_v<R, float> ? 30 : 200;
  return made<T>(m, n, [&](std::int64_t i, std::int64_t j) -> T {
    const double di = static_cast<double>(i), dj = static_cast<double>(j), dn = static_cast<double>(std::max(m, n));
    if (kind == "Hilbert") return T(static_cast<R>(1 / (di + dj + 1)));
    if (kind == "graded") return x(i, j) * scale(-reach * std::max(di, dj) / dn);
    if (kind == "diagonal") return i == j ? x(i, j) : T(0);
    if (kind == "triangular") return j >= i ? x(i, j) : T(0);
    if (kind == "nearly singular")
      return i == m - 1 && m > 1 ? x(0, j) * (R(1) + std::numeric_limits<R>::epsilon()) : x(i, j);
    if (kind == "zero columns") return j % 3 == 1 ? T(0) : x(i, j);
    if (kind == "badly scaled") return x(i, j) * scale(reach * std::sin(3 * di)) * scale(reach * std::cos(5 * dj));
    if (kind == "Wilkinson's W+")
      return i == j ? T(static_cast<R>(std::abs(di - (dn - 1) / 2))) : std::abs(i - j) == 1 ? T(1) : T(0);
    if (kind == "orthogonal")
      return T(static_cast<R>(std::sqrt(2 / (dn + 1)) * std::sin((di + 1) * (dj + 1) * 3.14159265358979 / (dn + 1))));
    if (kind == "Toeplitz") return T(static_cast<R>(1 / (1 + (di - dj) * (di - dj)) + (j > i ? 0.5 : 0)));
    return x(i, j);
  });
}

// The 1-norm.
template <class T>
double norm(const Matrix<T>& a) {
  double most = 0;
  for (std::int64_t j = 0; j < a.n; ++j) {
    WideReal<T> sum = 0;
    for (std::int64_t i = 0; i < a.m; ++i) sum += std::abs(Wide<T>(a(i, j)));
    if (std::isnan(sum)) return std::numeric_limits<double>::quiet_NaN();
    most = std::max(most, static_cast<double>(sum));
  }
  return most;
}

// c −= a·b in the wide precision; `a` and `b` may be triangular parts given by their bounds.
template <class T>
using WideMatrix = std::vector<Wide<T>>;
template <class T>
WideMatrix<T> widened(const Matrix<T>& a) {
  WideMatrix<T> w;
  for (std::int64_t i = 0; i < a.m; ++i)
    for (std::int64_t j = 0; j < a.n; ++j) w.push_back(Wide<T>(a(i, j)));
  return w;
}
template <class T, class A>
void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, const A& a, const Matrix<T>& b,
                      WideMatrix<T>& c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p) {
      const Wide<T> x(a(i, p));
      if (x == Wide<T>(0)) continue;
      for (std::int64_t j = 0; j < n; ++j) c[static_cast<std::size_t>(i * n + j)] -= times(x, Wide<T>(b(p, j)));
    }
}
template <class T>
double norm(const WideMatrix<T>& c, std::int64_t n) {
  std::vector<WideReal<T>> sum(static_cast<std::size_t>(n));
  for (std::size_t e = 0; e < c.size(); ++e) sum[e % static_cast<std::size_t>(n)] += std::abs(c[e]);
  double most = 0;
  for (const auto s : sum) {
    if (std::isnan(s)) return std::numeric_limits<double>::quiet_NaN();
    most = std::max(most, static_cast<double>(s));
  }
  return most;
}

// LAPACK's ratio residual / (n u size): 0 of 0 over 0.
template <class T>
double ratio(double residual, double size, std::int64_t n) {
  return residual == 0 ? 0 : residual / (static_cast<double>(std::max<std::int64_t>(n, 1)) * unit_roundoff<T> * size);
}

inline constexpr double limit = 30;  // of LAPACK's own tests

template <class T>
Matrix<T> identity(std::int64_t n) {
  return made<T>(n, n, [](std::int64_t i, std::int64_t j) { return T(i == j ? 1 : 0); });
}
template <class T>
Matrix<T> turned(const Matrix<T>& a, wp::kernels::Form form) {
  if (form == wp::kernels::Form::plain) return a;
  return made<T>(a.n, a.m, [&](std::int64_t i, std::int64_t j) {
    return form == wp::kernels::Form::adjoint ? conj_of(a(j, i)) : a(j, i);
  });
}
// The triangle, with ones on the diagonal of a unit one.
template <class T>
Matrix<T> triangle_of(const Matrix<T>& a, wp::kernels::Triangle t) {
  return made<T>(a.m, a.n, [&](std::int64_t i, std::int64_t j) {
    return i == j ? (t.unit ? T(1) : a(i, j)) : (j > i) == t.upper ? a(i, j) : T(0);
  });
}
template <class T>
bool finite(const Matrix<T>& a) {
  return std::isfinite(norm(a));
}
// ‖B − A X‖ / (n u ‖A‖ ‖X‖)
template <class T>
double solve_ratio(const Matrix<T>& a, const Matrix<T>& x, const Matrix<T>& b) {
  WideMatrix<T> rest = widened(b);
  subtract_product<T>(a.m, b.n, a.n, a, x, rest);
  return ratio<T>(norm<T>(rest, b.n), norm(a) * norm(x), a.n);
}

// K Kᴴ + a shift, exactly Hermitian.
template <class T>
Matrix<T> positive(const std::string& kind, std::int64_t n) {
  const Matrix<T> k = of_kind<T>(kind, n, n);
  WideMatrix<T> product(static_cast<std::size_t>(n * n));
  subtract_product<T>(n, n, n, k, turned(k, wp::kernels::Form::adjoint), product);
  double most = 0;
  for (const auto& v : product) most = std::max(most, static_cast<double>(std::abs(v)));
  return made<T>(n, n, [&](std::int64_t i, std::int64_t j) {
    const std::int64_t low = std::max(i, j), high = std::min(i, j);
    const T v = static_cast<T>(-product[static_cast<std::size_t>(low * n + high)]);
    if (i == j) return T(std::real(v) + static_cast<Real<T>>(most > 0 ? most * 1e-3 : 1));
    return i > j ? v : conj_of(v);
  });
}

template <class T>
struct Lu {
  Matrix<T> lu;
  std::vector<std::int64_t> pivots;
  std::int64_t zero;
  explicit Lu(const Matrix<T>& a) : lu(a), pivots(static_cast<std::size_t>(std::min(a.m, a.n))) {
    zero = wp::kernels::lu_factor<T>(a.m, a.n, lu.data.data(), lu.row, pivots.data());
  }
  Matrix<T> lower() const {
    const std::int64_t k = std::min(lu.m, lu.n);
    return made<T>(lu.m, k, [&](std::int64_t i, std::int64_t j) { return j < i ? lu(i, j) : T(j == i ? 1 : 0); });
  }
  Matrix<T> upper() const {
    const std::int64_t k = std::min(lu.m, lu.n);
    return made<T>(k, lu.n, [&](std::int64_t i, std::int64_t j) { return j < i ? T(0) : lu(i, j); });
  }
};
// ‖PA − LU‖ / (n u ‖A‖)
template <class T>
double lu_ratio(const Matrix<T>& a, const Lu<T>& f) {
  Matrix<T> pa = a;
  for (std::size_t i = 0; i < f.pivots.size(); ++i)
    for (std::int64_t j = 0; j < a.n; ++j) std::swap(pa(static_cast<std::int64_t>(i), j), pa(f.pivots[i], j));
  WideMatrix<T> rest = widened(pa);
  subtract_product<T>(a.m, a.n, std::min(a.m, a.n), f.lower(), f.upper(), rest);
  return ratio<T>(norm<T>(rest, a.n), norm(a), a.n);
}

}  // namespace factors
