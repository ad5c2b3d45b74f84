// Row-major matrices as values, for functions of matrices. T: float, double, complex64, complex128.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/numbers.hpp"
#include "wellposed/dtype.hpp"

namespace wp::linalg {

struct Verdict;

// By the formula: no calls for infinities.
template <class T>
T times(T a, T b) {
  if constexpr (kernels::RealOf<T>::parts == 2)
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  else
    return a * b;
}
template <class T>
struct Dense {
  using Real = typename kernels::RealOf<T>::type;
  static constexpr double u = std::numeric_limits<Real>::epsilon() / 2;
  std::int64_t m = 0, n = 0;
  std::vector<T> data;

  Dense() = default;
  Dense(std::int64_t rows, std::int64_t columns) : m(rows), n(columns), data(static_cast<std::size_t>(m * n)) {}
  Dense(std::int64_t rows, std::int64_t columns, kernels::View<T> a) : Dense(rows, columns) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const T v = a.data[i * a.rows + j * a.columns];
        (*this)(i, j) = a.conjugate ? conjugate(v) : v;
      }
  }
  static Dense identity(std::int64_t n) {
    Dense out(n, n);
    for (std::int64_t i = 0; i < n; ++i) out(i, i) = T(1);
    return out;
  }
  T& operator()(std::int64_t i, std::int64_t j) { return data[static_cast<std::size_t>(i * n + j)]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * n + j)]; }
  T* row(std::int64_t i) { return data.data() + i * n; }
  const T* row(std::int64_t i) const { return data.data() + i * n; }
  kernels::View<T> view() const { return {data.data(), n, 1}; }
  kernels::MutableView<T> view() { return {data.data(), n, 1}; }

  Dense adjoint() const { return Dense(n, m, view().transposed().conjugated()); }
  Dense transposed() const { return Dense(n, m, view().transposed()); }
  void shift(int e) {
    if (e != 0)
      for (T& v : data) v = times_power(v, e);
  }
  Dense& operator+=(const Dense& b) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] += b.data[i];
    return *this;
  }
  Dense& operator-=(const Dense& b) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] -= b.data[i];
    return *this;
  }
  Dense& operator*=(Real factor) {
    for (T& v : data) v *= factor;
    return *this;
  }
  // += factor · b.
  void add(Real factor, const Dense& b) {
    for (std::size_t i = 0; i < data.size(); ++i) data[i] += factor * b.data[i];
  }

  double norm1() const;      // the largest column sum
  double frobenius() const;  // both without overflow on the way
  double largest() const;    // element, by parts
  bool hermitian() const;    // exactly
  bool upper() const;        // zeros below the diagonal
  bool finite() const;
};

template <class T>
Dense<T> operator*(const Dense<T>& a, const Dense<T>& b);

// e such that a · 2^e has its largest element in [1/2, 1); even, if asked for, and then in [1/4, 1).
template <class T>
int scaling_exponent(const Dense<T>& a, bool even = false);

// X ← A⁻¹ X by LU with partial pivoting; false if a pivot is 0.
template <class T>
bool solve_in_place(Dense<T> a, Dense<T>& x);

// A = Z diag(w) Zᴴ of a Hermitian A, w rising; false if it does not converge. Scaled by a power of two before.
template <class T>
bool eigen(const Dense<T>& a, std::vector<typename Dense<T>::Real>& w, Dense<T>& z, Verdict* v = nullptr);
// Z diag(f) Zᴴ, exactly Hermitian for real f.
template <class T, class V>
Dense<T> recombined(const Dense<T>& z, const std::vector<V>& f) {
  Dense<T> scaled = z;
  for (std::int64_t i = 0; i < z.m; ++i)
    for (std::int64_t j = 0; j < z.n; ++j) scaled(i, j) = times(scaled(i, j), T(f[static_cast<std::size_t>(j)]));
  Dense<T> out = scaled * z.adjoint();
  if constexpr (std::is_same_v<V, typename Dense<T>::Real>)
    for (std::int64_t i = 0; i < z.m; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        out(j, i) = i == j ? T(std::real(out(i, i))) : conjugate(out(i, j));
      }
  return out;
}

}  // namespace wp::linalg
