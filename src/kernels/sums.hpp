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
struct IntegerTotal {
  using State = T;
  WP_FN void start(State& s) { s = T(0); }
  WP_FN void push(State& s, T v) {
    s = static_cast<T>(static_cast<std::uint64_t>(s) + static_cast<std::uint64_t>(v));
  }
  WP_FN void join(State& s, const State& t) { push(s, t); }
  WP_FN T total(const State& s) { return s; }
};

// f32 and c64 are added in twice the precision.
template <class T>
struct WideTotal {
  using State = Wide<T>;
  WP_FN void start(State& s) { s = State(0); }
  WP_FN void push(State& s, T v) { s += static_cast<State>(v); }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN State total(const State& s) { return s; }
};

// f64: the rounding errors of the additions are added up beside the sum (TwoSum, Knuth 1969; Ogita, Rump & Oishi
// 2005): as if added in twice the precision.
struct Pair {
  double sum, errors;
};
WP_FN void add_exactly(double& s, double& e, double v) {
  const double t = s + v, z = t - s;
  e += (s - (t - z)) + (v - z);
  s = t;
}
WP_FN double joined(const Pair& p) {
  return std::isfinite(p.errors) ? p.sum + p.errors : p.sum;  // the error of an infinite sum is NaN
}
struct PairTotal {
  using State = Pair;
  WP_FN void start(State& s) { s = {0, 0}; }
  WP_FN void push(State& s, double v) { add_exactly(s.sum, s.errors, v); }
  WP_FN void join(State& s, const State& t) {
    push(s, t.sum);
    s.errors += t.errors;
  }
  WP_FN double total(const State& s) { return joined(s); }
  // Sums and errors in arrays of their own: vectorises. `parts` interleaved sums, 1 or 2.
  template <std::int64_t parts>
  WP_FN void lanes(const double* a, std::int64_t n, Pair* out) {
    constexpr std::int64_t width = 32;
    double s[width] = {}, e[width] = {};
    std::int64_t i = 0;
    for (; i + width <= n; i += width)
      for (std::int64_t k = 0; k < width; ++k) add_exactly(s[k], e[k], a[i + k]);
    for (std::int64_t k = 0; i < n; ++i, ++k) add_exactly(s[k], e[k], a[i]);
    for (std::int64_t half = width / 2; half >= parts; half /= 2)
      for (std::int64_t k = 0; k < half; ++k) {
        add_exactly(s[k], e[k], s[k + half]);
        e[k] += e[k + half];
      }
    for (std::int64_t k = 0; k < parts; ++k) out[k] = {s[k], e[k]};
  }
  WP_FN void block(const double* a, std::int64_t n, State& s) { lanes<1>(a, n, &s); }
};
struct ComplexPairTotal {
  struct State {
    Pair part[2];
  };
  WP_FN void start(State& s) { s = {{{0, 0}, {0, 0}}}; }
  WP_FN void push(State& s, complex128 v) {
    PairTotal::push(s.part[0], v.real());
    PairTotal::push(s.part[1], v.imag());
  }
  WP_FN void join(State& s, const State& t) {
    for (int k = 0; k < 2; ++k) PairTotal::join(s.part[k], t.part[k]);
  }
  WP_FN complex128 total(const State& s) { return {joined(s.part[0]), joined(s.part[1])}; }
  WP_FN void block(const complex128* a, std::int64_t n, State& s) {
    PairTotal::lanes<2>(reinterpret_cast<const double*>(a), 2 * n, s.part);
  }
};

template <class T>
struct TotalOf {
  using type = std::conditional_t<std::is_integral_v<T>, IntegerTotal<T>, WideTotal<T>>;
};
template <>
struct TotalOf<double> {
  using type = PairTotal;
};
template <>
struct TotalOf<complex128> {
  using type = ComplexPairTotal;
};

template <class T>
struct Sum : TotalOf<T>::type {
  using Total = typename TotalOf<T>::type;
  using In = T;
  using Out = T;
  WP_FN Out finish(const typename Total::State& s, std::int64_t, double) { return static_cast<Out>(Total::total(s)); }
};
template <class T>
struct Mean : TotalOf<T>::type {
  using Total = typename TotalOf<T>::type;
  using In = T;
  using Out = T;
  WP_FN Out finish(const typename Total::State& s, std::int64_t n, double) {
    return static_cast<Out>(Total::total(s) / static_cast<double>(n));  // no elements: 0 / 0 = NaN
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
