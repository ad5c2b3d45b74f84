#include "linalg/quad.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/exponents.hpp"
#include "kernels/numbers.hpp"
#include "kernels/survey.hpp"
#include "linalg/judgement.hpp"

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
  const int part = e / 4;
  return v * std::ldexp(1.0, part) * std::ldexp(1.0, part) * std::ldexp(1.0, part) * std::ldexp(1.0, e - 3 * part);
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
QuadLu<T>::QuadLu(std::int64_t n, kernels::View<T> a, std::vector<int> rows, std::vector<int> columns)
    : m_(static_cast<std::size_t>(n)), rows_(std::move(rows)), columns_(std::move(columns)) {
  take(a);
}
template <class T>
QuadLu<T>::QuadLu(std::int64_t n, kernels::View<T> a) : m_(static_cast<std::size_t>(n)) {
  kernels::Equilibration scaling = kernels::equilibrate<T>(n, n, a);
  rows_ = std::move(scaling.rows);
  columns_ = std::move(scaling.columns);
  take(a);
}

template <class T>
void QuadLu<T>::take(kernels::View<T> a) {
  order_.resize(m_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::vector<double> sums(m_.size());
  Quad largest = 0;
  for (std::size_t i = 0; i < m_.size(); ++i)
    for (std::size_t j = 0; j < m_.size(); ++j) {
      const T v = a.data[static_cast<std::int64_t>(i) * a.rows + static_cast<std::int64_t>(j) * a.columns];
      m_[i].push_back(times_power(widened(a.conjugate ? wp::conjugate(v) : v), rows_[i] + columns_[j]));
      sums[j] += std::abs(narrowed(m_[i][j]));
      largest = std::max(largest, size(m_[i][j]));
    }
  if (!sums.empty()) norm_ = *std::max_element(sums.begin(), sums.end());
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
std::vector<typename QuadLu<T>::Number> QuadLu<T>::solve(const T* b, std::int64_t stride) const {
  std::vector<Number> y;
  for (std::size_t i = 0; i < m_.size(); ++i)
    y.push_back(times_power(widened(b[static_cast<std::int64_t>(i) * stride]), rows_[i]));
  substitute(y, false);
  return y;
}

namespace {

// e with a size in [2^(e−1), 2^e); kNoExponent of 0.
int exponent_of(Quad size) {
  constexpr int kStep = 1000;
  int e = 0;
  for (; size >= 0x1p1000; size *= 0x1p-1000) e += kStep;
  for (; size > 0 && size < 0x1p-1000; size *= 0x1p1000) e -= kStep;
  return size > 0 ? e + kernels::exponent_of_size(static_cast<double>(size)) : kernels::kNoExponent;
}

// Scales with which every row of A x = b has terms up to 1, and x elements near 1 where they are known. Where they
// are not (kNoExponent), columns up to 1. False: a row has no known term.
template <class T>
bool scales_by_answer(std::int64_t n, kernels::View<T> a, std::vector<int>& rows, std::vector<int>& columns) {
  using kernels::kNoExponent;
  const auto exponent = [&](std::int64_t i, std::int64_t j) {
    const int e = kernels::exponent_of_size(size_of_number(a.data[i * a.rows + j * a.columns]));
    return e == kNoExponent ? kNoExponent : e;
  };
  const auto known = [](int e) { return e != kNoExponent; };
  rows.assign(columns.size(), kNoExponent);
  for (std::int64_t i = 0; i < n; ++i) {
    int& row = rows[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < n; ++j)
      if (const int e = exponent(i, j), c = columns[static_cast<std::size_t>(j)]; known(e) && known(c))
        row = std::max(row, e + c);
    if (!known(row)) return false;
    row = -row;
  }
  for (std::int64_t j = 0; j < n; ++j) {
    int& column = columns[static_cast<std::size_t>(j)];
    if (known(column)) continue;
    for (std::int64_t i = 0; i < n; ++i)
      if (const int e = exponent(i, j); known(e)) column = std::max(column, e + rows[static_cast<std::size_t>(i)]);
    column = known(column) ? -column : 0;
  }
  return true;
}

}  // namespace

template <class T>
double quad_solve(const QuadLu<T>& first, kernels::View<T> a, T* x, std::int64_t stride, int rounds,
                  const std::function<bool(std::int64_t)>& is_zero) {
  const std::size_t n = first.columns().size();
  std::vector<typename QuadLu<T>::Number> best(n);  // of each element that with the least error, in all rounds
  std::vector<Quad> errors(n, HUGE_VAL);
  const auto improve = [&](const QuadLu<T>& lu) {
    constexpr double kMeaningless = 1e-3;  // errors from there on say nothing: rcond is that of rounding
    if (lu.zero_pivot() || lu.error() > kMeaningless) return;
    const auto y = lu.solve(x, stride);
    Quad most = 0;
    for (const auto& v : y) most = std::max(most, size(v));
    for (std::size_t i = 0; i < n; ++i) {
      const Quad error = times_power(lu.error() * most, lu.columns()[i]);
      if (error >= errors[i]) continue;
      best[i] = times_power(y[i], lu.columns()[i]);
      errors[i] = error;
    }
  };
  const auto largest_of = [&](const auto& sizes) {
    Quad out = 0;
    for (std::size_t i = 0; i < n; ++i) out = std::max<Quad>(out, sizes(i));
    return out;
  };
  const auto own = [&](std::size_t i) { return size(best[i]); };
  const auto error = [&](std::size_t i) { return errors[i]; };
  const auto done = [&] { return largest_of(error) <= kGoodEnough * largest_of(own); };
  const auto rows = static_cast<std::int64_t>(n);
  improve(first);
  if (!done() && rounds > 0)
    if (const auto by = kernels::equilibrate_by_matching<T>(rows, a))
      improve(QuadLu<T>(rows, a, by->rows, by->columns));
  std::vector<int> up, columns(n), before;
  for (; rounds > 0 && !done(); --rounds) {
    for (std::size_t i = 0; i < n; ++i)
      columns[i] = own(i) > 2 * errors[i] ? exponent_of(own(i)) : kernels::kNoExponent;
    if (!scales_by_answer<T>(rows, a, up, columns) || columns == before) break;
    before = columns;
    improve(QuadLu<T>(rows, a, up, columns));
  }
  std::vector<char> asked(n, 0);
  for (bool again = true; again;) {  // without one that is 0, others may be the largest
    again = false;
    for (std::size_t i = 0; i < n; ++i) {
      if (asked[i] || !(errors[i] > kGoodEnough * largest_of(own))) continue;
      asked[i] = 1;
      if (!is_zero(static_cast<std::int64_t>(i))) continue;
      best[i] = {}, errors[i] = 0;
      again = true;
    }
  }
  for (std::size_t i = 0; i < n; ++i) x[static_cast<std::int64_t>(i) * stride] = rounded<T>(best[i]);
  const Quad worst = largest_of(error), largest = largest_of(own);
  return worst < largest ? static_cast<double>(worst / largest) : worst > 0 ? 1 : 0;
}

template <class T>
std::optional<QuadInverse<T>> quad_inverse(std::int64_t n, kernels::View<T> a) {
  using Real = typename kernels::RealOf<T>::type;
  constexpr int kMost = std::numeric_limits<Real>::max_exponent - 2;
  if (n > kQuadLargest) return std::nullopt;
  const QuadLu<T> lu(n, a);
  if (lu.zero_pivot()) return std::nullopt;
  // (2^e·A)⁻¹ with elements of 2^e·A up to 1 is in range unless the condition is beyond it.
  const int e = kernels::prescale_exponent<T>(n, n, a);
  for (const int power : {std::clamp(-e, -kMost, kMost), -kMost}) {
    QuadInverse<T> out{std::vector<T>(static_cast<std::size_t>(n * n), T(0)), power, 0};
    for (std::int64_t j = 0; j < n; ++j) {
      out.x[static_cast<std::size_t>(j * n + j)] = T(std::ldexp(Real(1), power));
      const double error = quad_solve<T>(lu, a, out.x.data() + j, n, 0, [](std::int64_t) { return false; });
      out.error = std::max(out.error, error);
    }
    if (out.error < 1e-3 && kernels::all_finite<T>(n, n, {out.x.data(), n, 1})) return out;
  }
  return std::nullopt;
}

template <class T>
typename QuadLu<T>::Scaled QuadLu<T>::determinant() const {
  Scaled d;
  d.mantissa = odd_ ? -1 : 1;
  for (std::size_t k = 0; k < m_.size(); ++k) {
    if constexpr (kernels::RealOf<T>::parts == 2)
      d.mantissa *=
          std::complex<long double>(static_cast<long double>(at(k, k).re), static_cast<long double>(at(k, k).im));
    else
      d.mantissa *= static_cast<long double>(at(k, k));
    int e = 0;
    std::frexp(std::max(std::fabs(d.mantissa.real()), std::fabs(d.mantissa.imag())), &e);
    d.mantissa = {std::ldexp(d.mantissa.real(), -e), std::ldexp(d.mantissa.imag(), -e)};
    d.exponent += e - rows_[k] - columns_[k];
  }
  return d;
}

template <class T>
bool quad_cholesky(std::int64_t n, kernels::View<T> a, kernels::MutableView<T> l) {
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
  for (std::size_t k = 0; l.data && k < m.size(); ++k) {  // pivot · (column of a unit lower triangle) so far
    const Number root = widened(T(std::sqrt(rounded<T>(m[k][k]))));
    for (std::size_t i = k; i < m.size(); ++i)
      l.data[static_cast<std::int64_t>(i) * l.rows + static_cast<std::int64_t>(k) * l.columns] =
          rounded<T>(i == k ? root : m[i][k] / root);
  }
  return true;
}

#define WP_INSTANTIATE(T)                                                               \
  template class QuadLu<T>;                                                             \
  template double quad_solve(const QuadLu<T>&, kernels::View<T>, T*, std::int64_t, int, \
                             const std::function<bool(std::int64_t)>&);                 \
  template std::optional<QuadInverse<T>> quad_inverse(std::int64_t, kernels::View<T>);  \
  template bool quad_cholesky(std::int64_t, kernels::View<T>, kernels::MutableView<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
