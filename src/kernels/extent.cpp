#include "kernels/extent.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "simd/isa.hpp"
#include "simd/pack.hpp"

namespace wp::kernels {
namespace {

#define WP_PER_ISA "kernels/extent.inl"
#include "simd/per_isa.inl"

}  // namespace

template <class T>
Extent<T> extent(const T* x, std::int64_t n) {
  static constexpr Extent<T> (*all[])(const T*, std::int64_t) = {baseline::extent_of<T>, avx2::extent_of<T>,
                                                                 avx512::extent_of<T>};
  return all[static_cast<int>(simd::isa())](x, n);
}
template Extent<std::int8_t> extent(const std::int8_t*, std::int64_t);
template Extent<std::int16_t> extent(const std::int16_t*, std::int64_t);
template Extent<std::int32_t> extent(const std::int32_t*, std::int64_t);
template Extent<std::int64_t> extent(const std::int64_t*, std::int64_t);
template Extent<std::uint8_t> extent(const std::uint8_t*, std::int64_t);
template Extent<std::uint16_t> extent(const std::uint16_t*, std::int64_t);
template Extent<std::uint32_t> extent(const std::uint32_t*, std::int64_t);
template Extent<std::uint64_t> extent(const std::uint64_t*, std::int64_t);
template Extent<float> extent(const float*, std::int64_t);
template Extent<double> extent(const double*, std::int64_t);

}  // namespace wp::kernels
