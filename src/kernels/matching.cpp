// Scales from an assignment of rows to columns.
#include <algorithm>
#include <limits>

#include "kernels/condition.hpp"
#include "kernels/each_float.hpp"
#include "kernels/numbers.hpp"

namespace wp::kernels {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

// The cheapest assignment by shortest augmenting paths (Kuhn 1955; Munkres 1957; Jonker & Volgenant 1987), with
// prices: cost[i, j] ≥ row[i] + column[j], and equal where i is assigned to j. False: there is none.
struct Assignment {
  std::int64_t n;
  std::vector<std::int64_t> row, column;

  template <class Cost>
  bool find(const Cost& cost) {
    const auto size = static_cast<std::size_t>(n);
    row.assign(size, 0);
    column.assign(size + 1, 0);
    std::vector<std::int64_t> holder(size + 1, -1);  // of each column; the last one is where the path begins
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<std::int64_t> least(size, kNever), from(size, n);
      std::vector<char> seen(size + 1, 0);
      std::int64_t at = n;
      holder[size] = i;
      while (holder[static_cast<std::size_t>(at)] >= 0) {
        seen[static_cast<std::size_t>(at)] = 1;
        const std::int64_t r = holder[static_cast<std::size_t>(at)];
        std::int64_t step = kNever, next = -1;
        for (std::int64_t j = 0; j < n; ++j) {
          const auto c = static_cast<std::size_t>(j);
          if (seen[c]) continue;
          const std::int64_t price = cost(r, j);
          if (price < kNever)
            if (const std::int64_t left = price - row[static_cast<std::size_t>(r)] - column[c]; left < least[c]) {
              least[c] = left;
              from[c] = at;
            }
          // Of columns that are as near, one that is free ends the path.
          if (least[c] < step ||
              (least[c] == step && next >= 0 && holder[c] < 0 && holder[static_cast<std::size_t>(next)] >= 0)) {
            step = least[c];
            next = j;
          }
        }
        if (next < 0) return false;
        for (std::size_t c = 0; c <= size; ++c) {
          if (seen[c]) {
            row[static_cast<std::size_t>(holder[c])] += step;
            column[c] -= step;
          } else if (c < size && least[c] < kNever) {
            least[c] -= step;
          }
        }
        at = next;
      }
      while (at != n) {
        const std::int64_t before = from[static_cast<std::size_t>(at)];
        holder[static_cast<std::size_t>(at)] = holder[static_cast<std::size_t>(before)];
        at = before;
      }
      holder[size] = -1;
    }
    return true;
  }
};

}  // namespace

template <class T>
std::optional<Equilibration> equilibrate_by_matching(std::int64_t n, View<T> a) {
  std::vector<std::int64_t> costs(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double size = size_of_number(a.data[i * a.rows + j * a.columns]);
      costs[static_cast<std::size_t>(i * n + j)] = size > 0 ? -std::int64_t{std::ilogb(size)} - 1 : kNever;
    }
  Assignment by{n, {}, {}};
  if (!by.find([&](std::int64_t i, std::int64_t j) { return costs[static_cast<std::size_t>(i * n + j)]; }))
    return std::nullopt;
  Equilibration out;
  out.needed = true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
    out.rows.push_back(static_cast<int>(by.row[k]));
    out.columns.push_back(static_cast<int>(by.column[k]));
  }
  return out;
}

#define WP_INSTANTIATE(T) template std::optional<Equilibration> equilibrate_by_matching(std::int64_t, View<T>);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::kernels
