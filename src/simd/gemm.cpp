#include "simd/gemm.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <type_traits>
#include <utility>

namespace wp::simd {
namespace {

namespace baseline {
constexpr int kBytes = 16, kRows = 6, kVectors = 2;
template <class V>
[[gnu::always_inline]] inline V multiply_add(V a, V b, V c) {
  return a * b + c;
}
template <class T>
[[gnu::always_inline]] inline T scalar_multiply_add(T a, T b, T c) {
  return static_cast<T>(a * b + c);
}
#include "simd/gemm.inl"
}  // namespace baseline

#if defined(__x86_64__)
WP_BEGIN_AVX2
namespace avx2 {
constexpr int kBytes = 32, kRows = 6, kVectors = 2;
template <class V>
[[gnu::always_inline]] inline V multiply_add(V a, V b, V c) {
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a[0])>, float>)
    return _mm256_fmadd_ps(a, b, c);
  else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a[0])>, double>)
    return _mm256_fmadd_pd(a, b, c);
  else
    return a * b + c;
}
template <class T>
[[gnu::always_inline]] inline T scalar_multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>)
    return __builtin_fmaf(a, b, c);
  else if constexpr (std::is_same_v<T, double>)
    return __builtin_fma(a, b, c);
  else
    return static_cast<T>(a * b + c);
}
#include "simd/gemm.inl"
}  // namespace avx2
WP_END_ISA
WP_BEGIN_AVX512
namespace avx512 {
constexpr int kBytes = 64, kRows = 8, kVectors = 3;
template <class V>
[[gnu::always_inline]] inline V multiply_add(V a, V b, V c) {
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a[0])>, float>)
    return _mm512_fmadd_ps(a, b, c);
  else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(a[0])>, double>)
    return _mm512_fmadd_pd(a, b, c);
  else
    return a * b + c;
}
template <class T>
[[gnu::always_inline]] inline T scalar_multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>)
    return __builtin_fmaf(a, b, c);
  else if constexpr (std::is_same_v<T, double>)
    return __builtin_fma(a, b, c);
  else
    return static_cast<T>(a * b + c);
}
#include "simd/gemm.inl"
}  // namespace avx512
WP_END_ISA
#else
namespace avx2 = baseline;
namespace avx512 = baseline;
#endif

}  // namespace

template <class T>
const Products<T>& products() noexcept {
  static constexpr Products<T> all[kIsas] = {baseline::table<T>(), avx2::table<T>(), avx512::table<T>()};
  return all[static_cast<int>(isa())];
}
template const Products<float>& products() noexcept;
template const Products<double>& products() noexcept;
template const Products<std::uint32_t>& products() noexcept;
template const Products<std::uint64_t>& products() noexcept;

}  // namespace wp::simd
