// Arithmetic of vectors. Sums are cut by length only, so that results do not depend on threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "linalg/refine.hpp"

namespace wp::linalg {

template <class T>
using Vector = std::vector<T>;

// Σ conj(xᵢ) yᵢ, added in double, in eight interleaved sums.
template <class T>
Sum<T> dot(const Vector<T>& x, const Vector<T>& y) {
  constexpr std::size_t lanes = 8;
  Sum<T> sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= x.size(); i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += Sum<T>(conjugate(x[i + k])) * Sum<T>(y[i + k]);
  for (; i < x.size(); ++i) sums[0] += Sum<T>(conjugate(x[i])) * Sum<T>(y[i]);
  Sum<T> total = 0;
  for (const Sum<T>& s : sums) total += s;
  return total;
}
// Without overflow or underflow on the way.
template <class T>
double norm(const Vector<T>& x) {
  const double square = std::real(dot(x, x));
  if (square > 1e-250 && square < 1e250) return std::sqrt(square);
  double largest = 0;
  for (const T v : x) {
    if (v != v) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, size_of_number(v));
  }
  if (largest == 0 || std::isinf(largest)) return largest;
  const int e = std::ilogb(largest);
  double sum = 0;
  for (const T v : x) {
    const std::complex<double> w(v);
    sum += std::norm(std::complex<double>(std::ldexp(w.real(), -e), std::ldexp(w.imag(), -e)));
  }
  return std::ldexp(std::sqrt(sum), e);
}
// y += a x
template <class T>
void add(Vector<T>& y, Sum<T> a, const Vector<T>& x) {
  const T f = static_cast<T>(a);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += f * x[i];
}
template <class T>
void multiply(Vector<T>& x, double a) {
  const auto f = static_cast<typename kernels::RealOf<T>::type>(a);
  for (T& v : x) v *= f;
}

// Orthonormal vectors.
template <class T>
class Basis {
 public:
  std::size_t size() const { return vectors_.size(); }
  const Vector<T>& operator[](std::size_t i) const { return vectors_[i]; }

  // Takes from x what lies along the basis, which is written to `parts`, and adds the rest, of length 1, as one
  // vector more. Returns the length of that rest; 0: it is rounding of x, and nothing was added.
  double add_rest(Vector<T> x, std::vector<Sum<T>>& parts) {
    const double before = norm(x);
    parts.assign(size(), Sum<T>(0));
    for (int pass = 0; pass < 2; ++pass)  // twice is enough (Giraud, Langou & Rozložník 2005)
      for (std::size_t i = 0; i < size(); ++i) {
        const Sum<T> h = dot(vectors_[i], x);
        add<T>(x, -h, vectors_[i]);
        parts[i] += h;
      }
    const double length = norm(x);
    if (!(length > 4 * kUnit<T> * before)) return 0;
    add_multiple(std::move(x), 1 / length);
    return length;
  }
  void add_multiple(Vector<T> x, double factor) {
    multiply(x, factor);
    vectors_.push_back(std::move(x));
  }

 private:
  std::vector<Vector<T>> vectors_;
};

// k orthonormal vectors that span what the given ones do: Gram–Schmidt, the largest first, each twice.
template <class T>
std::vector<Vector<T>> orthonormal(std::vector<Vector<T>> from, std::size_t k) {
  std::vector<Vector<T>> q;
  while (q.size() < k && !from.empty()) {
    const auto at = std::max_element(from.begin(), from.end(),
                                     [](const Vector<T>& x, const Vector<T>& y) { return norm(x) < norm(y); });
    Vector<T> next = std::move(*at);
    from.erase(at);
    for (const Vector<T>& p : q) add(next, -dot(p, next), p);
    multiply(next, 1 / norm(next));
    for (Vector<T>& rest : from) add(rest, -dot(next, rest), next);
    q.push_back(std::move(next));
  }
  return q;
}

}  // namespace wp::linalg
