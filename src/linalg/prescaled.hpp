// One matrix as LAPACK takes it.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/condition.hpp"
#include "kernels/exponents.hpp"
#include "kernels/numbers.hpp"

namespace wp::linalg {

// Ceilings: how far up LAPACK's routines take a matrix without scaling it themselves, which rounds and loses small
// elements, where they compare with squares (eigenvalues); and where nothing is squared, with room for growth.
template <class T>
inline constexpr int kSquaredCeiling = std::numeric_limits<typename kernels::RealOf<T>::type>::max_exponent / 2 -
                                       std::numeric_limits<typename kernels::RealOf<T>::type>::digits - 9;
template <class T>
inline constexpr int kCeiling = std::numeric_limits<typename kernels::RealOf<T>::type>::max_exponent - 34;

// Column-major, times 2^exponent: its largest element is in [1/2, 1), or, where small ones would be lost beside it,
// so far up to 2^ceiling as they need. `exact`: none was lost.
template <class T>
struct Prescaled {
  kernels::Buffer<T> data;
  int exponent = 0;
  bool finite, exact = true;

  Prescaled(std::int64_t m, std::int64_t n, kernels::View<T> a, int ceiling)
      : data(std::max<std::int64_t>(m * n, 1)), finite(kernels::all_finite<T>(m, n, a)) {
    if (!finite) return;
    exponent = kernels::placing_exponent<T>(m, n, a, ceiling);
    const std::vector<int> rows(static_cast<std::size_t>(n), exponent), columns(static_cast<std::size_t>(m), 0);
    exact = kernels::scale<T, T>(n, m, a.transposed(), rows.data(), columns.data(), data.data());
  }
};

// A·diag(2^columns), row-major or column-major. LU with partial pivoting and QR of it are those of A, but for the
// columns of the triangular factor. All columns have the same exponent, which brings the largest element to [1/2, 1),
// unless small ones would be lost beside it: then each has its own.
template <class T>
struct EvenColumns {
  kernels::Buffer<T> data;
  std::vector<int> columns;
  kernels::Reach reach;
  bool finite;

  EvenColumns(std::int64_t m, std::int64_t n, kernels::View<T> a, bool row_major)
      : data(std::max<std::int64_t>(m * n, 1)),
        columns(static_cast<std::size_t>(n), 0),
        finite(kernels::all_finite<T>(m, n, a)) {
    if (!finite) return;
    const std::vector<int> rows(static_cast<std::size_t>(m), 0);
    reach = kernels::reach<T>(m, n, a);
    if (reach.most == kernels::kNoExponent) {
      // all zeros
    } else if (reach.least - reach.most >= kernels::kRoom<typename kernels::RealOf<T>::type>) {
      std::fill(columns.begin(), columns.end(), -reach.most);
    } else {
      const std::vector<int> top = kernels::largest_exponents<T>(m, n, a, rows, columns).columns;
      std::transform(top.begin(), top.end(), columns.begin(),
                     [](int e) { return e == kernels::kNoExponent ? 0 : -e; });
    }
    if (row_major)
      kernels::scale<T, T>(m, n, a, rows.data(), columns.data(), data.data());
    else
      kernels::scale<T, T>(n, m, a.transposed(), columns.data(), rows.data(), data.data());
  }
};

// A row-major m × n matrix from a column-major one, times 2^e.
template <class T>
void put_rows(std::int64_t m, std::int64_t n, const T* columns, std::int64_t ld, int e, T* to) {
  const std::vector<int> all(static_cast<std::size_t>(m), e), none(static_cast<std::size_t>(n), 0);
  kernels::scale<T, T>(m, n, {columns, 1, ld}, all.data(), none.data(), to);
}

template <class T>
void fill_nan(T* to, std::int64_t count) {
  std::fill_n(to, count, T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
}

}  // namespace wp::linalg
