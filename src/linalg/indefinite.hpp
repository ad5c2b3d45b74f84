// Hermitian matrices that need not be definite: P L D Lᴴ Pᵀ with 1 × 1 and 2 × 2 blocks in D.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/lapack.hpp"
#include "kernels/triangular.hpp"
#include "linalg/refine.hpp"

namespace wp::linalg {

template <class T>
class Indefinite {
 public:
  // From a row-major matrix, which is overwritten. T: float, double, complex64, complex128.
  Indefinite(std::int64_t n, T* m) : n_(n), l_(size(n * n)), diagonal_(size(n)), below_(size(n)), rows_(size(n)) {
    for (std::int64_t i = 0; i < n * n; ++i) m[i] = conjugate(m[i]);  // row-major memory is Aᵀ to LAPACK
    std::vector<lapack::Pivot> pivots(size(n));
    info_ = lapack::ldl<T>(lapack::Form::hermitian, n, m, n, pivots.data());
    if (info_ >= 0)
      lapack::ldl_unpack<T>(n, m, n, pivots.data(), l_.data(), n, diagonal_.data(), below_.data(), rows_.data());
  }
  bool singular() const noexcept { return info_ != 0; }  // exactly, in D
  double largest() const {
    double most = 0;
    for (const std::vector<T>* part : {&diagonal_, &below_})
      for (const T v : *part) most = std::max(most, size_of_number(v));
    return most;
  }

  // A = P L D Lᴴ Pᵀ: row i of PᵀA is row order()[i] of A; L, D n × n, row-major.
  const std::vector<std::int64_t>& order() const noexcept { return rows_; }
  void unpack(T* l, T* d) const {
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::int64_t j = 0; j < i; ++j) l[i * n_ + j] = l_[size(i + j * n_)];
      l[i * n_ + i] = T(1);
      d[i * n_ + i] = diagonal_[size(i)];
    }
    for (std::int64_t i = 1; i < n_; ++i) {
      d[i * n_ + i - 1] = below_[size(i - 1)];
      d[(i - 1) * n_ + i] = conjugate(below_[size(i - 1)]);
    }
  }

  // A X = B in place: X = P L⁻ᴴ D⁻¹ L⁻¹ Pᵀ B.
  void solve(std::int64_t columns, kernels::MutableView<T> x) const {
    kernels::Buffer<T> y(std::max<std::int64_t>(n_ * columns, 1));
    const auto each = [&](auto&& f) {
      for (std::int64_t i = 0; i < n_; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          f(y.data()[i * columns + j], x.data[rows_[size(i)] * x.rows + j * x.columns]);
    };
    each([](T& to, const T& from) { to = from; });
    const kernels::View<T> l{l_.data(), 1, n_};
    const kernels::MutableView<T> all{y.data(), columns, 1};
    kernels::solve_triangular<T>({.upper = false, .unit = true}, n_, columns, l, all);
    for (std::int64_t k = 0; k < n_; ++k) {
      solve_block(k, columns, y.data() + k * columns);
      if (below_[size(k)] != T(0)) ++k;
    }
    kernels::solve_triangular<T>({.upper = true, .unit = true}, n_, columns,
                                 kernels::RealOf<T>::parts == 2 ? l.transposed().conjugated() : l.transposed(), all);
    each([](const T& from, T& to) { to = from; });
  }

  // f(v) for numbers v whose product is det A.
  template <class F>
  void factors_of_determinant(F&& f) const {
    for (std::int64_t k = 0; k < n_; ++k) {
      const std::complex<double> first(diagonal_[size(k)]), off(below_[size(k)]);
      if (off == 0.0) {
        f(first);
        continue;
      }
      const std::complex<double> second(diagonal_[size(++k)]);
      f(first * second - off * std::conj(off));
    }
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  // A 2 × 2 block divided by its off-diagonal element, as LAPACK's sytrs: nothing overflows on the way.
  void solve_block(std::int64_t k, std::int64_t columns, T* y) const {
    const T low = below_[size(k)];
    if (low == T(0)) {
      for (std::int64_t j = 0; j < columns; ++j) y[j] /= diagonal_[size(k)];
      return;
    }
    const T high = conjugate(low);
    const T a = diagonal_[size(k)] / high, c = diagonal_[size(k + 1)] / low, det = a * c - T(1);
    for (std::int64_t j = 0; j < columns; ++j) {
      const T b1 = y[j] / high, b2 = y[columns + j] / low;
      y[j] = (c * b1 - b2) / det;
      y[columns + j] = (a * b2 - b1) / det;
    }
  }

  std::int64_t n_;
  std::vector<T> l_, diagonal_, below_;
  std::vector<std::int64_t> rows_;
  int info_;
};

}  // namespace wp::linalg
