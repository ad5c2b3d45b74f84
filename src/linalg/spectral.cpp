#include "linalg/spectral.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "kernels/numbers.hpp"
#include "linalg/filters.hpp"
#include "linalg/interpret.hpp"
#include "linalg/prescaled.hpp"

namespace wp::linalg {

template <class T>
Spectral<T>::Spectral(std::int64_t m, std::int64_t n, kernels::View<T> a, Parts parts, bool high)
    : m_(m), n_(n), k_(std::min(m, n)) {
  need_countable("the matrix", m, n);
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
  finite_ = kernels::all_finite<T>(m, n, a);
  if (!finite_) return;
  // Values are off by u·σ₁ in any case, unless high accuracy is asked for: then small elements matter.
  const int e = exponent_ =
      high ? kernels::placing_exponent<T>(m, n, a, kCeiling<T>, 2) : kernels::prescale_exponent<T>(m, n, a);
  kernels::Buffer<T> copy(m * n);
  std::vector<Real> sigma(size(k_));
  const auto scaled = [&](std::int64_t lines, std::int64_t each, kernels::View<T> from) {
    const std::vector<int> scales(size(lines), e), none(size(each), 0);
    kernels::scale<T, T>(lines, each, from, scales.data(), none.data(), copy.data());
  };
  // Of small matrices that are singular to rounding one in some hundred has factors from gesdd that are ten times as
  // wrong as the others'. Values alone are better without.
  constexpr std::int64_t kSmall = 32;
  const bool small = kernels::RealOf<T>::parts == 1 && std::max(m, n) <= kSmall && parts != Parts::values;
  const auto decompose = [&](std::int64_t rows, std::int64_t columns, T* left, T* right, std::int64_t ld) {
    const auto by_jacobi = [&] {
      return lapack::svd_by<T>(lapack::SvdMethod::jacobi, vectors, rows, columns, copy.data(), rows, sigma.data(),
                               left, rows, right, ld);
    };
    jacobi_ = high;
    info_ = high ? by_jacobi()
                 : lapack::svd<T>(vectors, rows, columns, copy.data(), rows, sigma.data(), left, rows, right, ld);
    if (!high && small && info_ == 0 && sigma.back() <= 2 * std::numeric_limits<Real>::epsilon() * sigma[0]) {
      jacobi_ = true;
      info_ = by_jacobi();
    }
  };
  // LAPACK is given no more columns than rows: pseudo-inverses of singular matrices are several times as wrong from
  // gesdd's factors of wide ones.
  if (m > n) {
    scaled(n, m, a.transposed());
    std::vector<T> left(u_.size()), right(vh_.size());
    decompose(m, n, left.data(), right.data(), std::max<std::int64_t>(vh_rows, 1));
    put_rows(m, u_columns_, left.data(), m, 0, u_.data());
    put_rows(vh_rows, n, right.data(), vh_rows, 0, vh_.data());
  } else {  // row-major memory is Aᵀ = V̄ Σ Uᵀ: its left vectors are the rows of Vᴴ, its right ones the columns of U
    scaled(m, n, a);
    decompose(n, m, vh_.data(), u_.data(), std::max<std::int64_t>(u_columns_, 1));
  }
  if (info_ < 0) {
    Verdict v;
    judge(v);  // refuses what is too large
  }
  scaled_.assign(sigma.begin(), sigma.end());
  for (const double s : scaled_) sigma_.push_back(std::ldexp(s, -e));
}

template <class T>
void Spectral<T>::judge(Verdict& v) const {
  v.status = status();
  if (finite_) interpret(jacobi_ ? Routine::jacobi_svd : Routine::svd, info_, m_, n_, v);
}

template <class T>
Spectral<T> Spectral<T>::adjoint() const {
  Spectral out(*this);
  std::swap(out.m_, out.n_);
  const auto turn = [](std::int64_t rows, std::int64_t columns, const std::vector<T>& from, std::vector<T>& to) {
    to.resize(from.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        to[static_cast<std::size_t>(j * rows + i)] = conjugate(from[static_cast<std::size_t>(i * columns + j)]);
  };
  turn(m_, k_, u_, out.vh_);
  turn(k_, n_, vh_, out.u_);
  return out;
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
std::vector<double> Spectral<T>::truncated(double threshold, int e) const {
  return linalg::truncated(sigma_, threshold, e);
}

template <class T>
std::vector<double> Spectral<T>::tikhonov(double ridge) const {
  return linalg::tikhonov(sigma_, ridge, std::numeric_limits<Real>::epsilon() / 2);
}

template <class T>
RidgeData Spectral<T>::ridge_data(std::int64_t columns, kernels::View<T> b) const {
  RidgeData d;
  d.sigma = sigma_;
  d.rows_outside = m_ - k_;
  kernels::Buffer<T> y(std::max<std::int64_t>(k_ * columns, 1));
  kernels::gemm<T>(k_, columns, m_, u().transposed().conjugated(), b, {y.data(), columns, 1});
  double largest = 0;
  for (std::int64_t i = 0; i < m_; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      largest = std::max(largest, static_cast<double>(std::abs(b.data[i * b.rows + j * b.columns])));
  if (largest > 0) d.norm = largest;
  for (std::int64_t i = 0; i < k_; ++i) {
    double part = 0;
    for (std::int64_t j = 0; j < columns; ++j)
      part += std::norm(std::complex<double>(y.data()[i * columns + j]) / d.norm);
    d.parts.push_back(part);
  }
  if (m_ == k_) return d;  // nothing is outside
  kernels::Buffer<T> rest(std::max<std::int64_t>(m_ * columns, 1));
  for (std::int64_t i = 0; i < m_; ++i)
    for (std::int64_t j = 0; j < columns; ++j) rest.data()[i * columns + j] = b.data[i * b.rows + j * b.columns];
  kernels::gemm<T>(m_, columns, k_, u(), {y.data(), columns, 1}, {rest.data(), columns, 1}, kernels::Into::subtract);
  for (std::int64_t e = 0; e < m_ * columns; ++e)
    d.outside += std::norm(std::complex<double>(rest.data()[e]) / d.norm);
  return d;
}

template <class T>
double Spectral<T>::choose_ridge(RidgeRule rule, double noise, std::int64_t columns, kernels::View<T> b) const {
  const double u = std::numeric_limits<Real>::epsilon() / 2, s1 = sigma_.empty() ? 0 : sigma_[0];
  if (rule == RidgeRule::automatic && columns == 0 && s1 > 0) return std::sqrt(u) * s1 * s1;
  return linalg::choose_ridge(rule, ridge_data(columns, b), noise, u);
}

template <class T>
double Spectral<T>::freedom(double ridge) const {
  return linalg::freedom(sigma_, ridge);
}

int Lines::spread() const {
  int most = 0;
  for (const std::vector<int>* lines : {&rows, &columns})
    if (const auto [low, high] = std::minmax_element(lines->begin(), lines->end()); low != lines->end())
      most = std::max(most, *high - *low);
  return most;
}

template <class T>
Lines even_lines(std::int64_t m, std::int64_t n, kernels::View<T> a) {
  if (m > n) {  // columns alone
    Lines out = even_lines<T>(n, m, a.transposed());
    std::swap(out.rows, out.columns);
    return out;
  }
  kernels::Equilibration by = kernels::equilibrate<T>(m, n, a);
  if (m < n) std::fill(by.columns.begin(), by.columns.end(), 0);
  return {std::move(by.rows), std::move(by.columns)};
}

template <class T>
Balanced<T>::Balanced(std::int64_t m, std::int64_t n, kernels::View<T> a) : lines(even_lines<T>(m, n, a)) {
  if (lines.spread() <= 3) return;
  scaled.resize(static_cast<std::size_t>(m * n));
  exact = kernels::scale<T, T>(m, n, a, lines.rows.data(), lines.columns.data(), scaled.data());
  svd.emplace(m, n, kernels::View<T>{scaled.data(), n, 1});
}

#define WP_INSTANTIATE(T)                                                     \
  template class Spectral<T>;                                                 \
  template Lines even_lines<T>(std::int64_t, std::int64_t, kernels::View<T>); \
  template struct Balanced<T>;
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
