#include "data/tile.hpp"

#include <algorithm>

#include "kernels/extent.hpp"

namespace wp::data {
namespace {

constexpr std::int64_t kBlock = 4096;

// Only a block with NaN or Inf is counted element by element, from the first cache.
template <class T>
Census census_of(const T* x, std::int64_t n) {
  Census c;
  c.values = n;
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t m = std::min(kBlock, n - i);
    const kernels::Extent<T> e = kernels::extent(x + i, m);
    if (e.low <= e.high) {
      c.low = std::min(c.low, static_cast<Exact>(e.low));
      c.high = std::max(c.high, static_cast<Exact>(e.high));
    }
    if constexpr (std::is_floating_point_v<T>)
      if (e.nan || !std::isfinite(e.low) || !std::isfinite(e.high))
        for (std::int64_t k = i; k < i + m; ++k) {
          c.nans += x[k] != x[k];
          c.infs += std::isinf(x[k]);
        }
  }
  return c;
}

}  // namespace

Census take_census(DType dtype, const void* x, std::int64_t n) {
  return kernels::with_type(dtype, [&](auto tag) -> Census {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      return census_of(static_cast<const T*>(x), n);
    else {
      Census c;
      c.values = n;
      each_complex({x, dtype, 0, n, {}}, [&](std::int64_t, auto re, auto im) {
        const bool nan = re != re || im != im;
        c.nans += nan;
        c.infs += !nan && (std::isinf(re) || std::isinf(im));
      });
      return c;
    }
  });
}

DType tile_dtype(DType d) noexcept {
  return d == boolean ? u8 : d == f16 || d == bf16 ? f32 : d;
}

Dims Subject::index(std::int64_t position) const {
  Dims out(shape.size(), 0);
  std::size_t axis = shape.size();
  if (column_number >= 0) out[--axis] = column_number;
  while (axis-- > 1) {
    out[axis] = position % std::max<std::int64_t>(shape[axis], 1);
    position /= std::max<std::int64_t>(shape[axis], 1);
  }
  if (!shape.empty()) out[0] = position;
  return out;
}

}  // namespace wp::data
