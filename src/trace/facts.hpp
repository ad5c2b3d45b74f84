// What a recording keeps of a tensor. In a header, so that the words stay in registers.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/convert.hpp"
#include "simd/range.hpp"
#include "trace/format.hpp"
#include "wellposed/tensor.hpp"

namespace wp::trace {

// A Fact as it is stored. Words, not fields: loads of words that were stored in parts would wait for the stores.
struct FactWords {
  std::uint64_t word[4];
  std::uint8_t flags() const noexcept { return static_cast<std::uint8_t>(word[0] >> 8); }
  float largest() const noexcept;  // |sampled element|; 0 if there is none
};
namespace facts {

constexpr int kSamples = 8;

inline float value(float v) noexcept {
  return v;
}
inline double value(double v) noexcept {
  return v;
}
inline float value(Half v) noexcept {
  return kernels::half_value(v.bits);
}
inline float value(BFloat16 v) noexcept {
  return kernels::bfloat16_value(v.bits);
}

struct Sample {
  float min = 0, max = 0;
  std::uint32_t flags = 0, count = 0;
};

inline float narrow(float v, Sample&) noexcept {
  return v;
}
inline float narrow(double v, Sample& to) noexcept {
  constexpr double limit = std::numeric_limits<float>::max();
  if (!(std::fabs(v) > limit) || std::isinf(v)) return static_cast<float>(v);
  to.flags |= Fact::beyond_f32;
  return static_cast<float>(std::copysign(limit, v));
}

// Offsets of elements i·⌊(n − 1)/7⌋ of a contiguous tensor (of one with fewer than 8 elements all of them, the last
// one again and again); of another those on its diagonal.
struct Offsets {
  std::int64_t at[kSamples];
  explicit Offsets(const detail::Node& n) noexcept {
    if (n.contiguous) {
      const std::int64_t last = n.size - 1, step = n.size < kSamples ? 1 : last / (kSamples - 1);
      for (int i = 0; i < kSamples; ++i) at[i] = std::min(i * step, last);
    } else {
      for (int i = 0; i < kSamples; ++i) {
        at[i] = 0;
        for (std::size_t d = 0; d < n.shape.size(); ++d) at[i] += n.strides[d] * (((n.shape[d] - 1) * i) >> 3);
      }
    }
  }
};

// Few elements, strides, parts of complex numbers, formats without arithmetic, and what is not finite.
template <class T, int Parts>
[[gnu::noinline]] inline Sample look_closer(const detail::Node& n) noexcept {
  using V = decltype(value(T{}));
  constexpr V infinity = std::numeric_limits<V>::infinity();
  V min = infinity, max = -infinity;
  bool nan = false, inf = false;
  const T* const data = reinterpret_cast<const T*>(n.data);
  const Offsets o(n);
  for (const std::int64_t at : o.at)
    for (int p = 0; p < Parts; ++p) {
      const V v = value(data[Parts * at + p]);
      nan |= std::isnan(v);
      inf |= std::isinf(v);
      if (v < min) min = v;
      if (v > max) max = v;
    }
  Sample s;
  s.count = n.size < kSamples ? static_cast<std::uint32_t>(n.size) : kSamples;
  s.flags = (nan ? Fact::nan : 0U) | (inf ? Fact::inf : 0U);
  const bool any = min <= max;
  s.min = any ? narrow(min, s) : std::numeric_limits<float>::quiet_NaN();
  s.max = any ? narrow(max, s) : std::numeric_limits<float>::quiet_NaN();
  return s;
}

template <class T>
[[gnu::always_inline]] inline Sample sample_real(const detail::Node& n) noexcept {
  if (n.size == 1) {
    const T v = *reinterpret_cast<const T*>(n.data);
    if (v - v == 0) {  // finite
      Sample s;
      s.count = 1;
      s.min = s.max = narrow(v, s);
      return s;
    }
  } else if (n.contiguous && n.size >= kSamples) [[likely]] {
    const auto range = simd::range_of_eight(reinterpret_cast<const T*>(n.data), (n.size - 1) / (kSamples - 1));
    if (range.finite) [[likely]] {
      Sample s;
      s.count = kSamples;
      s.min = narrow(range.min, s);
      s.max = narrow(range.max, s);
      return s;
    }
  }
  return look_closer<T, 1>(n);
}

inline Sample sample(const detail::Node& n) noexcept {
  if (n.size == 0 || !n.data) return {};
  switch (n.dtype) {
    case DType::f32: return sample_real<float>(n);
    case DType::f64: return sample_real<double>(n);
    case DType::f16: return look_closer<Half, 1>(n);
    case DType::bf16: return look_closer<BFloat16, 1>(n);
    case DType::c64: return look_closer<float, 2>(n);
    case DType::c128: return look_closer<double, 2>(n);
    default: return {};
  }
}

}  // namespace facts

inline float FactWords::largest() const noexcept {
  if ((word[0] >> 24 & 0xFF) == 0) return 0;
  const auto min = std::bit_cast<float>(static_cast<std::uint32_t>(word[0] >> 32));
  const auto max = std::bit_cast<float>(static_cast<std::uint32_t>(word[1]));
  return std::max(std::fabs(min), std::fabs(max));
}

// dtype, shape, flags, and the range of at most 8 elements that are spread over it (floating-point dtypes; of no
// elements, if they are not to be looked at).
[[gnu::always_inline]] inline void describe(const Tensor& t, FactWords& to, bool look = true) noexcept {
  if (!t.defined()) [[unlikely]] {
    to = {{Fact::undefined, 0, 0, 0}};
    return;
  }
  const detail::Node& n = *t.node();
  const facts::Sample s = look ? facts::sample(n) : facts::Sample();
  std::uint32_t flags = s.flags | (n.note ? Fact::noted : 0U) | (n.contiguous ? 0U : Fact::strided) |
                        (n.borrowed ? Fact::borrowed : 0U);
  const std::size_t rank = n.shape.size();
  std::uint64_t shape[4] = {}, high = rank > 4 ? 1 : 0;
  for (std::size_t d = 0; d < rank && d < 4; ++d) {
    shape[d] = static_cast<std::uint64_t>(n.shape[d]) & 0xFFFFFFFFU;
    high |= static_cast<std::uint64_t>(n.shape[d]) >> 32;
  }
  if (high != 0) flags |= Fact::large_shape;
  const std::uint64_t elements = n.size >> 32 ? 0xFFFFFFFFU : static_cast<std::uint64_t>(n.size);
  const std::uint64_t min = std::bit_cast<std::uint32_t>(s.min), max = std::bit_cast<std::uint32_t>(s.max);
  to.word[0] = static_cast<std::uint64_t>(n.dtype) | std::uint64_t{flags} << 8 | rank << 16 |
               std::uint64_t{s.count} << 24 | min << 32;
  to.word[1] = max | shape[0] << 32;
  to.word[2] = shape[1] | shape[2] << 32;
  to.word[3] = shape[3] | elements << 32;
}

// The same, not in line: of any tensor, without a look at its elements, and in memory that may be gone (the name that
// stands in the stack then).
[[gnu::noinline]] inline void describe_any(const Tensor& t, FactWords& to) noexcept {
  describe(t, to);
}
[[gnu::noinline]] inline void describe_unseen(const Tensor& t, FactWords& to) noexcept {
  describe(t, to, false);
}
[[gnu::noinline]] inline void look_at_lent_memory(const Tensor& t, FactWords& to) noexcept {
  describe(t, to);
}

}  // namespace wp::trace
