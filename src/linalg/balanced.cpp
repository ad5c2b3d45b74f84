#include "linalg/balanced.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"
#include "linalg/judgement.hpp"

namespace wp::linalg {
namespace {

// 2^rows · B with each column brought near 1; by which power goes to `columns`.
template <class T>
std::vector<T> scaled_right(std::int64_t m, std::int64_t k, kernels::View<T> b, const std::vector<int>& rows,
                            std::vector<int>& columns) {
  columns.assign(static_cast<std::size_t>(k), 0);
  for (std::int64_t j = 0; j < k; ++j) {
    int most = std::numeric_limits<int>::min();
    for (std::int64_t i = 0; i < m; ++i)
      if (const double size = size_of_number(b.data[i * b.rows + j * b.columns]); size > 0)
        most = std::max(most, std::ilogb(size) + rows[static_cast<std::size_t>(i)]);
    if (most > std::numeric_limits<int>::min()) columns[static_cast<std::size_t>(j)] = -most;
  }
  std::vector<T> out(static_cast<std::size_t>(m * k));
  kernels::scale<T, T>(m, k, b, rows.data(), columns.data(), out.data());
  return out;
}

}  // namespace

template <class T>
std::optional<Minimised> balanced_least_squares(std::int64_t m, std::int64_t n, std::int64_t k,
                                                const Balanced<T>& again, Cutoff cutoff, kernels::View<T> b,
                                                kernels::MutableView<T> x) {
  constexpr int kFar = 500;  // between units: what is lost below the range of one may count in another
  if (!again.svd || !again.svd->converged() || (!again.exact && again.lines.spread() > kFar)) return {};
  const double least = cutoff.rtol * again.svd->largest();
  if (again.svd->rank(least) != std::min(m, n)) return {};
  std::vector<int> shifts;
  const std::vector<T> right = scaled_right<T>(m, k, b, again.lines.rows, shifts);
  const bool units =
      std::any_of(again.lines.columns.begin(), again.lines.columns.end(), [](int e) { return e != 0; });
  const Minimised found = least_squares<T>(m, n, k, {again.scaled.data(), n, 1}, *again.svd, least,
                                           {right.data(), std::max<std::int64_t>(k, 1), 1}, x,
                                           units ? again.lines.columns : std::vector<int>());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < k; ++j) {
      T& v = x.data[i * x.rows + j * x.columns];
      v = times_power(v, again.lines.columns[static_cast<std::size_t>(i)] - shifts[static_cast<std::size_t>(j)]);
    }
  return found;
}

template <class T>
bool rank_needs_accuracy(std::int64_t m, std::int64_t n, kernels::View<T> a, Cutoff cutoff) {
  constexpr int kApart = 26;
  const double rounding = static_cast<double>(std::max(m, n)) * kUnit<T>;
  if (m * n == 0 || cutoff.rtol >= rounding) return false;
  if (cutoff.atol > 0 && cutoff.atol >= rounding * kernels::norms<T>(m, n, a).largest) return false;
  return kernels::all_finite<T>(m, n, a) && even_lines<T>(m, n, a).spread() > kApart;
}

#define WP_INSTANTIATE(T)                                                                                \
  template std::optional<Minimised> balanced_least_squares(std::int64_t, std::int64_t, std::int64_t,     \
                                                           const Balanced<T>&, Cutoff, kernels::View<T>, \
                                                           kernels::MutableView<T>);                     \
  template bool rank_needs_accuracy(std::int64_t, std::int64_t, kernels::View<T>, Cutoff);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
