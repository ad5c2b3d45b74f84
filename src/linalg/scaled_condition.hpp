// How near a matrix is to a lower rank, apart from units.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/condition.hpp"
#include "linalg/spectral.hpp"

namespace wp::linalg {

// σ_k/σ₁ after scaling what does not change least-squares solutions: columns of a tall matrix, rows of a wide one,
// both of a square one, by powers of two.
template <class T>
double scaled_rcond(std::int64_t m, std::int64_t n, kernels::View<T> a, std::int64_t k) {
  std::vector<int> rows(static_cast<std::size_t>(m), 0), columns(static_cast<std::size_t>(n), 0);
  if (m == n) {
    const kernels::Equilibration by = kernels::equilibrate<T>(m, n, a);
    rows = by.rows;
    columns = by.columns;
  } else {
    std::vector<int>& lines = m > n ? columns : rows;
    for (std::size_t l = 0; l < lines.size(); ++l) {
      const auto at = static_cast<std::int64_t>(l);
      const kernels::View<T> line = m > n ? kernels::View<T>{a.data + at * a.columns, a.rows, a.columns}
                                          : kernels::View<T>{a.data + at * a.rows, a.rows, a.columns};
      const double most = kernels::norms<T>(m > n ? m : 1, m > n ? 1 : n, line).largest;
      if (most > 0) lines[l] = -std::ilogb(most);
    }
  }
  std::vector<T> scaled(static_cast<std::size_t>(m * n));
  kernels::scale<T, T>(m, n, a, rows.data(), columns.data(), scaled.data());
  const Spectral<T> svd(m, n, {scaled.data(), n, 1}, Parts::values);
  return svd.converged() ? svd.rcond(k) : Member::unknown;
}
// σ_k/σ₁ as it is, `rcond`, but apart from units where it is small.
template <class T>
double scaled_rcond_of(std::int64_t m, std::int64_t n, kernels::View<T> a, std::int64_t k, double rcond) {
  return k > 0 && rcond < 0x1p-12 ? std::max(rcond, scaled_rcond<T>(m, n, a, k)) : rcond;
}
// σ_k/σ₁ of full rank, `rcond`, but with lines of one size where they are far apart.
template <class T>
double balanced_rcond(std::int64_t m, std::int64_t n, kernels::View<T> a, double rcond) {
  if (std::min(m, n) == 0) return rcond;
  const Balanced<T> again(m, n, a);
  return again.svd && again.svd->converged() ? again.svd->rcond(std::min(m, n)) : rcond;
}

}  // namespace wp::linalg
