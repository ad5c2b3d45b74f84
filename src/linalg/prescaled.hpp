// One matrix as LAPACK takes it.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/condition.hpp"
#include "kernels/numbers.hpp"

namespace wp::linalg {

// Column-major, times 2^exponent, which is exact, so that its largest element is in [1/2, 1).
template <class T>
struct Prescaled {
  kernels::Buffer<T> data;
  int exponent = 0;
  bool finite;

  Prescaled(std::int64_t m, std::int64_t n, kernels::View<T> a)
      : data(std::max<std::int64_t>(m * n, 1)), finite(kernels::all_finite<T>(m, n, a)) {
    if (!finite) return;
    exponent = kernels::prescale_exponent<T>(m, n, a);
    const std::vector<int> rows(static_cast<std::size_t>(n), exponent), columns(static_cast<std::size_t>(m), 0);
    kernels::scale<T, T>(n, m, a.transposed(), rows.data(), columns.data(), data.data());
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
