#include "kernels/extremes.hpp"

#include <algorithm>
#include <memory>

#include "base/pool.hpp"
#include "kernels/types.hpp"

namespace wp::kernels {
namespace {

template <class T, bool largest>
struct Extreme {
  using In = T;
  using Out = T;
  using State = T;
  WP_FN void start(State& s) {
    using limits = std::numeric_limits<T>;
    if constexpr (limits::has_infinity)
      s = largest ? -limits::infinity() : limits::infinity();
    else
      s = largest ? limits::lowest() : limits::max();
  }
  // A NaN in s stays: no comparison with it holds.
  WP_FN void push(State& s, In v) {
    const bool better = largest ? v > s : v < s;
    if constexpr (std::is_floating_point_v<T>)
      s = (better | (v != v)) ? v : s;
    else
      s = better ? v : s;
  }
  WP_FN void join(State& s, const State& t) { push(s, t); }
  WP_FN Out finish(const State& s, std::int64_t, double) { return s; }
};
template <class T>
using Largest = Extreme<T, true>;
template <class T>
using Smallest = Extreme<T, false>;

constexpr Reductions largest_table = reductions<Largest>(simd::Reals{});
constexpr Reductions smallest_table = reductions<Smallest>(simd::Reals{});

constexpr std::int64_t kPiece = 1 << 18;

template <class T>
bool beats(T v, T best, bool largest) {
  return (v != v && best == best) || (largest ? v > best : v < best);
}

// The extreme of each block, then its place in the first block that has it.
template <class T>
std::int64_t find_in(const Reduction& r, bool largest, const T* x, std::int64_t n) {
  const auto block = r.block[static_cast<int>(simd::isa())];
  T best = x[0];
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < n && best == best; i += kReduceBlock) {
    T v;
    block(x + i, std::min(kReduceBlock, n - i), &v);
    if (!beats(v, best, largest)) continue;
    best = v;
    from = i;
  }
  while (!(x[from] == best || (best != best && x[from] != x[from]))) ++from;
  return from;
}

template <class T>
std::int64_t find(const Reduction& r, bool largest, const T* x, std::int64_t n) {
  if (n <= 2 * kPiece) return find_in(r, largest, x, n);
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  const auto places = std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(pieces));
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      places[k] = k * kPiece + find_in(r, largest, x + k * kPiece, std::min(kPiece, n - k * kPiece));
  });
  std::int64_t best = places[0];
  for (std::int64_t k = 1; k < pieces; ++k)
    if (beats(x[places[k]], x[best], largest)) best = places[k];
  return best;
}

}  // namespace

std::int64_t find_extreme(DType dtype, bool largest, const void* x, std::int64_t n) {
  const Reduction& r = (largest ? largest_table : smallest_table)[static_cast<std::size_t>(dtype)];
  return with_type(dtype, [&](auto tag) -> std::int64_t {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      return find(r, largest, static_cast<const T*>(x), n);
    else
      return -1;
  });
}

const Reductions& maxima() {
  return largest_table;
}
const Reductions& minima() {
  return smallest_table;
}

}  // namespace wp::kernels
