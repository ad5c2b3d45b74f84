#include "trace/facts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/convert.hpp"

namespace wp::trace {
namespace {

constexpr int kSamples = 8;

inline float value(float v) noexcept { return v; }
inline double value(double v) noexcept { return v; }
inline float value(Half v) noexcept { return kernels::half_value(v.bits); }
inline float value(BFloat16 v) noexcept { return kernels::bfloat16_value(v.bits); }

struct Sample {
  float min = 0, max = 0;
  std::uint32_t flags = 0, count = 0;
};

template <class V>
struct Range {
  V min = std::numeric_limits<V>::infinity(), max = -std::numeric_limits<V>::infinity();
  V doubt = 0;  // NaN once a value is not finite
  void add(V v) noexcept {
    min = v < min ? v : min;
    max = v > max ? v : max;
    doubt += v - v;
  }
};

inline float narrow(float v, Sample&) noexcept { return v; }
inline float narrow(double v, Sample& to) noexcept {
  constexpr double limit = std::numeric_limits<float>::max();
  if (!(std::fabs(v) > limit) || std::isinf(v)) return static_cast<float>(v);
  to.flags |= Fact::beyond_f32;
  return static_cast<float>(std::copysign(limit, v));
}

// Elements i·⌊(n − 1)/7⌋ of a contiguous tensor; of another those on its diagonal.
template <class T, int Parts, class Add>
inline void visit(const detail::Node& n, const Add& add) noexcept {
  const T* const data = reinterpret_cast<const T*>(n.data);
  if (n.contiguous && n.size >= kSamples) [[likely]] {
    const std::int64_t step = (n.size - 1) / (kSamples - 1);
    for (int i = 0; i < kSamples; ++i)
      for (int p = 0; p < Parts; ++p) add(value(data[Parts * i * step + p]));
  } else if (n.contiguous) {
    for (int i = 0; i < static_cast<int>(n.size) * Parts; ++i) add(value(data[i]));
  } else {
    for (int i = 0; i < kSamples; ++i) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < n.shape.size(); ++d) at += n.strides[d] * (((n.shape[d] - 1) * i) >> 3);
      for (int p = 0; p < Parts; ++p) add(value(data[Parts * at + p]));
    }
  }
}

template <class T, int Parts>
[[gnu::cold, gnu::noinline]] void look_closer(const detail::Node& n, Sample& to) noexcept {
  bool nan = false, inf = false, any = false;
  visit<T, Parts>(n, [&](auto v) {
    nan |= std::isnan(v);
    inf |= std::isinf(v);
    any |= !std::isnan(v);
  });
  to.flags |= (nan ? Fact::nan : 0U) | (inf ? Fact::inf : 0U);
  if (!any) to.min = to.max = std::numeric_limits<float>::quiet_NaN();
}

template <class T, int Parts>
inline Sample sample(const detail::Node& n) noexcept {
  Range<decltype(value(T{}))> range;
  visit<T, Parts>(n, [&](auto v) { range.add(v); });
  Sample s;
  s.count = n.size < kSamples ? static_cast<std::uint32_t>(n.size) : kSamples;
  s.min = narrow(range.min, s);
  s.max = narrow(range.max, s);
  if (range.doubt != 0) [[unlikely]]
    look_closer<T, Parts>(n, s);
  return s;
}

inline Sample sample(const detail::Node& n) noexcept {
  if (n.size == 0 || !n.data) return {};
  switch (n.dtype) {
    case DType::f32: return sample<float, 1>(n);
    case DType::f64: return sample<double, 1>(n);
    case DType::f16: return sample<Half, 1>(n);
    case DType::bf16: return sample<BFloat16, 1>(n);
    case DType::c64: return sample<float, 2>(n);
    case DType::c128: return sample<double, 2>(n);
    default: return {};
  }
}

}  // namespace

float FactWords::largest() const noexcept {
  if ((word[0] >> 24 & 0xFF) == 0) return 0;
  const auto min = std::bit_cast<float>(static_cast<std::uint32_t>(word[0] >> 32));
  const auto max = std::bit_cast<float>(static_cast<std::uint32_t>(word[1]));
  return std::max(std::fabs(min), std::fabs(max));
}

void describe(const Tensor& t, FactWords& to) noexcept {
  if (!t.defined()) [[unlikely]] {
    to = {{Fact::undefined, 0, 0, 0}};
    return;
  }
  const detail::Node& n = *t.node();
  const Sample s = sample(n);
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
  to.word[0] = static_cast<std::uint64_t>(n.dtype) | std::uint64_t{flags} << 8 | rank << 16 | std::uint64_t{s.count} << 24 | min << 32;
  to.word[1] = max | shape[0] << 32;
  to.word[2] = shape[1] | shape[2] << 32;
  to.word[3] = shape[3] | elements << 32;
}

}  // namespace wp::trace
