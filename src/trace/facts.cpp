#include "trace/facts.hpp"

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

template <class V>
struct Range {
  V min = std::numeric_limits<V>::infinity(), max = -std::numeric_limits<V>::infinity();
  bool nan = false;
  void add(V v) noexcept {
    min = v < min ? v : min;
    max = v > max ? v : max;
    nan |= v != v;
  }
};

inline float narrow(float v, Fact&) noexcept { return v; }
inline float narrow(double v, Fact& to) noexcept {
  constexpr double limit = std::numeric_limits<float>::max();
  if (std::fabs(v) <= limit || std::isinf(v)) return static_cast<float>(v);
  to.flags |= Fact::beyond_f32;
  return static_cast<float>(std::copysign(limit, v));
}

// Elements i·⌊(n − 1)/7⌋ of a contiguous tensor; of another those on its diagonal.
template <class T, int Parts>
void sample(const detail::Node& n, Fact& to) noexcept {
  const T* const data = reinterpret_cast<const T*>(n.data);
  Range<decltype(value(T{}))> range;
  const int count = n.size < kSamples ? static_cast<int>(n.size) : kSamples;
  const std::int64_t step = n.size < kSamples ? 1 : (n.size - 1) / (kSamples - 1);
  if (n.contiguous) [[likely]] {
    if (count == kSamples)
      for (int i = 0; i < kSamples; ++i)
        for (int p = 0; p < Parts; ++p) range.add(value(data[Parts * i * step + p]));
    else
      for (int i = 0; i < count * Parts; ++i) range.add(value(data[i]));
  } else {
    for (int i = 0; i < kSamples; ++i) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < n.shape.size(); ++d) at += n.strides[d] * (((n.shape[d] - 1) * i) >> 3);
      for (int p = 0; p < Parts; ++p) range.add(value(data[Parts * at + p]));
    }
  }
  to.samples = static_cast<std::uint8_t>(count);
  if (range.min > range.max) range.min = range.max = std::numeric_limits<decltype(range.min)>::quiet_NaN();
  to.min = narrow(range.min, to);
  to.max = narrow(range.max, to);
  const bool infinite = std::isinf(to.max) || std::isinf(to.min);
  to.flags = static_cast<std::uint8_t>(to.flags | (range.nan ? Fact::nan : 0) | (infinite ? Fact::inf : 0));
}

}  // namespace

void describe(const Tensor& t, Fact& to) noexcept {
  to = {};
  if (!t.defined()) {
    to.dtype = Fact::undefined;
    return;
  }
  const detail::Node& n = *t.node();
  to.dtype = static_cast<std::uint8_t>(n.dtype);
  to.flags = static_cast<std::uint8_t>((n.note ? Fact::noted : 0) | (n.contiguous ? 0 : Fact::strided) |
                                       (n.borrowed ? Fact::borrowed : 0));
  const std::size_t rank = n.shape.size();
  to.rank = static_cast<std::uint8_t>(rank);
  std::int64_t high = rank > 4 ? -1 : 0;
  for (std::size_t d = 0; d < rank && d < 4; ++d) {
    to.shape[d] = static_cast<std::uint32_t>(n.shape[d]);
    high |= n.shape[d] >> 32;
  }
  if (high != 0) to.flags |= Fact::large_shape;
  to.elements = n.size >> 32 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(n.size);
  if (n.size == 0 || !n.data) return;
  switch (n.dtype) {
    case DType::f32: return sample<float, 1>(n, to);
    case DType::f64: return sample<double, 1>(n, to);
    case DType::f16: return sample<Half, 1>(n, to);
    case DType::bf16: return sample<BFloat16, 1>(n, to);
    case DType::c64: return sample<float, 2>(n, to);
    case DType::c128: return sample<double, 2>(n, to);
    default: return;
  }
}

}  // namespace wp::trace
