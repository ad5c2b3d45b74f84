#include "linalg/structural_zeros.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/each_float.hpp"

namespace wp::linalg {
namespace {

using Lists = std::vector<std::vector<std::int64_t>>;

// A row for every column in which it has a nonzero, no row twice (Kuhn 1955); empty: there is none.
std::vector<std::int64_t> matched_rows(const Lists& columns_of) {
  const std::size_t n = columns_of.size();
  std::vector<std::int64_t> row_of(n, -1);
  std::vector<char> seen;
  const auto place = [&](const auto& self, std::int64_t row) -> bool {
    for (const std::int64_t j : columns_of[static_cast<std::size_t>(row)]) {
      const auto at = static_cast<std::size_t>(j);
      if (seen[at]) continue;
      seen[at] = 1;
      if (row_of[at] >= 0 && !self(self, row_of[at])) continue;
      row_of[at] = row;
      return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < n; ++i) {
    seen.assign(n, 0);
    if (!place(place, static_cast<std::int64_t>(i))) return {};
  }
  return row_of;
}

}  // namespace

// With a nonzero of row π(j) in column j for every j, x_j is found from row π(j) and the other x_k in it: x_j depends
// on b_π(m) if a way leads from j to m along j → k, a_π(j)k ≠ 0 (Duff, Erisman & Reid 1986, ch. 6).
template <class T>
StructuralZeros::StructuralZeros(std::int64_t n, std::int64_t columns, kernels::View<T> a, kernels::View<T> b) {
  Lists columns_of(static_cast<std::size_t>(n)), comes_from(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (a.data[i * a.rows + j * a.columns] != T(0)) columns_of[static_cast<std::size_t>(i)].push_back(j);
  const std::vector<std::int64_t> row_of = matched_rows(columns_of);
  if (row_of.empty()) return;
  for (std::int64_t j = 0; j < n; ++j)
    for (const std::int64_t k : columns_of[static_cast<std::size_t>(row_of[static_cast<std::size_t>(j)])])
      comes_from[static_cast<std::size_t>(k)].push_back(j);
  for (std::int64_t c = 0; c < columns; ++c) {
    std::vector<char> touched(static_cast<std::size_t>(n), 0);
    std::vector<std::int64_t> reached;
    const auto touch = [&](std::int64_t j) {
      if (touched[static_cast<std::size_t>(j)]) return;
      touched[static_cast<std::size_t>(j)] = 1;
      reached.push_back(j);
    };
    for (std::int64_t j = 0; j < n; ++j)
      if (b.data[row_of[static_cast<std::size_t>(j)] * b.rows + c * b.columns] != T(0)) touch(j);
    for (std::size_t at = 0; at < reached.size(); ++at)
      for (const std::int64_t j : comes_from[static_cast<std::size_t>(reached[at])]) touch(j);
    for (std::int64_t j = 0; j < n; ++j)
      if (!touched[static_cast<std::size_t>(j)]) elements_.push_back({j, c});
  }
}

std::vector<double> StructuralZeros::shares(std::int64_t n, std::int64_t columns,
                                            const std::vector<int>& weights) const {
  std::vector<char> zero(static_cast<std::size_t>(n * columns), 0);
  for (const Element& e : elements_) zero[static_cast<std::size_t>(e.row * columns + e.column)] = 1;
  const int heaviest = *std::max_element(weights.begin(), weights.end());
  std::vector<double> out(static_cast<std::size_t>(columns), 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < columns; ++c)
      if (!zero[static_cast<std::size_t>(i * columns + c)])
        out[static_cast<std::size_t>(c)] = std::max(out[static_cast<std::size_t>(c)],
                                                    std::ldexp(1.0, weights[static_cast<std::size_t>(i)] - heaviest));
  return out;
}

#define WP_INSTANTIATE(T) \
  template StructuralZeros::StructuralZeros(std::int64_t, std::int64_t, kernels::View<T>, kernels::View<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::linalg
