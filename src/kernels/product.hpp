// Products as mantissa · 2^exponent: no partial product overflows or loses digits to underflow.
#pragma once
#include <bit>
#include <cmath>
#include <complex>

#include "kernels/sums.hpp"

namespace wp::kernels {

// Integers wrap around.
template <class T>
struct Product {
  using In = T;
  using Out = T;
  using State = T;
  WP_FN void start(State& s) { s = T(1); }
  WP_FN void push(State& s, In v) {
    s = static_cast<T>(static_cast<std::uint64_t>(s) * static_cast<std::uint64_t>(v));
  }
  WP_FN void join(State& s, const State& t) { push(s, t); }
  WP_FN Out finish(const State& s, std::int64_t, double) { return s; }
};

template <class T>
struct FloatProduct {
  using In = T;
  using Out = T;
  using A = Wide<T>;
  struct State {
    A m;  // zero, not finite, or its larger part is in [0.5, 1)
    std::int64_t e;
  };
  WP_FN double size(A v) {
    if constexpr (simd::is_complex_v<A>) {
      const double a = std::fabs(v.real()), b = std::fabs(v.imag());
      return a > b ? a : b;
    } else {
      return std::fabs(v);
    }
  }
  // Sixteen of these make no product beyond 2^±976, or exactly 0.
  WP_FN bool tame(T v) {
    const double s = size(static_cast<A>(v));
    return ((s >= 0x1p-60) & (s <= 0x1p60)) | (s == 0);
  }
  // v = m · 2^e. The exponent is read from the bits; subnormal numbers are scaled first.
  WP_FN State split(A v) {
    const double s = size(v);
    if (!(s > 0) || !std::isfinite(s)) return {v, 0};
    if (s < 0x1p-1000) {
      State scaled = split_normal(v * 0x1p200);
      scaled.e -= 200;
      return scaled;
    }
    return split_normal(v);
  }
  WP_FN State split_normal(A v) {
    const auto e = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(size(v)) >> 52) - 1022;
    const std::int64_t half = e / 2;  // 2^−e itself may be out of range
    return {v * power(-half) * power(half - e), e};
  }
  WP_FN double power(std::int64_t e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }
  WP_FN void times(State& s, const State& t) {
    const std::int64_t e = s.e + t.e;
    s = split(s.m * t.m);
    s.e += e;
  }
  WP_FN void start(State& s) { s = {A(0.5), 1}; }
  WP_FN void push(State& s, In v) { times(s, split(static_cast<A>(v))); }
  WP_FN void join(State& s, const State& t) { times(s, t); }
  WP_FN Out finish(const State& s, std::int64_t, double) {
    const int e = static_cast<int>(s.e < -5000 ? -5000 : s.e > 5000 ? 5000 : s.e);
    if constexpr (simd::is_complex_v<A>)
      return Out(static_cast<typename T::value_type>(std::ldexp(s.m.real(), e)),
                 static_cast<typename T::value_type>(std::ldexp(s.m.imag(), e)));
    else
      return static_cast<Out>(std::ldexp(s.m, e));
  }

  // Chains of kChain tame elements are plain products; others go one by one.
  WP_FN void block(const T* a, std::int64_t n, State& s) {
    constexpr std::int64_t lanes = 128 / sizeof(T);
    start(s);
    std::int64_t i = 0;
    for (; i + lanes <= n;) {
      const std::int64_t from = i, end = i + kChain * lanes < n ? i + kChain * lanes : n;
      A part[lanes];
      unsigned wild[lanes] = {};
      for (std::int64_t k = 0; k < lanes; ++k) part[k] = A(1);
      for (; i + lanes <= end; i += lanes)
        for (std::int64_t k = 0; k < lanes; ++k) {
          part[k] *= static_cast<A>(a[i + k]);
          wild[k] |= !tame(a[i + k]);
        }
      unsigned any = 0;
      for (std::int64_t k = 0; k < lanes; ++k) any |= wild[k];
      if (any)
        for (std::int64_t k = from; k < i; ++k) push(s, a[k]);
      else
        for (std::int64_t k = 0; k < lanes; ++k) times(s, split(part[k]));
    }
    for (; i < n; ++i) push(s, a[i]);
  }
  WP_FN void columns(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t w, State* __restrict s) {
    for (std::int64_t k = 0; k < w; ++k) start(s[k]);
    for (std::int64_t from = 0; from < rows; from += kChain) {
      const std::int64_t end = from + kChain < rows ? from + kChain : rows;
      A part[kColumnWidth];
      for (std::int64_t k = 0; k < w; ++k) part[k] = A(1);
      unsigned wild = 0;
      for (std::int64_t i = from; i < end; ++i)
        for (std::int64_t k = 0; k < w; ++k) {
          part[k] *= static_cast<A>(a[i * stride + k]);
          wild |= !tame(a[i * stride + k]);
        }
      for (std::int64_t k = 0; k < w; ++k) {
        if (!wild) {
          times(s[k], split(part[k]));
          continue;
        }
        for (std::int64_t i = from; i < end; ++i) push(s[k], a[i * stride + k]);
      }
    }
  }
};

}  // namespace wp::kernels
