#include "kernels/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/types.hpp"

namespace wp::kernels {
namespace {

// Widened to a type C++ can compute with.
template <class T>
auto load(T v) {
  if constexpr (std::is_same_v<T, Half>)
    return half_value(v.bits);
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bfloat16_value(v.bits);
  else
    return v;
}
template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};

// f64 → f16/bf16 through f32 would round twice: round to odd first.
float to_odd(double v) {
  const float f = static_cast<float>(v);
  if (static_cast<double>(f) == v || !std::isfinite(f)) return f;
  auto bits = std::bit_cast<std::uint32_t>(f);
  if (bits & 1U) return f;
  const bool away = std::fabs(static_cast<double>(f)) > std::fabs(v);  // then the odd neighbour is towards zero
  return std::bit_cast<float>(away ? bits - 1 : bits + 1);
}

template <class To, class V>
To store(V v) {
  if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    float f;
    if constexpr (is_complex<V>::value)
      f = to_odd(static_cast<double>(v.real()));
    else if constexpr (std::is_same_v<V, float>)
      f = v;
    else
      f = to_odd(static_cast<double>(v));
    if constexpr (std::is_same_v<To, Half>)
      return To{half_bits(f)};
    else
      return To{bfloat16_bits(f)};
  } else if constexpr (is_complex<To>::value) {
    using R = typename To::value_type;
    if constexpr (is_complex<V>::value)
      return To(static_cast<R>(v.real()), static_cast<R>(v.imag()));
    else
      return To(static_cast<R>(v), R(0));
  } else if constexpr (is_complex<V>::value) {
    if constexpr (std::is_same_v<To, bool>)
      return v != V(0);
    else
      return static_cast<To>(v.real());
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != V(0);
  } else {
    return static_cast<To>(v);
  }
}

template <class To, class From>
void convert_loop(void* dst, const void* src, std::int64_t stride, std::int64_t n) {
  To* __restrict d = static_cast<To*>(dst);
  const From* __restrict s = static_cast<const From*>(src);
  if (stride == 1)
    for (std::int64_t i = 0; i < n; ++i) d[i] = store<To>(load(s[i]));
  else if (stride == 0)
    for (std::int64_t i = 0, e = n; i < e; ++i) d[i] = store<To>(load(s[0]));
  else
    for (std::int64_t i = 0; i < n; ++i) d[i] = store<To>(load(s[i * stride]));
}

// Whether v, its fraction cut off, is a value of the integer type To. 2^digits is exact in every float type.
template <class To, class V>
bool fits(V v) {
  if constexpr (is_complex<V>::value) {
    return fits<To>(v.real());
  } else if constexpr (std::is_integral_v<V>) {
    return std::in_range<To>(v);
  } else {
    constexpr double above = 2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1));
    constexpr double below = std::is_signed_v<To> ? -above : 0.0;
    const double d = static_cast<double>(v);
    return ((d > below - 1) | (d >= below)) & (d < above);
  }
}

using Convert = void (*)(void*, const void*, std::int64_t, std::int64_t);

template <class T>
void gather_loop(void* dst, const void* src, std::int64_t stride, std::int64_t n) {
  T* __restrict d = static_cast<T*>(dst);
  const T* __restrict s = static_cast<const T*>(src);
  if (stride == 0)
    for (std::int64_t i = 0; i < n; ++i) d[i] = s[0];
  else
    for (std::int64_t i = 0; i < n; ++i) d[i] = s[i * stride];
}

}  // namespace

std::uint16_t half_bits(float v) noexcept {
  const auto x = std::bit_cast<std::uint32_t>(v);
  const std::uint16_t sign = static_cast<std::uint16_t>((x >> 16) & 0x8000U);
  const std::uint32_t a = x & 0x7fffffffU;
  if (a > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  if (a >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to Inf
  if (a < 0x38800000U) {  // subnormal: add a number whose last place is 2⁻²⁴
    const float f = std::bit_cast<float>(a) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(f) - 0x3f000000U));
  }
  const std::uint32_t odd = (a >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((a - 0x38000000U + 0xfffU + odd) >> 13));
}

float half_value(std::uint16_t h) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16, e = (h >> 10) & 31U, m = h & 0x3ffU;
  if (e == 31) return std::bit_cast<float>(sign | 0x7f800000U | (m << 13));
  if (e == 0) return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(m) * 0x1p-24F));
  return std::bit_cast<float>(sign | ((e + 112) << 23) | (m << 13));
}

std::uint16_t bfloat16_bits(float v) noexcept {
  const auto x = std::bit_cast<std::uint32_t>(v);
  if ((x & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((x >> 16) | 0x40U);
  return static_cast<std::uint16_t>((x + 0x7fffU + ((x >> 16) & 1U)) >> 16);
}
float bfloat16_value(std::uint16_t b) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
}

void convert(void* dst, DType to, const void* src, DType from, std::int64_t stride, std::int64_t n) {
  if (n == 0) return;  // pointers may be null
  if (to == from) {
    const std::size_t size = size_of(to);
    if (stride == 1) {
      std::memcpy(dst, src, static_cast<std::size_t>(n) * size);
      return;
    }
    with_size(size, [&](auto tag) { gather_loop<typename decltype(tag)::type>(dst, src, stride, n); });
    return;
  }
  with_type(to, [&](auto t) {
    with_type(from, [&](auto f) {
      convert_loop<typename decltype(t)::type, typename decltype(f)::type>(dst, src, stride, n);
    });
  });
}

std::int64_t first_unfit(DType to, const void* src, DType from, std::int64_t stride, std::int64_t n) {
  return with_type(to, [&](auto t) {
    return with_type(from, [&](auto f) -> std::int64_t {
      using To = typename decltype(t)::type;
      using From = typename decltype(f)::type;
      if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && !std::is_same_v<From, bool>) {
        const auto* const s = static_cast<const From*>(src);
        constexpr std::int64_t block = 256;  // counted without branches, so that it vectorises
        for (std::int64_t at = 0; at < n; at += block) {
          const std::int64_t end = std::min(at + block, n);
          int fit = 0;
          for (std::int64_t i = at; i < end; ++i) fit += fits<To>(load(s[i * stride]));
          if (fit == end - at) continue;
          while (fits<To>(load(s[at * stride]))) ++at;
          return at;
        }
      }
      return -1;
    });
  });
}

}  // namespace wp::kernels
