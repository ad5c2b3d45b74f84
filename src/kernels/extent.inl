#include "kernels/lines.inl"

// lesser(a, b) is b where a is NaN: what is collected never becomes NaN. The largest is collected as the least of −x.
template <class T>
Extent<T> extent_of(const T* x, std::int64_t n) {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr std::int64_t lanes = lanes_of<T>, chains = 4;
    Vec<T> low[chains], high[chains];
    Int<T> doubt[chains] = {};  // v − v is +0 for a number, NaN for Inf and NaN: a subtraction is cheaper than v ≠ v
    for (int k = 0; k < chains; ++k) low[k] = high[k] = Vec<T>{} + limits::infinity();
    std::int64_t i = 0;
    for (; i + chains * lanes <= n; i += chains * lanes)
#pragma GCC unroll 4
      for (int k = 0; k < chains; ++k) {
        const Vec<T> v = load_pack(x + i + k * lanes);
        low[k] = lesser(v, low[k]);
        high[k] = lesser(-v, high[k]);
        doubt[k] |= bits<T>(v - v);
      }
    Extent<T> out{limits::infinity(), -limits::infinity(), false};
    if (any((doubt[0] | doubt[1] | doubt[2] | doubt[3]) != 0))
      out.nan = std::any_of(x, x + i, [](T v) { return v != v; });
    for (int k = 0; k < chains; ++k)
      for (int s = 0; s < lanes; ++s) {
        out.low = low[k][s] < out.low ? low[k][s] : out.low;
        out.high = -high[k][s] > out.high ? -high[k][s] : out.high;
      }
    for (; i < n; ++i) {
      out.low = x[i] < out.low ? x[i] : out.low;
      out.high = x[i] > out.high ? x[i] : out.high;
      out.nan = out.nan || x[i] != x[i];
    }
    return out;
  } else {
    T low = limits::max(), high = limits::lowest();
    for (std::int64_t i = 0; i < n; ++i) {
      low = x[i] < low ? x[i] : low;
      high = x[i] > high ? x[i] : high;
    }
    return {low, high, false};
  }
}
