#include "linalg/quad.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"

namespace wp::linalg {
namespace {

template <class T>
auto widened(T v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return ComplexQuad{v.real(), v.imag()};
  else
    return static_cast<Quad>(v);
}
std::complex<double> narrowed(Quad v) {
  return static_cast<double>(v);
}
std::complex<double> narrowed(const ComplexQuad& v) {
  return {static_cast<double>(v.re), static_cast<double>(v.im)};
}
template <class T, class Number>
T rounded(const Number& v) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return {static_cast<typename T::value_type>(v.re), static_cast<typename T::value_type>(v.im)};
  else
    return static_cast<T>(v);
}
Quad size(Quad v) {
  return v < 0 ? -v : v;
}
Quad size(const ComplexQuad& v) {
  return std::max(size(v.re), size(v.im));
}
// v · 2^e; e may be beyond the exponents of double.
Quad times_power(Quad v, int e) {
  return v * std::ldexp(1.0, e / 2) * std::ldexp(1.0, e - e / 2);
}
ComplexQuad times_power(const ComplexQuad& v, int e) {
  return {times_power(v.re, e), times_power(v.im, e)};
}
Quad conjugate(Quad v) {
  return v;
}
ComplexQuad conjugate(const ComplexQuad& v) {
  return {v.re, -v.im};
}

}  // namespace

template <class T>
QuadLu<T>::QuadLu(std::int64_t n, kernels::View<T> a)
    : m_(static_cast<std::size_t>(n)), order_(static_cast<std::size_t>(n)) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  kernels::Equilibration scaling = kernels::equilibrate<T>(n, n, a);
  rows_ = std::move(scaling.rows);
  columns_ = std::move(scaling.columns);
  std::vector<double> sums(static_cast<std::size_t>(n));
  Quad largest = 0;
  for (std::size_t i = 0; i < m_.size(); ++i)
    for (std::size_t j = 0; j < m_.size(); ++j) {
      const T v = a.data[static_cast<std::int64_t>(i) * a.rows + static_cast<std::int64_t>(j) * a.columns];
      m_[i].push_back(times_power(widened(a.conjugate ? wp::conjugate(v) : v), rows_[i] + columns_[j]));
      sums[j] += std::abs(narrowed(m_[i][j]));
      largest = std::max(largest, size(m_[i][j]));
    }
  if (n > 0) norm_ = *std::max_element(sums.begin(), sums.end());
  eliminate(largest);
  rcond_ = estimated_rcond();
}

template <class T>
void QuadLu<T>::eliminate(Quad largest) {
  Quad grown = 0;
  for (std::size_t k = 0; k < m_.size(); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < m_.size(); ++i)
      if (size(at(i, k)) > size(at(pivot, k))) pivot = i;
    if (pivot != k) {
      std::swap(order_[k], order_[pivot]);
      odd_ = !odd_;
    }
    const std::vector<Number>& top = m_[order_[k]];
    for (std::size_t j = k; j < m_.size(); ++j) grown = std::max(grown, size(top[j]));
    if (size(top[k]) == 0) {
      zero_pivot_ = true;
      continue;
    }
    for (std::size_t i = k + 1; i < m_.size(); ++i) {
      std::vector<Number>& row = m_[order_[i]];
      row[k] = row[k] / top[k];
      if (size(row[k]) == 0) continue;
      for (std::size_t j = k + 1; j < m_.size(); ++j) row[j] = row[j] - row[k] * top[j];
    }
  }
  if (largest > 0) growth_ = std::max(1.0, static_cast<double>(grown / largest));
}

template <class T>
void QuadLu<T>::substitute(std::vector<Number>& x, bool adjoint) const {
  const std::size_t n = m_.size();
  std::vector<Number> y(n);
  if (!adjoint) {
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = x[order_[i]];
      for (std::size_t j = 0; j < i; ++j) y[i] = y[i] - at(i, j) * y[j];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) y[i] = y[i] - at(i, j) * y[j];
      y[i] = y[i] / at(i, i);
    }
    x = std::move(y);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {  // Uᴴ y = x, then Lᴴ
    y[i] = x[i];
    for (std::size_t j = 0; j < i; ++j) y[i] = y[i] - conjugate(at(j, i)) * y[j];
    y[i] = y[i] / conjugate(at(i, i));
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) y[i] = y[i] - conjugate(at(j, i)) * y[j];
    x[order_[i]] = y[i];
  }
}

template <class T>
double QuadLu<T>::estimated_rcond() const {
  if (m_.empty()) return 1;
  if (zero_pivot_ || norm_ == 0) return 0;
  using Wide = std::conditional_t<kernels::RealOf<T>::parts == 2, std::complex<double>, double>;
  const auto apply = [&](Wide* x, bool adjoint) {
    std::vector<Number> y;
    for (std::size_t i = 0; i < m_.size(); ++i) y.push_back(widened(x[i]));
    substitute(y, adjoint);
    for (std::size_t i = 0; i < m_.size(); ++i) x[i] = rounded<Wide>(y[i]);
  };
  const double inverse =
      kernels::inverse_norm<Wide>(
          static_cast<std::int64_t>(m_.size()), [&](Wide* x) { apply(x, false); }, [&](Wide* x) { apply(x, true); })
          .estimate;
  return inverse > 0 && std::isfinite(inverse) ? 1 / norm_ / inverse : 0;
}

template <class T>
void QuadLu<T>::solve(std::int64_t columns, kernels::MutableView<T> x) const {
  for (std::int64_t j = 0; j < columns; ++j) {
    std::vector<Number> y;
    for (std::size_t i = 0; i < m_.size(); ++i)
      y.push_back(times_power(widened(x.data[static_cast<std::int64_t>(i) * x.rows + j * x.columns]), rows_[i]));
    substitute(y, false);
    for (std::size_t i = 0; i < m_.size(); ++i)
      x.data[static_cast<std::int64_t>(i) * x.rows + j * x.columns] = rounded<T>(times_power(y[i], columns_[i]));
  }
}

template <class T>
typename QuadLu<T>::Scaled QuadLu<T>::determinant() const {
  Scaled d;
  d.mantissa = odd_ ? -1 : 1;
  for (std::size_t k = 0; k < m_.size(); ++k) {
    d.mantissa *= narrowed(at(k, k));
    int e = 0;
    std::frexp(std::max(std::fabs(d.mantissa.real()), std::fabs(d.mantissa.imag())), &e);
    d.mantissa = {std::ldexp(d.mantissa.real(), -e), std::ldexp(d.mantissa.imag(), -e)};
    d.exponent += e - rows_[k] - columns_[k];
  }
  return d;
}

template <class T>
bool quad_positive(std::int64_t n, kernels::View<T> a) {
  using Number = typename QuadLu<T>::Number;
  std::vector<std::vector<Number>> m(static_cast<std::size_t>(n));  // the lower triangle
  for (std::size_t i = 0; i < m.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      m[i].push_back(
          widened(a.data[static_cast<std::int64_t>(i) * a.rows + static_cast<std::int64_t>(j) * a.columns]));
  for (std::size_t k = 0; k < m.size(); ++k) {
    if (!(narrowed(m[k][k]).real() > 0)) return false;
    for (std::size_t i = k + 1; i < m.size(); ++i) {
      const Number factor = m[i][k] / m[k][k];
      for (std::size_t j = k + 1; j <= i; ++j) m[i][j] = m[i][j] - factor * conjugate(m[j][k]);
    }
  }
  return true;
}

#define WP_INSTANTIATE(T)   \
  template class QuadLu<T>; \
  template bool quad_positive(std::int64_t, kernels::View<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
