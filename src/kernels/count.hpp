// Counts elements that are not zero, in every stored dtype. NaN is not zero; −0 is.
#pragma once
#include "kernels/reduce.hpp"

namespace wp::kernels {

template <std::size_t bytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = std::uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = std::uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = std::uint64_t;
};
template <>
struct UnsignedOf<16> {
  using type = std::uint64_t;
};

template <class T>
struct CountNonzero {
  using In = T;
  using Out = std::int64_t;
  using State = std::int64_t;
  using Small = typename UnsignedOf<sizeof(T)>::type;  // counters as wide as the elements: vectorises
  static constexpr std::int64_t lanes = 128 / sizeof(T), most = 255;

  WP_FN bool nonzero(T v) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return (v.bits & 0x7fffU) != 0;
    else
      return v != T(0);
  }
  WP_FN void start(State& s) { s = 0; }
  WP_FN void push(State& s, In v) { s += nonzero(v); }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN Out finish(const State& s, std::int64_t, double) { return s; }

  WP_FN void block(const T* a, std::int64_t n, State& s) {
    s = 0;
    std::int64_t i = 0;
    while (i + lanes <= n) {
      Small count[lanes] = {};
      const std::int64_t end = i + most * lanes < n ? i + most * lanes : n;
      for (; i + lanes <= end; i += lanes)
        for (std::int64_t k = 0; k < lanes; ++k) count[k] = static_cast<Small>(count[k] + nonzero(a[i + k]));
      for (std::int64_t k = 0; k < lanes; ++k) s += static_cast<State>(count[k]);
    }
    for (; i < n; ++i) s += nonzero(a[i]);
  }
  static_assert(kColumnRows <= most);
  WP_FN void columns(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t w, State* __restrict s) {
    Small count[kColumnWidth];
    for (std::int64_t k = 0; k < w; ++k) count[k] = 0;
    for (std::int64_t i = 0; i < rows; ++i, a += stride)
      for (std::int64_t k = 0; k < w; ++k) count[k] = static_cast<Small>(count[k] + nonzero(a[k]));
    for (std::int64_t k = 0; k < w; ++k) s[k] = static_cast<State>(count[k]);
  }
};

}  // namespace wp::kernels
