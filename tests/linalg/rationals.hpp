// Exact rational matrices (FLINT), made of floats.
#pragma once
#include <flint/fmpq.h>
#include <flint/fmpq_mat.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace rationals {

template <class T>
inline constexpr int parts = std::is_floating_point_v<T> ? 1 : 2;

template <class T>
T number(double re, double im) {
  if constexpr (parts<T> == 1)
    return static_cast<T>(re);
  else
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
}

class Rational {
 public:
  Rational() { fmpq_init(q_); }
  explicit Rational(double v) : Rational() {
    int exponent = 0;
    const double m = std::frexp(v, &exponent);
    fmpq_set_si(q_, static_cast<slong>(std::ldexp(m, 53)), 1);
    shift(exponent - 53);
  }
  Rational(const Rational& other) : Rational() { fmpq_set(q_, other.q_); }
  Rational& operator=(const Rational& other) {
    fmpq_set(q_, other.q_);
    return *this;
  }
  ~Rational() { fmpq_clear(q_); }

  Rational& shift(int exponent) {
    if (exponent >= 0)
      fmpq_mul_2exp(q_, q_, static_cast<ulong>(exponent));
    else
      fmpq_div_2exp(q_, q_, static_cast<ulong>(-exponent));
    return *this;
  }
  Rational& operator+=(const Rational& b) { return fmpq_add(q_, q_, b.q_), *this; }
  Rational& operator-=(const Rational& b) { return fmpq_sub(q_, q_, b.q_), *this; }
  Rational& operator*=(const Rational& b) { return fmpq_mul(q_, q_, b.q_), *this; }
  Rational& operator/=(const Rational& b) { return fmpq_div(q_, q_, b.q_), *this; }
  friend Rational operator+(Rational a, const Rational& b) { return a += b; }
  friend Rational operator-(Rational a, const Rational& b) { return a -= b; }
  friend Rational operator*(Rational a, const Rational& b) { return a *= b; }
  friend Rational operator/(Rational a, const Rational& b) { return a /= b; }
  friend bool operator==(const Rational& a, const Rational& b) { return fmpq_equal(a.q_, b.q_) != 0; }
  friend bool operator<=(const Rational& a, const Rational& b) { return fmpq_cmp(a.q_, b.q_) <= 0; }
  friend bool operator<(const Rational& a, const Rational& b) { return fmpq_cmp(a.q_, b.q_) < 0; }
  Rational size() const {
    Rational a;
    fmpq_abs(a.q_, q_);
    return a;
  }
  // Within 2⁻⁵⁰ of it, relatively, where it is a normal number.
  double value() const {
    if (fmpz_is_zero(fmpq_numref(q_))) return 0;
    slong top = 0, bottom = 0;
    const double m = fmpz_get_d_2exp(&top, fmpq_numref(q_)) / fmpz_get_d_2exp(&bottom, fmpq_denref(q_));
    return std::ldexp(m, static_cast<int>(top - bottom));
  }
  fmpq* raw() { return q_; }
  const fmpq* raw() const { return q_; }

 private:
  fmpq_t q_;
};

class Matrix {
 public:
  Matrix(std::int64_t m, std::int64_t n) { fmpq_mat_init(a_, m, n); }
  ~Matrix() { fmpq_mat_clear(a_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  void set(std::int64_t i, std::int64_t j, double v) { fmpq_set(fmpq_mat_entry(a_, i, j), Rational(v).raw()); }
  void set(std::int64_t i, std::int64_t j, const Rational& v) { fmpq_set(fmpq_mat_entry(a_, i, j), v.raw()); }
  Rational get(std::int64_t i, std::int64_t j) const {
    Rational v;
    fmpq_set(v.raw(), fmpq_mat_entry(a_, i, j));
    return v;
  }
  std::int64_t rank() const {
    Matrix reduced(fmpq_mat_nrows(a_), fmpq_mat_ncols(a_));
    return fmpq_mat_rref(reduced.a_, a_);
  }
  // this = A⁻¹·B; false if A is singular.
  bool solve(const Matrix& a, const Matrix& b) { return fmpq_mat_solve(a_, a.a_, b.a_) != 0; }
  const fmpq_mat_struct* raw() const { return a_; }

 private:
  fmpq_mat_t a_;
};

// Complex matrices as [[re, −im], [im, re]]: of twice the rank.
template <class T>
void fill(Matrix& to, std::int64_t m, std::int64_t n, const T* a, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = a[i * rows + j * columns];
      if constexpr (parts<T> == 1) {
        to.set(i, j, static_cast<double>(v));
      } else {
        const double re = static_cast<double>(v.real()), im = static_cast<double>(v.imag());
        to.set(i, j, re);
        to.set(m + i, n + j, re);
        to.set(m + i, j, im);
        to.set(i, n + j, -im);
      }
    }
}
template <class T>
std::int64_t rank(std::int64_t m, std::int64_t n, const T* a, std::int64_t rows, std::int64_t columns) {
  Matrix exact(parts<T> * m, parts<T> * n);
  fill(exact, m, n, a, rows, columns);
  return exact.rank() / parts<T>;
}

// How many eigenvalues of the symmetric A are below x: the negative pivots of A − x·1 (Sylvester). None may be zero.
inline std::int64_t below(std::vector<Rational> a, std::int64_t n, const Rational& x) {
  const auto at = [&](std::int64_t i, std::int64_t j) -> Rational& { return a[static_cast<std::size_t>(i * n + j)]; };
  for (std::int64_t i = 0; i < n; ++i) at(i, i) -= x;
  std::int64_t count = 0;
  const Rational zero;
  for (std::int64_t k = 0; k < n; ++k) {
    if (at(k, k) == zero) return -1;
    count += at(k, k) < zero;
    for (std::int64_t i = k + 1; i < n; ++i) {
      const Rational f = at(i, k) / at(k, k);
      for (std::int64_t j = k + 1; j < n; ++j) at(i, j) -= f * at(k, j);
    }
  }
  return count;
}

}  // namespace rationals
