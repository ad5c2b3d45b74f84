#include "kernels/lines.inl"

// lesser(a, b) is b where a is NaN, as is the larger: what is collected never becomes NaN. Sums do: three operations
// per pack, so that reading sets the pace.
template <class T>
Extent<T> extent_of(const T* x, std::int64_t n) {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr std::int64_t lanes = lanes_of<T>, chains = 4;
    Vec<T> low[chains], high[chains], sum[chains] = {};
    for (int k = 0; k < chains; ++k) low[k] = Vec<T>{} + limits::infinity(), high[k] = -low[k];
    std::int64_t i = 0;
    for (; i + chains * lanes <= n; i += chains * lanes)
#pragma GCC unroll 4
      for (int k = 0; k < chains; ++k) {
        const Vec<T> v = load_pack(x + i + k * lanes);
        low[k] = lesser(v, low[k]);
        high[k] = v > high[k] ? v : high[k];
        sum[k] += v;
      }
    Extent<T> out{limits::infinity(), -limits::infinity(), false};
    const Vec<T> all = 0 * sum[0] + 0 * sum[1] + 0 * sum[2] + 0 * sum[3];
    if (any(all != 0))  // NaN, Inf, or a sum that overflowed
      out.nan = std::any_of(x, x + i, [](T v) { return v != v; });
    for (int k = 0; k < chains; ++k)
      for (int s = 0; s < lanes; ++s) {
        out.low = low[k][s] < out.low ? low[k][s] : out.low;
        out.high = high[k][s] > out.high ? high[k][s] : out.high;
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
