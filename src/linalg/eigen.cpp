#include "linalg/eigen.hpp"

#include <algorithm>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/lapack.hpp"
#include "kernels/numbers.hpp"
#include "linalg/jacobi.hpp"

namespace wp::linalg {
namespace {

// Jacobi's methods take 5 to 15 times as long: larger matrices have them only when asked for high accuracy.
constexpr std::int64_t kUnasked = 512;

// Without such a spread of its rows' largest elements no matrix is graded.
template <class T>
bool may_be_graded(std::int64_t n, const T* h) {
  double least = n <= kUnasked ? HUGE_VAL : 0;
  for (std::int64_t i = 0; i < n && least > 0; ++i) {
    double most = 0;
    for (std::int64_t j = 0; j < n; ++j)
      most = std::max({most, std::fabs(static_cast<double>(std::real(h[i * n + j]))),
                       std::fabs(static_cast<double>(std::imag(h[i * n + j])))});
    least = std::min(least, most);
  }
  return least > 0 && least < 0x1p-5;
}

template <class T>
bool tridiagonalise(std::int64_t n, const T* h, typename Hermitian<T>::Real* w, T* v) {
  // Row-major memory is the conjugate matrix to LAPACK: its vectors are the conjugate ones, one per row.
  std::vector<T> z(static_cast<std::size_t>(v ? n * n : 0));
  if (lapack::eigh<T>(lapack::Triangle::lower, n, h, n, w, v ? z.data() : nullptr, n) != 0) return false;
  for (std::int64_t i = 0; i < n && v; ++i)
    for (std::int64_t j = 0; j < n; ++j) v[i * n + j] = conjugate(z[static_cast<std::size_t>(j * n + i)]);
  return true;
}

}  // namespace

template <class T>
EigenResult hermitian_eigen(std::int64_t n, Hermitian<T>& h, bool high, typename Hermitian<T>::Real* w, T* v) {
  using R = typename Hermitian<T>::Real;
  if (!h.finite) return {Status::nonfinite_input, {}};
  if (n == 0) return {};
  T* const a = h.matrix.data();
  const int e = kernels::prescale_exponent<T>(n, n, {a, n, 1});
  const std::vector<int> rows(static_cast<std::size_t>(n), e), columns(static_cast<std::size_t>(n), 0);
  kernels::scale<T, T>(n, n, {a, n, 1}, rows.data(), columns.data(), a);
  Jacobi jacobi;
  if (n == 2) {
    jacobi = jacobi_pair<T>(a, w, v);
  } else if (high || may_be_graded<T>(n, a)) {
    jacobi = jacobi_definite<T>(n, a, high, w, v);
    if (!jacobi.done) jacobi = jacobi_indefinite<T>(n, a, high, w, v);
  }
  if (!jacobi.done && tridiagonalise<T>(n, a, w, v)) jacobi = {true, HUGE_VAL};
  if (!jacobi.done) jacobi = jacobi_indefinite<T>(n, a, true, w, v);
  if (!jacobi.done) return {Status::not_converged, {}};
  EigenResult result;
  const double largest = std::max(std::fabs(w[0]), std::fabs(w[n - 1]));
  double least = largest;
  for (std::int64_t i = 0; i < n; ++i) least = std::min(least, static_cast<double>(std::fabs(w[i])));
  const double u = std::numeric_limits<R>::epsilon() / 2;
  const double steps = std::isinf(jacobi.relative) ? 1 : 2;  // Jacobi's methods take more of them
  result.bounds.absolute = std::ldexp(steps * growth_of_errors(n) * u * largest, -e);
  // Values among the denormals have lost digits.
  if (least * u > std::numeric_limits<R>::min()) result.bounds.relative = jacobi.relative;
  for (std::int64_t i = 0; i < n; ++i) w[i] = std::ldexp(w[i], -e);
  return result;
}

#define WP_INSTANTIATE(T) \
  template EigenResult hermitian_eigen<T>(std::int64_t, Hermitian<T>&, bool, typename Hermitian<T>::Real*, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
