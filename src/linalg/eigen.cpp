#include "linalg/eigen.hpp"

#include <algorithm>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/exponents.hpp"
#include "kernels/lapack.hpp"
#include "kernels/numbers.hpp"
#include "linalg/interpret.hpp"
#include "linalg/jacobi.hpp"
#include "linalg/prescaled.hpp"

namespace wp::linalg {
namespace {

// Jacobi's methods take 5 to 15 times as long: larger matrices have them only when asked for high accuracy.
constexpr std::int64_t kUnasked = 512;

// Without such a spread of its rows' largest elements no matrix is graded; the largest of all is near 2^top.
template <class T>
bool may_be_graded(std::int64_t n, const T* h, int top) {
  double least = n <= kUnasked ? HUGE_VAL : 0;
  for (std::int64_t i = 0; i < n && least > 0; ++i) {
    double most = 0;
    for (std::int64_t j = 0; j < n; ++j) most = std::max(most, size_of_number(h[i * n + j]));
    least = std::min(least, most);
  }
  return least > 0 && least < std::ldexp(0x1p-5, top);
}

// H, whose largest element is near 2^top. LAPACK would scale what is large itself, and round.
template <class T>
int tridiagonalise(std::int64_t n, const T* h, int top, typename Hermitian<T>::Real* w, T* v) {
  std::vector<T> near_one(static_cast<std::size_t>(top > kSquaredCeiling<T> ? n * n : 0));
  if (!near_one.empty()) {
    const std::vector<int> rows(static_cast<std::size_t>(n), -top), columns(static_cast<std::size_t>(n), 0);
    kernels::scale<T, T>(n, n, {h, n, 1}, rows.data(), columns.data(), near_one.data());
    h = near_one.data();
  }
  // Row-major memory is the conjugate matrix to LAPACK: its vectors are the conjugate ones, one per row.
  std::vector<T> z(static_cast<std::size_t>(v ? n * n : 0));
  if (const int info = lapack::eigh<T>(lapack::Triangle::lower, n, h, n, w, v ? z.data() : nullptr, n)) return info;
  for (std::int64_t i = 0; i < n && !near_one.empty(); ++i) w[i] = std::ldexp(w[i], top);
  for (std::int64_t i = 0; i < n && v; ++i)
    for (std::int64_t j = 0; j < n; ++j) v[i * n + j] = conjugate(z[static_cast<std::size_t>(j * n + i)]);
  return 0;
}

}  // namespace

template <class T>
EigenResult hermitian_eigen(std::int64_t n, Hermitian<T>& h, bool high, typename Hermitian<T>::Real* w, T* v) {
  using R = typename Hermitian<T>::Real;
  if (!h.finite) return {Status::nonfinite_input, {}};
  if (n == 0) return {};
  T* const a = h.matrix.data();
  const int most = kernels::reach<T>(n, n, {a, n, 1}).most,
            e = kernels::placing_exponent<T>(n, n, {a, n, 1}, kCeiling<T>);
  const int top = most == kernels::kNoExponent ? 0 : most + e;
  const std::vector<int> rows(static_cast<std::size_t>(n), e), columns(static_cast<std::size_t>(n), 0);
  kernels::scale<T, T>(n, n, {a, n, 1}, rows.data(), columns.data(), a);
  Jacobi jacobi;
  if (n == 2) {
    jacobi = jacobi_pair<T>(a, w, v);
  } else if (high || may_be_graded<T>(n, a, top)) {
    jacobi = jacobi_definite<T>(n, a, high, w, v);
    if (!jacobi.done) jacobi = jacobi_indefinite<T>(n, a, high, w, v);
  }
  int info = 0;
  if (!jacobi.done) {
    info = tridiagonalise<T>(n, a, top, w, v);
    if (info == 0) jacobi = {true, HUGE_VAL};
  }
  if (!jacobi.done && info > 0) jacobi = jacobi_indefinite<T>(n, a, true, w, v);
  if (!jacobi.done) return {Status::not_converged, {}, info};
  EigenResult result;
  const double largest = std::max(std::fabs(w[0]), std::fabs(w[n - 1]));
  double least = largest;
  for (std::int64_t i = 0; i < n; ++i) least = std::min(least, static_cast<double>(std::fabs(w[i])));
  const double u = std::numeric_limits<R>::epsilon() / 2;
  const double steps = std::isinf(jacobi.relative) ? 1 : 2;  // Jacobi's methods take more of them
  result.bounds.absolute = std::ldexp(steps * growth_of_errors(n) * u * largest, -e);
  // Numbers that fall below the range, of H as it is scaled or on the way, move values by as much as they are (Weyl).
  const double size = static_cast<double>(n),
               below = 16 * size * size * static_cast<double>(std::numeric_limits<R>::denorm_min());
  const double relative = jacobi.relative + below / least;
  // A value that is held as 0 is only known to be below the range if it was known before.
  if (least > 0 && (relative < 0.5 || std::ldexp(least, -e) > 0)) result.bounds.relative = relative;
  for (std::int64_t i = 0; i < n; ++i) w[i] = std::ldexp(w[i], -e);
  return result;
}

void EigenResult::judge(std::int64_t n, Verdict& v) const {
  v.status = status;
  if (status != Status::not_converged) return;
  interpret(Routine::eigh, info, n, n, v);
  v.reason += " Jacobi rotations did not find them either.";
}

#define WP_INSTANTIATE(T) \
  template EigenResult hermitian_eigen<T>(std::int64_t, Hermitian<T>&, bool, typename Hermitian<T>::Real*, T*);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
