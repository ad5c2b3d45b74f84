#include "dist/errors.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dist/scalapack.hpp"
#include "dist/team.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "linalg/augmented.hpp"
#include "linalg/bounds.hpp"
#include "linalg/judgement.hpp"
#include "linalg/movement.hpp"

namespace wp::dist {
namespace {

using linalg::Extent;

// Of every column, on all ranks; infinite where one is not finite.
template <class T>
std::vector<Extent> extents_of(const Matrix& x) {
  const auto k = static_cast<std::size_t>(x.columns());
  std::vector<double> most(k, 0), squares(k, 0);
  const Local<T> own = local<T>(x);
  own.each([&](std::int64_t, std::int64_t j, const T& v) {
    double& top = most[static_cast<std::size_t>(j)];
    top = std::max(top, is_finite(v) ? size_of_number(v) : HUGE_VAL);
  });
  all_reduce(most.data(), x.columns(), MPI_MAX);
  const auto exponent = [&](std::size_t j) {
    return most[j] > 0 && std::isfinite(most[j]) ? std::ilogb(most[j]) : 0;
  };
  own.each([&](std::int64_t, std::int64_t j, const T& v) {
    const auto column = static_cast<std::size_t>(j);
    squares[column] += std::norm(times_power(complex128(v), -exponent(column)));
  });
  all_sum(squares.data(), x.columns());
  std::vector<Extent> out;
  for (std::size_t j = 0; j < k; ++j)
    out.push_back({std::ldexp(std::sqrt(static_cast<linalg::Long>(squares[j])), exponent(j)), most[j]});
  return out;
}

// The columns of an answer, of B, and of what is left of it.
struct Columns {
  std::vector<Extent> answer, left, right;
};
template <class T>
Columns columns_of(const Matrix& a, const Matrix* b, const Matrix& x) {
  Columns out;
  Matrix r;
  if (b) {
    r = copy_of(*b);
  } else {
    r = make_matrix(a.rows(), a.rows(), a.dtype(), a.layout());
    local<T>(r).each([](std::int64_t i, std::int64_t j, T& v) { v = T(i == j ? 1 : 0); });
  }
  out.right = extents_of<T>(r);
  out.answer = extents_of<T>(x);
  if (a.columns() > 0 && a.rows() > 0 && r.columns() > 0)
    scalapack::gemm<T>(false, false, T(-1), local<T>(a), local<T>(x), T(1), local<T>(r));
  out.left = extents_of<T>(r);
  return out;
}

std::int64_t longest(const Matrix& a) {
  return std::max(a.rows(), a.columns());
}

}  // namespace

template <class T>
double truncated_error(const Matrix& a, const Spectral<T>& svd, std::int64_t kept, const Matrix* b, const Matrix& x) {
  constexpr double u = linalg::kUnit<T>;
  if (kept == 0) return u;
  const double backward = linalg::growth_of_errors(longest(a)) * u,
               rcond = svd.sigma()[static_cast<std::size_t>(kept - 1)] / svd.largest();
  const Columns c = columns_of<T>(a, b, x);
  double worst = u;
  for (std::size_t j = 0; j < c.answer.size(); ++j)
    worst = std::max(worst, linalg::wedin(backward, rcond, svd.largest(), static_cast<double>(c.answer[j].largest),
                                          static_cast<double>(c.left[j].largest)));
  return worst;
}

template <class T>
double ridge_error(const Matrix& a, const Spectral<T>& svd, double ridge, const Matrix* b, const Matrix& x) {
  constexpr double u = linalg::kUnit<T>;
  if (svd.largest() == 0) return u;
  const linalg::Movement moves(svd.sigma(), svd.sigma().size(), ridge, a.columns() > a.rows(), false);
  const double backward = linalg::backward_error_of_values(longest(a), u);
  const Columns c = columns_of<T>(a, b, x);
  linalg::Long worst = u;
  for (std::size_t j = 0; j < c.answer.size(); ++j) {
    if (c.right[j].largest == 0) continue;
    const linalg::Long off = moves(backward, u, c.answer[j], c.left[j], c.right[j]);
    worst = std::max(worst, linalg::relative_to_largest(off, c.answer[j]));
  }
  return static_cast<double>(worst < 1 ? worst : linalg::Long(1));
}

#define WP_INSTANTIATE(T)                                                                                         \
  template double truncated_error(const Matrix&, const Spectral<T>&, std::int64_t, const Matrix*, const Matrix&); \
  template double ridge_error(const Matrix&, const Spectral<T>&, double, const Matrix*, const Matrix&);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist
