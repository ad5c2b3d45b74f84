#include "summary/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/extent.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp::summary {
namespace {

constexpr int kLanes = 4;  // neighbours count in tables of their own: the same bin twice in a row does not wait

template <class T>
struct Range {
  T least, largest;  // of the finite values
  std::int64_t nan = 0, inf = 0;
};

template <class T>
Range<T> range_of(const T* v, std::int64_t n) {
  const kernels::Extent<T> whole = kernels::extent(v, n);
  if (!whole.nan && std::isfinite(whole.low) && std::isfinite(whole.high)) return {whole.low, whole.high};
  constexpr T infinity = std::numeric_limits<T>::infinity();
  Range<T> r{infinity, -infinity};
  for (std::int64_t i = 0; i < n; ++i) {
    if (std::isnan(v[i]))
      ++r.nan;
    else if (std::isinf(v[i]))
      ++r.inf;
    else
      r.least = std::min(r.least, v[i]), r.largest = std::max(r.largest, v[i]);
  }
  return r;
}

template <class T>
Histogram count(const T* v, std::int64_t n, std::int64_t bins) {
  const Range<T> r = range_of(v, n);
  Histogram h{{}, r.nan, r.inf};
  const std::int64_t finite = n - r.nan - r.inf;
  if (finite == 0) return h;
  const double low = static_cast<double>(r.least), high = static_cast<double>(r.largest);
  if (low == high) {
    h.rows.push_back({low - 0.5, high + 0.5, static_cast<double>(finite)});  // as tf.summary.histogram
    return h;
  }
  // A power of two by which no difference overflows, and no quotient.
  const double unit = std::isinf(high - low) ? 0.5 : high - low < 0x1p-900 ? 0x1p120 : 1;
  const double origin = low * unit, scale = static_cast<double>(bins) / (high * unit - origin);
  const auto last = static_cast<double>(bins - 1);
  std::vector<std::uint32_t> table(static_cast<std::size_t>(kLanes * bins));
  std::vector<std::int64_t> total(static_cast<std::size_t>(bins));
  const auto flush = [&] {
    for (std::size_t i = 0; i < table.size(); ++i) total[i / kLanes] += std::exchange(table[i], 0U);
  };
  constexpr std::int64_t kRun = std::int64_t{1} << 30;  // counts of a run fit 32 bits
  for (std::int64_t first = 0; first < n; first += kRun) {
    for (std::int64_t i = first; i < std::min(n, first + kRun); ++i) {
      const double at = (static_cast<double>(v[i]) * unit - origin) * scale;
      if (!(at >= 0) || at > 2 * last + 2) continue;  // not finite
      ++table[static_cast<std::size_t>(kLanes * static_cast<std::int64_t>(std::min(at, last)) + (i & (kLanes - 1)))];
    }
    flush();
  }
  const auto edge = [&](std::int64_t i) {
    const double part = static_cast<double>(i) / static_cast<double>(bins);
    return i == bins ? high : low * (1 - part) + high * part;
  };
  for (std::int64_t i = 0; i < bins; ++i)
    h.rows.push_back({edge(i), edge(i + 1), static_cast<double>(total[static_cast<std::size_t>(i)])});
  return h;
}

}  // namespace

Histogram histogram_of(const Tensor& x, std::int64_t bins) {
  const Unseen unseen;
  Tensor plain = is_complex(x.dtype()) ? abs(x) : x;
  if (plain.dtype() != f32 && plain.dtype() != f64) plain = astype(plain, f64);
  plain = contiguous(plain);
  if (plain.dtype() == f32) return count(reinterpret_cast<const float*>(plain.node()->data), plain.size(), bins);
  return count(reinterpret_cast<const double*>(plain.node()->data), plain.size(), bins);
}

}  // namespace wp::summary
