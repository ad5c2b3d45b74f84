#include "linalg/augmented.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/modular.hpp"
#include "kernels/numbers.hpp"
#include "kernels/residual.hpp"
#include "linalg/judgement.hpp"

namespace wp::linalg {
namespace {

// The size of the largest element in a column.
template <class T>
double largest_in(std::int64_t rows, kernels::View<T> a, std::int64_t column) {
  double most = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    most = std::max(most, size_of_number(a.data[i * a.rows + column * a.columns]));
  return most;
}

}  // namespace

double wedin(double u, double rcond, double most, double size, double rest) {
  const double condition = 1 / rcond;
  return size == 0 ? u : std::min(1.0, u * condition * (2 + (condition + 1) * (rest / most) / size));
}

template <class T>
bool fits_nothing(std::int64_t m, std::int64_t n, kernels::View<T> a, kernels::View<T> b, std::int64_t column) {
  if (std::max(m, n) > kExact) return false;
  std::vector<T> bordered(static_cast<std::size_t>((m + n) * (m + 1)), T(0));
  const auto at = [&](std::int64_t i, std::int64_t j) -> T& {
    return bordered[static_cast<std::size_t>(i * (m + 1) + j)];
  };
  for (std::int64_t i = 0; i < m; ++i) {
    at(i, i) = T(1);
    at(i, m) = b.data[i * b.rows + column * b.columns];
    for (std::int64_t j = 0; j < n; ++j) at(m + j, i) = conjugate(a.data[i * a.rows + j * a.columns]);
  }
  return kernels::exact_rank<T>(m + n, m + 1, {bordered.data(), m + 1, 1}) == m;
}

// p: m × k, q: n × k, row-major.
template <class T>
struct Augmented<T>::Unknowns {
  std::int64_t k;
  kernels::Buffer<T> p, q;
  Unknowns(std::int64_t m, std::int64_t n, std::int64_t count)
      : k(count), p(std::max<std::int64_t>(m * k, 1)), q(std::max<std::int64_t>(n * k, 1)) {
    std::fill_n(p.data(), m * k, T(0));
    std::fill_n(q.data(), n * k, T(0));
  }
};

template <class T>
Augmented<T>::Augmented(std::int64_t rows, std::int64_t columns, kernels::View<T> a, const Spectral<T>& svd,
                        const std::vector<int>& units)
    : m_(std::max(rows, columns)),
      n_(std::min(rows, columns)),
      wide_(rows < columns),
      exponent_(kernels::prescale_exponent<T>(rows, columns, a)),
      own_(std::max<std::int64_t>(rows * columns, 1)),
      adjoint_(std::max<std::int64_t>(rows * columns, 1)),
      u_(wide_ ? svd.vh().transposed().conjugated() : svd.u()),
      vh_(wide_ ? svd.u().transposed().conjugated() : svd.vh()),
      sigma_(svd.scaled_sigma()) {
  const std::vector<int> same(static_cast<std::size_t>(m_), exponent_), none(static_cast<std::size_t>(n_), 0);
  kernels::scale<T, T>(m_, n_, wide_ ? a.transposed() : a, same.data(), none.data(), own_.data());
  for (std::int64_t i = 0; i < m_; ++i)
    for (std::int64_t j = 0; j < n_; ++j) {
      T& v = own_.data()[i * n_ + j];
      adjoint_.data()[j * m_ + i] = wide_ ? v : conjugate(v);
      if (wide_) v = conjugate(v);
    }
  for (double& v : sigma_) v = std::ldexp(v, exponent_ - svd.exponent());
  const int top = units.empty() ? 0 : *std::max_element(units.begin(), units.end());
  for (const int e : units) weights_.push_back(std::ldexp(1.0, e - top));
}

// c − p is kept as a sum of two numbers: nothing is rounded before it meets M q.
template <class T>
void Augmented<T>::residual(const Unknowns& right, const Unknowns& z, Unknowns& r) const {
  const std::int64_t k = z.k;
  const kernels::View<T> none{nullptr, 1, 1};
  kernels::Buffer<T> high(std::max<std::int64_t>(m_ * k, 1)), low(std::max<std::int64_t>(m_ * k, 1));
  for (std::int64_t e = 0; e < m_ * k; ++e) {
    const T c = right.p.data()[e], p = z.p.data()[e], d = c - p, back = d - c;
    high.data()[e] = d;
    low.data()[e] = (c - (d - back)) - (p + back);  // Knuth 1969
  }
  kernels::residual<T>(m_, n_, k, {own_.data(), n_, 1}, {z.q.data(), k, 1}, none, {high.data(), k, 1}, r.p.data(),
                       nullptr);
  for (std::int64_t e = 0; e < m_ * k; ++e) r.p.data()[e] += low.data()[e];
  kernels::residual<T>(n_, m_, k, {adjoint_.data(), m_, 1}, {z.p.data(), k, 1}, none, {right.q.data(), k, 1},
                       r.q.data(), nullptr);
}

// With M = U Σ Vᴴ: h = Σ⁻¹ Vᴴ g, w = Uᴴ f − h; then q = V Σ⁻¹ w and p = f − U w.
template <class T>
void Augmented<T>::apply(Unknowns& r) const {
  const std::int64_t k = r.k;
  const auto divide = [&](T* rows) {
    for (std::int64_t l = 0; l < n_; ++l)
      for (std::int64_t j = 0; j < k; ++j) rows[l * k + j] /= static_cast<Real>(sigma_[static_cast<std::size_t>(l)]);
  };
  kernels::Buffer<T> w(std::max<std::int64_t>(n_ * k, 1)), h(std::max<std::int64_t>(n_ * k, 1));
  const kernels::MutableView<T> p{r.p.data(), k, 1}, q{r.q.data(), k, 1}, wide{w.data(), k, 1}, high{h.data(), k, 1};
  kernels::gemm<T>(n_, k, m_, u_.transposed().conjugated(), p, wide);
  kernels::gemm<T>(n_, k, n_, vh_, q, high);
  divide(h.data());
  for (std::int64_t e = 0; e < n_ * k; ++e) w.data()[e] -= h.data()[e];
  kernels::gemm<T>(m_, k, n_, u_, wide, p, simd::Into::subtract);
  divide(w.data());
  kernels::gemm<T>(n_, k, n_, vh_.transposed().conjugated(), wide, q);
}

template <class T>
double Augmented<T>::size_of(const Unknowns& z, std::int64_t column) const {
  const T* const from = wide_ ? z.p.data() : z.q.data();
  double most = 0;
  for (std::int64_t i = 0; i < (wide_ ? m_ : n_); ++i) {
    const double size = size_of_number(from[i * z.k + column]);
    if (!(size <= most)) most = size;  // a NaN stays
    if (std::isnan(most)) break;
  }
  return most;
}

template <class T>
double Augmented<T>::in_units(const Unknowns& z, std::int64_t column) const {
  if (weights_.empty()) return size_of(z, column);
  const T* const from = wide_ ? z.p.data() : z.q.data();
  double most = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    most = std::max(most, weights_[i] * size_of_number(from[static_cast<std::int64_t>(i) * z.k + column]));
  return most;
}

template <class T>
double Augmented<T>::given(const Unknowns& right, std::int64_t column) const {
  const T* const from = wide_ ? right.q.data() : right.p.data();
  double sum = 0;
  for (std::int64_t i = 0; i < (wide_ ? n_ : m_); ++i) {
    const double size = std::abs(from[i * right.k + column]);
    sum += size * size;
  }
  return std::sqrt(sum);
}

template <class T>
void Augmented<T>::take(const Unknowns& r, Unknowns& z, std::int64_t column) const {
  for (std::int64_t i = 0; i < m_; ++i) z.p.data()[i * z.k + column] += r.p.data()[i * z.k + column];
  for (std::int64_t i = 0; i < n_; ++i) z.q.data()[i * z.k + column] += r.q.data()[i * z.k + column];
}

// After a correction of size δ that follows one of size Δ, about δ·δ/Δ is left; after the first, at most δ·κ·u.
template <class T>
double Augmented<T>::improved(const Unknowns& right, Unknowns& z) const {
  constexpr double u = kUnit<T>;
  const int rounds = weights_.empty() ? 12 : 48;  // an element that is 0 in its units shrinks by u·κ in each
  const double least = sigma_.back(), rate = u * sigma_[0] / least;
  Unknowns r(m_, n_, z.k);
  std::vector<double> last, error(static_cast<std::size_t>(z.k), 0);
  std::vector<char> going(static_cast<std::size_t>(z.k), 1);
  for (std::int64_t j = 0; j < z.k; ++j) last.push_back(given(right, j) / least);  // no answer is larger
  for (int round = 0; round < rounds && std::count(going.begin(), going.end(), 1) > 0; ++round) {
    residual(right, z, r);
    apply(r);
    for (std::size_t c = 0; c < last.size(); ++c) {
      if (!going[c]) continue;
      const auto j = static_cast<std::int64_t>(c);
      const double change = size_of(r, j);
      if (round == 0) {  // the answer itself; what it lacks may be as large, where little can be fitted
        take(r, z, j);
        error[c] = change;
        continue;
      }
      if (change == 0) {
        error[c] = 0;
        going[c] = 0;
        continue;
      }
      // The last digit of a large element comes back in every correction; in units it may be nothing.
      const bool settled = !weights_.empty() && change <= 4 * u * size_of(z, j);
      if (settled && !(change <= last[c] / 2)) {
        take(r, z, j);
        error[c] = 2 * change * rate;
        going[c] = 0;
        continue;
      }
      if (!(change <= last[c] / 2)) {
        error[c] = change > 0 || std::isnan(change) ? std::max(change, last[c]) : 0;
        going[c] = 0;
        continue;
      }
      take(r, z, j);
      error[c] = 2 * change * std::max(change / last[c], rate);
      last[c] = change;
      const double zero = u * given(right, j) / sigma_[0];
      going[c] = error[c] > u * std::max(in_units(z, j), weights_.empty() ? u * zero : 0) ? 1 : 0;
    }
  }
  double worst = u;
  for (std::size_t c = 0; c < last.size(); ++c) {
    const auto j = static_cast<std::int64_t>(c);
    const double scale = std::max(in_units(z, j), weights_.empty() ? u * given(right, j) / sigma_[0] : 0);
    const double relative = error[c] == 0 ? 0 : error[c] / scale;
    if (!(relative <= worst)) worst = relative;
    if (std::isnan(worst)) return 1;
  }
  return std::min(worst, 1.0);
}

template <class T>
double Augmented<T>::estimated(const Unknowns& z) const {
  constexpr double u = kUnit<T>;
  const double rcond = sigma_.back() / sigma_[0];
  double worst = std::min(1.0, 2 * u / rcond);
  for (std::int64_t j = 0; j < z.k && !wide_; ++j) {
    const double rest = largest_in<T>(m_, {z.p.data(), z.k, 1}, j);
    worst = std::max(worst, wedin(u, rcond, sigma_[0], in_units(z, j), rest));
  }
  for (std::int64_t j = 0; j < z.k && !weights_.empty(); ++j)
    if (const double size = size_of(z, j); size > 0) worst = std::max(worst, 2 * u / rcond * size / in_units(z, j));
  return std::min(1.0, worst + 4 * std::sqrt(static_cast<double>(m_)) * u);  // roundings, which mostly cancel
}

template <class T>
double Augmented<T>::solve(std::int64_t k, kernels::View<T> b, kernels::MutableView<T> x, bool improve) const {
  Unknowns right(m_, n_, k), z(m_, n_, k);
  const std::int64_t rows = wide_ ? n_ : m_, columns = wide_ ? m_ : n_;
  T* const to = wide_ ? right.q.data() : right.p.data();
  std::vector<int> exponents;  // of each column of B, which is brought near 1
  for (std::int64_t j = 0; j < k; ++j) {
    const double most = largest_in<T>(rows, b, j);
    exponents.push_back(most > 0 ? -std::ilogb(most) : 0);
    for (std::int64_t i = 0; i < rows; ++i)
      to[i * k + j] = times_power(b.data[i * b.rows + j * b.columns], exponents.back());
  }
  double error = 0;
  if (n_ > 0 && improve) {
    error = improved(right, z);
  } else if (n_ > 0) {
    std::copy_n(right.p.data(), m_ * k, z.p.data());
    std::copy_n(right.q.data(), n_ * k, z.q.data());
    apply(z);
    error = estimated(z);
  }
  const T* const from = wide_ ? z.p.data() : z.q.data();
  for (std::int64_t i = 0; i < columns; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      x.data[i * x.rows + j * x.columns] =
          times_power(from[i * k + j], exponent_ - exponents[static_cast<std::size_t>(j)]);
  return error;
}

template <class T>
Minimised least_squares(std::int64_t m, std::int64_t n, std::int64_t k, kernels::View<T> a, const Spectral<T>& svd,
                        double least, kernels::View<T> b, kernels::MutableView<T> x, const std::vector<int>& units) {
  using Real = typename kernels::RealOf<T>::type;
  constexpr double u = kUnit<T>;
  const std::int64_t shorter = std::min(m, n), kept = svd.rank(least);
  Minimised out{.kept = kept};
  if (kept > 0) out.rcond = svd.rcond(kept);
  if (kept == shorter && shorter > 0) {
    const Augmented<T> system(m, n, a, svd, units);
    const bool cheap = few(n, k);
    out.error = system.solve(k, b, x, cheap);
    if (!cheap && out.error > kGoodEnough) out.error = system.solve(k, b, x, true);
    return out;
  }
  // Near the ends of the range 1/σ would overflow before it meets what makes it small.
  const int far = kept > 0 ? std::ilogb(svd.sigma()[0]) : 0;
  const int e = std::abs(far) > std::numeric_limits<Real>::max_exponent / 2 ? far : 0;
  svd.apply(svd.truncated(least, e), k, b, x);
  for (std::int64_t i = 0; i < n && e != 0; ++i)
    for (std::int64_t j = 0; j < k; ++j) {
      T& v = x.data[i * x.rows + j * x.columns];
      v = times_power(v, -e);
    }
  out.error = u;
  if (kept == 0 || k == 0) return out;
  // Wedin's bound with the singular values that counted.
  std::vector<T> rest(static_cast<std::size_t>(m * k));
  kernels::residual<T>(m, n, k, a, x, {nullptr, 1, 1}, b, rest.data(), nullptr);
  for (std::int64_t j = 0; j < k; ++j) {
    const double size = largest_in<T>(n, x, j), zero = 8 * u / out.rcond * largest_in<T>(m, b, j) / svd.largest();
    if (size > 0 && size <= zero && fits_nothing<T>(m, n, a, b, j)) {
      for (std::int64_t i = 0; i < n; ++i) x.data[i * x.rows + j * x.columns] = T(0);
      continue;
    }
    out.error =
        std::max(out.error, wedin(u, out.rcond, svd.largest(), size, largest_in<T>(m, {rest.data(), k, 1}, j)));
  }
  return out;
}

#define WP_INSTANTIATE(T)                                                                                          \
  template bool fits_nothing(std::int64_t, std::int64_t, kernels::View<T>, kernels::View<T>, std::int64_t);        \
  template class Augmented<T>;                                                                                     \
  template Minimised least_squares(std::int64_t, std::int64_t, std::int64_t, kernels::View<T>, const Spectral<T>&, \
                                   double, kernels::View<T>, kernels::MutableView<T>, const std::vector<int>&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
