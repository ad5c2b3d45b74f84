// Accumulators of sums and means.
#pragma once
#include <complex>

#include "kernels/reduce.hpp"

namespace wp::kernels {

// f32 and c64 are widened where roundings or overflow on the way would show.
template <class T>
struct Widened {
  using type = double;
};
template <class T>
struct Widened<std::complex<T>> {
  using type = complex128;
};
template <class T>
using Wide = typename Widened<T>::type;

// Integers wrap around.
template <class T>
struct Sum {
  using In = T;
  using Out = T;
  using State = T;
  WP_FN void start(State& s) { s = T(0); }
  WP_FN void push(State& s, In v) {
    if constexpr (std::is_integral_v<T>)
      s = static_cast<T>(static_cast<std::uint64_t>(s) + static_cast<std::uint64_t>(v));
    else
      s += v;
  }
  WP_FN void join(State& s, const State& t) { push(s, t); }
  WP_FN Out finish(const State& s, std::int64_t, double) { return s; }
};

// The mean; f32 is summed in f64.
template <class T>
struct Mean {
  using In = T;
  using Out = T;
  using State = Wide<T>;
  WP_FN void start(State& s) { s = State(0); }
  WP_FN void push(State& s, In v) { s += static_cast<State>(v); }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN Out finish(const State& s, std::int64_t n, double) {
    return static_cast<Out>(s / static_cast<double>(n));  // no elements: 0 / 0 = NaN
  }
};

// Sum or mean of numbers whose plain sum overflows on the way: n · 2⁻⁶⁴ < 1, so nothing does. What the scaling loses
// is below the last place of a sum that large.
template <class T, bool mean>
struct ScaledSum {
  using In = T;
  using Out = T;
  using State = Wide<T>;
  WP_FN void start(State& s) { s = State(0); }
  WP_FN void push(State& s, In v) { s += static_cast<State>(v) * 0x1p-64; }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN Out finish(const State& s, std::int64_t n, double) {
    return static_cast<Out>((mean ? s / static_cast<double>(n) : s) * 0x1p64);
  }
};
template <class T>
using CarefulSum = ScaledSum<T, false>;
template <class T>
using CarefulMean = ScaledSum<T, true>;

}  // namespace wp::kernels
