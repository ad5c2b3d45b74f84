// Inner loops: contiguous memory, one dtype, one instruction set. Walkers (kernels/walk.hpp) bring strided, broadcast
// and converted elements to them.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "simd/isa.hpp"
#include "wellposed/dtype.hpp"

namespace wp::simd {

// What a loop saw. Collected inside the loop; only when a bit is set does anybody look for the element.
struct Status {
  static constexpr std::uint32_t nonfinite = 1;        // an Inf or NaN was written
  static constexpr std::uint32_t divided_by_zero = 2;  // integers
  static constexpr std::uint32_t bad_argument = 4;     // integers: a negative exponent or shift
  std::uint32_t bits = 0;
};

// p: inputs, then outputs; n elements each.
using Inner = void (*)(void* const* p, std::int64_t n, Status* status);
struct Loop {
  static constexpr DType none = static_cast<DType>(0xff);
  DType in = none, out = none;
  Inner fn[kIsas] = {};
  Inner active() const noexcept { return fn[static_cast<int>(isa())]; }
};
// One row per dtype that the data operands are brought to; rows without functions are dtypes the op does not have.
using Loops = std::array<Loop, kDTypes>;

template <class... T>
struct Types {};
using Integers = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t>;
using RealFloats = Types<float, double>;
using Complexes = Types<complex64, complex128>;
template <class... A, class... B>
constexpr Types<A..., B...> operator+(Types<A...>, Types<B...>) {
  return {};
}
using Floats = decltype(RealFloats{} + Complexes{});
using Reals = decltype(Integers{} + RealFloats{});
using Numbers = decltype(Reals{} + Complexes{});
using AllTypes = decltype(Types<bool>{} + Numbers{});

template <class T>
struct is_complex_t : std::false_type {};
template <class T>
struct is_complex_t<std::complex<T>> : std::true_type {};
template <class T>
inline constexpr bool is_complex_v = is_complex_t<T>::value;

// Elements of a functor are always inlined into the loop of each instruction set.
#define WP_FN [[gnu::always_inline]] static inline

// Collects "was anything non-finite" without branches: infinity's bits − 1 − |bits| is negative just for Inf and NaN.
template <class T>
struct Watch {
  WP_FN void see(T, int&) {}
  using State = int;
  WP_FN bool bad(State) { return false; }
};
template <class T, class Bits, Bits infinity>
struct FloatWatch {
  using State = Bits;
  WP_FN void see(T v, State& s) {
    constexpr Bits magnitude = static_cast<Bits>(~(Bits{1} << (sizeof(Bits) * 8 - 1)));
    s |= static_cast<Bits>((infinity - 1) - (std::bit_cast<Bits>(v) & magnitude));
  }
  WP_FN bool bad(State s) { return s < 0; }
};
template <>
struct Watch<float> : FloatWatch<float, std::int32_t, 0x7f800000> {};
template <>
struct Watch<double> : FloatWatch<double, std::int64_t, 0x7ff0000000000000> {};
template <class T>
struct Watch<std::complex<T>> {
  using State = typename Watch<T>::State;
  WP_FN void see(std::complex<T> v, State& s) {
    Watch<T>::see(v.real(), s);
    Watch<T>::see(v.imag(), s);
  }
  WP_FN bool bad(State s) { return Watch<T>::bad(s); }
};

// Complex elements are read and written as their parts, bools read as bytes: as such their loops do not vectorise.
template <class T>
WP_FN T load(const T* p, std::int64_t i) {
  return p[i];
}
WP_FN bool load(const bool* p, std::int64_t i) {
  return reinterpret_cast<const unsigned char*>(p)[i] != 0;
}
template <class T>
WP_FN std::complex<T> load(const std::complex<T>* p, std::int64_t i) {
  const T* const parts = reinterpret_cast<const T*>(p);
  return {parts[2 * i], parts[2 * i + 1]};
}
template <class T>
WP_FN void store(T* p, std::int64_t i, T v) {
  p[i] = v;
}
template <class T>
WP_FN void store(std::complex<T>* p, std::int64_t i, std::complex<T> v) {
  T* const parts = reinterpret_cast<T*>(p);
  parts[2 * i] = v.real();
  parts[2 * i + 1] = v.imag();
}

// The unsigned integer of an element's width. Status bits of refused integers are collected in it.
template <class T>
using UnsignedOf =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

#define WP_PER_ISA "simd/map.inl"
#include "simd/per_isa.inl"

// Loop rows of a functor F with `R apply(T)`, `R apply(T, T)` or `R apply(bool, T, T)`.
template <class F, class T>
constexpr Loop map1() {
  using R = decltype(F::apply(T{}));
  return {dtype_v<T>, dtype_v<R>, {baseline::map1<F, R, T>, avx2::map1<F, R, T>, avx512::map1<F, R, T>}};
}
template <class F, class T>
constexpr Loop map2() {
  using R = decltype(F::apply(T{}, T{}));
  return {dtype_v<T>, dtype_v<R>, {baseline::map2<F, R, T>, avx2::map2<F, R, T>, avx512::map2<F, R, T>}};
}
template <class F, class T>
constexpr Loop map3() {
  using R = decltype(F::apply(bool{}, T{}, T{}));
  return {dtype_v<T>, dtype_v<R>, {baseline::map3<F, R, T>, avx2::map3<F, R, T>, avx512::map3<F, R, T>}};
}
#define WP_LOOPS(n)                                                      \
  template <class F, class... T>                                         \
  constexpr Loops loops##n(Types<T...>) {                                \
    Loops all{};                                                         \
    ((all[static_cast<std::size_t>(dtype_v<T>)] = map##n<F, T>()), ...); \
    return all;                                                          \
  }
WP_LOOPS(1)
WP_LOOPS(2)
WP_LOOPS(3)
#undef WP_LOOPS
// Rows of b where a has none. (Not by fn: under the undefined-behaviour sanitizer g++ takes no function's address for
// non-zero in a constant expression.)
constexpr Loops join(Loops a, const Loops& b) {
  for (std::size_t i = 0; i < kDTypes; ++i)
    if (a[i].in == Loop::none) a[i] = b[i];
  return a;
}

}  // namespace wp::simd
