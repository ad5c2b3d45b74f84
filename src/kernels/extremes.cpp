#include "kernels/extremes.hpp"

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

constexpr Reductions largest = reductions<Largest>(simd::Reals{});
constexpr Reductions smallest = reductions<Smallest>(simd::Reals{});

}  // namespace

const Reductions& maxima() {
  return largest;
}
const Reductions& minima() {
  return smallest;
}

}  // namespace wp::kernels
