// One matrix with its eigenvalues as LAPACK takes it, whatever the range of its elements.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "linalg/prescaled.hpp"

namespace wp::linalg {

// 2^exponent · D⁻¹ A D, D = diag(2^scale), column-major. D is 1 (no scale) unless elements would be lost beside the
// largest: then rows and columns are brought together (Osborne 1960, with largest elements for norms). `exact`: none
// was lost even so.
template <class T>
struct Similar : Prescaled<T> {
  std::vector<int> scale;

  Similar(std::int64_t n, kernels::View<T> a) : Prescaled<T>(n, n, a, kSquaredCeiling<T>) {
    if (this->finite && !this->exact) balance(n, a);
  }
  // Columns of D·V, or of D⁻¹·V for vectors from the left, of length 1 again.
  void restore(std::int64_t n, std::complex<typename kernels::RealOf<T>::type>* v, bool left) const {
    for (std::int64_t j = 0; j < n && !scale.empty(); ++j) {
      auto* const x = v + j * n;
      const auto by = [&](std::int64_t i) {
        return left ? -scale[static_cast<std::size_t>(i)] : scale[static_cast<std::size_t>(i)];
      };
      int most = kernels::kNoExponent;
      for (std::int64_t i = 0; i < n; ++i)
        if (const double size = size_of_number(x[i]); size > 0) most = std::max(most, std::ilogb(size) + by(i));
      if (most == kernels::kNoExponent) continue;
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        x[i] = times_power(x[i], by(i) - most);
        sum += static_cast<double>(std::norm(x[i]));
      }
      for (std::int64_t i = 0; i < n; ++i) x[i] /= static_cast<typename kernels::RealOf<T>::type>(std::sqrt(sum));
    }
  }
  double spread() const {
    if (scale.empty()) return 1;
    const auto [low, high] = std::minmax_element(scale.begin(), scale.end());
    return std::ldexp(1.0, *high - *low);
  }

 private:
  void balance(std::int64_t n, kernels::View<T> a) {
    constexpr int kSweeps = 64;
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    std::vector<int> e(at(n * n)), d(at(n), 0);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double size = size_of_number(a.data[i * a.rows + j * a.columns]);
        e[at(i * n + j)] = size > 0 ? std::ilogb(size) + 1 : kernels::kNoExponent;
      }
    const auto there = [&](std::int64_t i, std::int64_t j) {
      const int own = e[at(i * n + j)];
      return own == kernels::kNoExponent ? own : own + d[at(j)] - d[at(i)];
    };
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool moved = false;
      for (std::int64_t i = 0; i < n; ++i) {
        int row = kernels::kNoExponent, column = kernels::kNoExponent;
        for (std::int64_t j = 0; j < n; ++j)
          if (j != i) row = std::max(row, there(i, j)), column = std::max(column, there(j, i));
        if (row == kernels::kNoExponent || column == kernels::kNoExponent) continue;
        const int by = (row - column) / 2;
        d[at(i)] += by;
        moved = moved || by != 0;
      }
      if (!moved) break;
    }
    int most = kernels::kNoExponent, least = -kernels::kNoExponent;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (const int own = there(i, j); own != kernels::kNoExponent)
          most = std::max(most, own), least = std::min(least, own);
    using R = typename kernels::RealOf<T>::type;
    this->exponent = std::clamp(kernels::kRoom<R> - (least - most), 0, kSquaredCeiling<T>) - most;
    std::vector<int> rows, columns;  // of Aᵀ, which is given row-major
    for (const int own : d) rows.push_back(own + this->exponent), columns.push_back(-own);
    this->exact = kernels::scale<T, T>(n, n, a.transposed(), rows.data(), columns.data(), this->data.data());
    scale = std::move(d);
  }
};

}  // namespace wp::linalg
