#include "linalg/dense.hpp"

#include <algorithm>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "kernels/lu.hpp"
#include "linalg/interpret.hpp"

namespace wp::linalg {

template <class T>
double Dense<T>::norm1() const {
  return data.empty() ? 0 : kernels::norms<T>(m, n, view()).one;
}

template <class T>
double Dense<T>::frobenius() const {
  return data.empty() ? 0 : kernels::norms<T>(m, n, view()).frobenius;
}

template <class T>
double Dense<T>::largest() const {
  double most = 0;
  for (const T& v : data)
    for (const double part :
         {std::fabs(static_cast<double>(std::real(v))), std::fabs(static_cast<double>(std::imag(v)))})
      if (!(part <= most)) most = part;
  return most;
}

template <class T>
bool Dense<T>::hermitian() const {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      if ((*this)(i, j) != conjugate((*this)(j, i))) return false;
  return true;
}

template <class T>
bool Dense<T>::upper() const {
  for (std::int64_t i = 1; i < n; ++i)
    if (!std::all_of(row(i), row(i) + i, [](T v) { return v == T(0); })) return false;
  return true;
}

template <class T>
bool Dense<T>::finite() const {
  return std::all_of(data.begin(), data.end(), [](T v) { return is_finite(v); });
}

template <class T>
Dense<T> operator*(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> out(a.m, b.n);
  kernels::gemm<T>(a.m, b.n, a.n, a.view(), b.view(), out.view());
  return out;
}

template <class T>
int scaling_exponent(const Dense<T>& a, bool even) {
  int e = 0;
  std::frexp(a.largest(), &e);
  if (even && e % 2 != 0) ++e;
  return -e;
}

template <class T>
bool solve_in_place(Dense<T> a, Dense<T>& x) {
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(a.n));
  if (kernels::lu_factor<T>(a.n, a.n, a.data.data(), a.n, pivots.data()) >= 0) return false;
  kernels::lu_solve<T>(kernels::Form::plain, a.n, x.n, a.view(), pivots.data(), x.view());
  return true;
}

template <class T>
bool eigen(const Dense<T>& a, std::vector<typename Dense<T>::Real>& w, Dense<T>& z, Verdict* v) {
  w.resize(static_cast<std::size_t>(a.n));
  Dense<T> scaled = a, vectors(a.n, a.n);
  const int e = scaling_exponent(a);
  scaled.shift(e);
  // Row-major memory is the conjugate matrix to LAPACK: its vectors are the conjugate ones, one per row.
  const int info =
      lapack::eigh<T>(lapack::Triangle::lower, a.n, scaled.data.data(), a.n, w.data(), vectors.data.data(), a.n);
  if (info != 0) {
    Verdict nobody;
    interpret(Routine::eigh, info, a.n, a.n, v ? *v : nobody);
    return false;
  }
  for (auto& value : w) value = std::ldexp(value, -e);
  z = vectors.adjoint();
  return true;
}

#define WP_DENSE(T)                                              \
  template struct Dense<T>;                                      \
  template Dense<T> operator*(const Dense<T>&, const Dense<T>&); \
  template int scaling_exponent(const Dense<T>&, bool);          \
  template bool solve_in_place(Dense<T>, Dense<T>&);             \
  template bool eigen(const Dense<T>&, std::vector<Dense<T>::Real>&, Dense<T>&, Verdict*);
WP_FOR_FLOATS(WP_DENSE)
#undef WP_DENSE

}  // namespace wp::linalg
