#include "linalg/spectral.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/condition.hpp"
#include "kernels/lapack.hpp"

namespace wp::linalg {
namespace {

// The minimum of f over log λ in [low, high]: the best of a grid, then golden sections around it.
double least(double low, double high, const std::function<double(double)>& f) {
  constexpr int kGrid = 200;
  const double from = std::log(low), step = (std::log(high) - from) / kGrid;
  int best = 0;
  double value = f(low);
  for (int i = 1; i <= kGrid; ++i)
    if (const double v = f(std::exp(from + i * step)); v < value) {
      value = v;
      best = i;
    }
  double a = from + (best - 1) * step, b = from + (best + 1) * step;
  constexpr double golden = 0.6180339887498949;
  while (b - a > 1e-6) {
    const double c = b - golden * (b - a), d = a + golden * (b - a);
    (f(std::exp(c)) < f(std::exp(d)) ? b : a) = f(std::exp(c)) < f(std::exp(d)) ? d : c;
  }
  return std::exp((a + b) / 2);
}

}  // namespace

template <class T>
Spectral<T>::Spectral(std::int64_t m, std::int64_t n, kernels::View<T> a, Parts parts, bool high)
    : m_(m), n_(n), k_(std::min(m, n)) {
  const auto size = [](std::int64_t v) { return static_cast<std::size_t>(v); };
  const lapack::Vectors vectors = parts == Parts::values ? lapack::Vectors::none
                                  : parts == Parts::thin ? lapack::Vectors::thin
                                                         : lapack::Vectors::full;
  const std::int64_t vh_rows = parts == Parts::values ? 0 : parts == Parts::thin ? k_ : n;
  u_columns_ = parts == Parts::values ? 0 : parts == Parts::thin ? k_ : m;
  u_.resize(size(m * u_columns_));
  vh_.resize(size(vh_rows * n));
  if (k_ == 0) {
    for (std::int64_t i = 0; i < u_columns_; ++i) u_[size(i * u_columns_ + i)] = T(1);
    for (std::int64_t i = 0; i < vh_rows; ++i) vh_[size(i * n + i)] = T(1);
    return;
  }
  const kernels::Norms norms = kernels::norms<T>(m, n, a);
  finite_ = std::isfinite(norms.largest);
  if (!finite_) return;
  const int e = kernels::prescale_exponent<T>(m, n, a);
  const std::vector<int> rows(size(m), e), columns(size(n), 0);
  std::vector<T> copy(size(m * n));
  kernels::scale<T, T>(m, n, a, rows.data(), columns.data(), copy.data());
  std::vector<Real> sigma(size(k_));
  // Row-major memory is Aᵀ = V̄ Σ Uᵀ to LAPACK: its left vectors are the rows of Vᴴ, its right ones the columns of U.
  T* const left = vh_.data();
  T* const right = u_.data();
  const std::int64_t ld = std::max<std::int64_t>(u_columns_, 1);
  converged_ = (high ? lapack::svd_by<T>(lapack::SvdMethod::jacobi, vectors, n, m, copy.data(), n, sigma.data(), left,
                                         n, right, ld)
                     : lapack::svd<T>(vectors, n, m, copy.data(), n, sigma.data(), left, n, right, ld)) == 0;
  for (const Real s : sigma) sigma_.push_back(std::ldexp(static_cast<double>(s), -e));
}

template <class T>
std::int64_t Spectral<T>::rank(double threshold) const {
  return std::count_if(sigma_.begin(), sigma_.end(), [&](double s) { return s > threshold; });
}

template <class T>
void Spectral<T>::apply(const std::vector<double>& filter, std::int64_t columns, kernels::View<T> b,
                        kernels::MutableView<T> x) const {
  kernels::Buffer<T> y(std::max<std::int64_t>(k_ * columns, 1));
  const kernels::MutableView<T> coordinates{y.data(), columns, 1};
  kernels::gemm<T>(k_, columns, m_, u().transposed().conjugated(), b, coordinates);
  for (std::int64_t i = 0; i < k_; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      y.data()[i * columns + j] *= static_cast<Real>(filter[static_cast<std::size_t>(i)]);
  kernels::gemm<T>(n_, columns, k_, vh().transposed().conjugated(), coordinates, x);
}

template <class T>
std::vector<double> Spectral<T>::truncated(double threshold) const {
  std::vector<double> out;
  for (const double s : sigma_) out.push_back(s > threshold ? 1 / s : 0);
  return out;
}

template <class T>
std::vector<double> Spectral<T>::tikhonov(double ridge) const {
  std::vector<double> out;
  const double root = std::sqrt(ridge);
  for (const double s : sigma_) {
    const double h = std::hypot(s, root);
    out.push_back(h > 0 ? s / h / h : 0);
  }
  return out;
}

template <class T>
typename Spectral<T>::Data Spectral<T>::data_of(std::int64_t columns, kernels::View<T> b) const {
  Data d;
  kernels::Buffer<T> y(std::max<std::int64_t>(k_ * columns, 1));
  kernels::gemm<T>(k_, columns, m_, u().transposed().conjugated(), b, {y.data(), columns, 1});
  double largest = 0;
  for (std::int64_t i = 0; i < m_; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      largest = std::max(largest, static_cast<double>(std::abs(b.data[i * b.rows + j * b.columns])));
  if (largest == 0) largest = 1;
  double all = 0, inside = 0;
  for (std::int64_t i = 0; i < m_; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      all += std::norm(std::complex<double>(b.data[i * b.rows + j * b.columns]) / largest);
  for (std::int64_t i = 0; i < k_; ++i) {
    double part = 0;
    for (std::int64_t j = 0; j < columns; ++j)
      part += std::norm(std::complex<double>(y.data()[i * columns + j]) / largest);
    d.parts.push_back(part);
    inside += part;
  }
  d.outside = std::max(all - inside, 0.0);
  d.norm = largest;
  return d;
}

template <class T>
double Spectral<T>::choose_ridge(RidgeRule rule, double noise, std::int64_t columns, kernels::View<T> b) const {
  const double u = std::numeric_limits<Real>::epsilon() / 2, s1 = sigma_.empty() ? 0 : sigma_[0];
  if (s1 == 0) return 1;
  if (rule == RidgeRule::automatic && columns == 0) return std::sqrt(u) * s1 * s1;  // no data: an inverse
  const Data d = data_of(columns, b);
  const double low = u * u, high = 1;  // of λ/σ₁²
  // Residual and solution norms for λ = t·σ₁²: ρ² = Σ(λ/(σ² + λ))²β² + outside, η² = Σ(σ/(σ² + λ))²β².
  const auto norms = [&](double t) {
    struct {
      double rho = 0, eta = 0, freedom = 0;
    } r;
    r.rho = d.outside;
    for (std::size_t i = 0; i < sigma_.size(); ++i) {
      const double q = sigma_[i] / s1, f = q * q / (q * q + t);
      r.rho += (1 - f) * (1 - f) * d.parts[i];
      r.eta += q > 0 ? f * f / (q * q) * d.parts[i] : 0;
      r.freedom += 1 - f;
    }
    r.freedom += static_cast<double>(m_ - k_);
    return r;
  };
  double t = low;
  if (rule == RidgeRule::discrepancy) {  // the largest λ with ρ ≤ noise
    const double goal = noise / d.norm * (noise / d.norm);
    double a = std::log(low), c = std::log(high);
    for (int i = 0; i < 100; ++i) (norms(std::exp((a + c) / 2)).rho <= goal ? a : c) = (a + c) / 2;
    t = std::exp(a);
  } else if (rule == RidgeRule::l_curve) {  // the corner of (log ρ, log η): most curved
    t = least(low, high, [&](double x) {
      const double h = 1.05;
      const auto p = norms(x / h), q = norms(x), r = norms(x * h);
      const auto lg = [](double v) { return std::log(std::max(v, 1e-300)) / 2; };
      const double dx = (lg(r.rho) - lg(p.rho)) / 2, dy = (lg(r.eta) - lg(p.eta)) / 2;
      const double ddx = lg(r.rho) - 2 * lg(q.rho) + lg(p.rho), ddy = lg(r.eta) - 2 * lg(q.eta) + lg(p.eta);
      const double speed = std::hypot(dx, dy);
      return speed > 0 ? -(dx * ddy - dy * ddx) / (speed * speed * speed) : 0;
    });
  } else {  // generalised cross-validation (Golub, Heath & Wahba 1979): ρ²/freedom²
    t = least(low, high, [&](double x) {
      const auto r = norms(x);
      return r.rho / (r.freedom * r.freedom);
    });
  }
  return t * s1 * s1;
}

template class Spectral<float>;
template class Spectral<double>;
template class Spectral<complex64>;
template class Spectral<complex128>;

}  // namespace wp::linalg
