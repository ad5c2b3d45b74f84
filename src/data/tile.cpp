#include "data/tile.hpp"

#include <algorithm>

#include "kernels/extremes.hpp"

namespace wp::data {
namespace {

// By both extremes of blocks that stay in the first cache; only a block with NaN or Inf is counted element by
// element.
template <class T>
Census census_of(const T* x, std::int64_t n) {
  constexpr auto dtype = static_cast<std::size_t>(dtype_v<T>);
  const int isa = static_cast<int>(simd::isa());
  const auto largest = kernels::maxima()[dtype].block[isa], smallest = kernels::minima()[dtype].block[isa];
  Census c;
  c.values = n;
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
  bool any = false;
  for (std::int64_t i = 0; i < n; i += kernels::kReduceBlock) {
    const std::int64_t m = std::min(kernels::kReduceBlock, n - i);
    T least, most;
    smallest(x + i, m, &least);
    largest(x + i, m, &most);
    if constexpr (std::is_floating_point_v<T>) {
      if (!(std::isfinite(least) && std::isfinite(most))) {
        for (std::int64_t k = i; k < i + m; ++k) {
          c.nans += x[k] != x[k];
          c.infs += std::isinf(x[k]);
          if (x[k] != x[k]) continue;
          any = true;
          low = std::min(low, x[k]);
          high = std::max(high, x[k]);
        }
        continue;
      }
    }
    any = true;
    low = std::min(low, least);
    high = std::max(high, most);
  }
  if (any) {
    c.low = static_cast<Exact>(low);
    c.high = static_cast<Exact>(high);
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
