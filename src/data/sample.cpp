#include "data/sample.hpp"

#include <algorithm>
#include <cmath>

#include "base/mix.hpp"

namespace wp::data {
namespace {

// Which half of a group of 2^level is chosen.
bool upper_half(int level, std::int64_t group) {
  return mixed(static_cast<std::uint64_t>(group) + kMixStep * static_cast<std::uint64_t>(level)) & 1;
}
std::int64_t chosen(int level, std::int64_t group) {
  for (; level > 0; --level) group = 2 * group + upper_half(level, group);
  return group;
}

// The least level with at most kMost groups.
int level_for(std::int64_t elements) {
  int level = 0;
  while ((elements - 1) >> level >= static_cast<std::int64_t>(Sample::kMost)) ++level;
  return level;
}

}  // namespace

Sample::Taken Sample::look(const Tile& t) {
  Taken out;
  if (t.n == 0 || is_complex(t.dtype)) return out;
  const int level = level_for(t.start + t.n);
  kernels::with_type(t.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const T* const x = static_cast<const T*>(t.x);
      for (std::int64_t g = t.start >> level; g <= (t.start + t.n - 1) >> level; ++g)
        if (const std::int64_t at = chosen(level, g); at >= t.start && at < t.start + t.n)
          out.emplace_back(at, static_cast<double>(x[at - t.start]));
    }
  });
  return out;
}

void Sample::join(const Taken& taken, std::int64_t end) {
  for (const int level = level_for(end); level_ < level;) {  // of two groups that become one, the chosen one stays
    ++level_;
    std::erase_if(taken_, [&](const auto& one) {
      const std::int64_t group = one.first >> (level_ - 1);
      return (group & 1) != upper_half(level_, group >> 1);
    });
  }
  taken_.insert(taken_.end(), taken.begin(), taken.end());
}

void Sample::histogram(FieldReport& r) const {
  constexpr int kBins = 24;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const auto& one : taken_) {
    if (!std::isfinite(one.second)) continue;
    low = std::fmin(low, one.second);
    high = std::fmax(high, one.second);
  }
  r.sampled = static_cast<std::int64_t>(taken_.size());
  if (low > high) return;
  const int bins = low == high ? 1 : kBins;
  const double width = (high / 2 - low / 2) / bins * 2;  // no overflow
  for (int k = 0; k <= bins; ++k) r.edges.push_back(k == bins ? high : low + k * width);
  r.counts.assign(static_cast<std::size_t>(bins), 0);
  for (const auto& one : taken_)
    if (std::isfinite(one.second)) {
      const double at = width > 0 ? (one.second - low) / width : 0;
      ++r.counts[static_cast<std::size_t>(
          std::clamp(std::isfinite(at) ? static_cast<int>(at) : bins - 1, 0, bins - 1))];
    }
}

}  // namespace wp::data
