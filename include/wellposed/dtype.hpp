// Element types and the sets of them that functions accept.
#pragma once
#include <complex>
#include <cstdint>
#include <string_view>

namespace [[gnu::visibility("default")]] wp {

enum class DType : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };
inline constexpr int kDTypes = 15;

inline constexpr DType boolean = DType::boolean;
inline constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64;
inline constexpr DType u8 = DType::u8, u16 = DType::u16, u32 = DType::u32, u64 = DType::u64;
inline constexpr DType f16 = DType::f16, bf16 = DType::bf16, f32 = DType::f32, f64 = DType::f64;
inline constexpr DType c64 = DType::c64, c128 = DType::c128;

// Stored formats only: arithmetic on them happens in f32.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// A set of dtypes, one bit each.
using Kinds = std::uint32_t;
constexpr Kinds kind(DType d) noexcept {
  return Kinds{1} << static_cast<unsigned>(d);
}
constexpr bool is(DType d, Kinds k) noexcept {
  return (kind(d) & k) != 0;
}

namespace kinds {
inline constexpr Kinds boolean = kind(DType::boolean);
inline constexpr Kinds signed_integer = kind(i8) | kind(i16) | kind(i32) | kind(i64);
inline constexpr Kinds unsigned_integer = kind(u8) | kind(u16) | kind(u32) | kind(u64);
inline constexpr Kinds integer = signed_integer | unsigned_integer;
inline constexpr Kinds real_floating = kind(f16) | kind(bf16) | kind(f32) | kind(f64);
inline constexpr Kinds complex_floating = kind(c64) | kind(c128);
inline constexpr Kinds floating = real_floating | complex_floating;
inline constexpr Kinds real = integer | real_floating;
inline constexpr Kinds numeric = integer | floating;
inline constexpr Kinds any = numeric | boolean;
}  // namespace kinds

namespace detail {
inline constexpr std::uint8_t sizes[kDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
}
constexpr std::size_t size_of(DType d) noexcept {
  return detail::sizes[static_cast<int>(d)];
}
constexpr bool is_complex(DType d) noexcept {
  return is(d, kinds::complex_floating);
}
constexpr bool is_floating(DType d) noexcept {
  return is(d, kinds::floating);
}
constexpr bool is_integer(DType d) noexcept {
  return is(d, kinds::integer);
}

// "f32"; the inverse is parse_dtype, which also takes NumPy's names ("float32").
std::string_view name(DType d) noexcept;
DType parse_dtype(std::string_view text);

// The real type of the same precision (c64 → f32), and the complex one (f32 → c64).
constexpr DType real_of(DType d) noexcept {
  return d == c64 ? f32 : d == c128 ? f64 : d;
}
constexpr DType complex_of(DType d) noexcept {
  return d == f64 || d == c128 ? c128 : c64;
}

template <class T>
struct dtype_of;
#define WP_DTYPE_OF(type, value)          \
  template <>                             \
  struct dtype_of<type> {                 \
    static constexpr DType dtype = value; \
  }
WP_DTYPE_OF(bool, DType::boolean);
WP_DTYPE_OF(std::int8_t, i8);
WP_DTYPE_OF(std::int16_t, i16);
WP_DTYPE_OF(std::int32_t, i32);
WP_DTYPE_OF(std::int64_t, i64);
WP_DTYPE_OF(long long, i64);
WP_DTYPE_OF(std::uint8_t, u8);
WP_DTYPE_OF(std::uint16_t, u16);
WP_DTYPE_OF(std::uint32_t, u32);
WP_DTYPE_OF(std::uint64_t, u64);
WP_DTYPE_OF(unsigned long long, u64);
WP_DTYPE_OF(Half, f16);
WP_DTYPE_OF(BFloat16, bf16);
WP_DTYPE_OF(float, f32);
WP_DTYPE_OF(double, f64);
WP_DTYPE_OF(complex64, c64);
WP_DTYPE_OF(complex128, c128);
#undef WP_DTYPE_OF
template <class T>
inline constexpr DType dtype_v = dtype_of<T>::dtype;

// The common type of two arrays (array API standard; integers with floats as NumPy: the smallest float that holds the
// integers, f16 + bf16 → f32). Throws DtypeError for u64 with a signed type: no integer type holds both.
DType promote(DType a, DType b);

struct FloatInfo {
  int bits;
  double eps, max, min, smallest_normal;
  DType dtype;
};
struct IntegerInfo {
  int bits;
  std::int64_t min;
  std::uint64_t max;
  DType dtype;
};
FloatInfo finfo(DType d);
IntegerInfo iinfo(DType d);
// True when every value of `from` is a value of `to`'s kind by the standard's promotion rules.
bool can_cast(DType from, DType to);
// kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric".
bool isdtype(DType d, std::string_view kind);

}  // namespace gnu::visibility("default")]]wp
