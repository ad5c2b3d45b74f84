#include "wellposed/dtype.hpp"

#include <array>
#include <cfloat>
#include <limits>

#include "base/text.hpp"

namespace wp {
namespace {

constexpr std::array<std::string_view, kDTypes> names{"bool", "i8",  "i16",  "i32", "i64", "u8",  "u16", "u32",
                                                      "u64",  "f16", "bf16", "f32", "f64", "c64", "c128"};
constexpr std::array<std::string_view, kDTypes> numpy_names{
    "bool",   "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",    "uint32",
    "uint64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"};

constexpr int bits_of(DType d) {
  return static_cast<int>(8 * size_of(d));
}
DType signed_of(int bits) {
  return bits == 8 ? i8 : bits == 16 ? i16 : bits == 32 ? i32 : i64;
}
DType unsigned_of(int bits) {
  return bits == 8 ? u8 : bits == 16 ? u16 : bits == 32 ? u32 : u64;
}

DType promote_integers(DType a, DType b) {
  const bool sa = is(a, kinds::signed_integer), sb = is(b, kinds::signed_integer);
  if (sa == sb) {
    const int bits = std::max(bits_of(a), bits_of(b));
    return sa ? signed_of(bits) : unsigned_of(bits);
  }
  const DType s = sa ? a : b, u = sa ? b : a;
  if (u == u64)
    raise<DtypeError>("WP-DTY-002", "promotion", say("no integer dtype holds both ", a, " and ", b, "."),
                      "Cast one of them with astype.");
  return signed_of(std::max(bits_of(s), 2 * bits_of(u)));
}
// The smallest of f32, f64 that holds every value of the integer type (64-bit integers: f64, as NumPy).
DType float_for(DType integer) {
  return bits_of(integer) <= 16 ? f32 : f64;
}

DType promote_floats(DType a, DType b) {
  const bool complex = is_complex(a) || is_complex(b);
  const DType ra = real_of(a), rb = real_of(b);
  DType r = ra == rb ? ra : ra == f64 || rb == f64 ? f64 : f32;
  return complex ? complex_of(r) : r;
}

}  // namespace

std::string_view name(DType d) noexcept {
  return names[static_cast<std::size_t>(d)];
}

DType parse_dtype(std::string_view text) {
  for (std::size_t i = 0; i < kDTypes; ++i)
    if (text == names[i] || text == numpy_names[i]) return static_cast<DType>(i);
  raise<DtypeError>("WP-DTY-001", "dtype", say("'", text, "' is not a dtype."),
                    "Use one of bool, i8 … i64, u8 … u64, f16, bf16, f32, f64, c64, c128.");
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_integer(a)) return promote_floats(bits_of(a) == 8 && size_of(b) == 2 ? b : float_for(a), b);
  if (is_integer(b)) return promote(b, a);
  return promote_floats(a, b);
}

FloatInfo finfo(DType d) {
  switch (real_of(d)) {
    case DType::f16: return {16, 0x1p-10, 65504.0, -65504.0, 0x1p-14, f16};
    case DType::bf16: return {16, 0x1p-7, 0x1.fep127, -0x1.fep127, 0x1p-126, bf16};
    case DType::f32: return {32, FLT_EPSILON, FLT_MAX, -FLT_MAX, FLT_MIN, f32};
    case DType::f64: return {64, DBL_EPSILON, DBL_MAX, -DBL_MAX, DBL_MIN, f64};
    default:
      raise<DtypeError>("WP-DTY-001", "finfo", say("needs a floating-point dtype; got ", d, "."),
                        "Use iinfo for integers.");
  }
}

IntegerInfo iinfo(DType d) {
  if (!is_integer(d))
    raise<DtypeError>("WP-DTY-001", "iinfo", say("needs an integer dtype; got ", d, "."), "Use finfo for floats.");
  const int bits = bits_of(d);
  if (is(d, kinds::unsigned_integer)) return {bits, 0, ~std::uint64_t{0} >> (64 - bits), d};
  return {bits, std::numeric_limits<std::int64_t>::min() >> (64 - bits), (~std::uint64_t{0} >> 1) >> (64 - bits), d};
}

bool can_cast(DType from, DType to) {
  if (from == to) return true;
  if (is(from, kinds::signed_integer) != is(to, kinds::signed_integer) && (from == u64 || to == u64)) return false;
  return promote(from, to) == to;
}

bool isdtype(DType d, std::string_view kind) {
  struct Row {
    std::string_view text;
    Kinds kinds;
  };
  static constexpr std::array<Row, 7> rows{{{"bool", kinds::boolean},
                                            {"signed integer", kinds::signed_integer},
                                            {"unsigned integer", kinds::unsigned_integer},
                                            {"integral", kinds::integer},
                                            {"real floating", kinds::real_floating},
                                            {"complex floating", kinds::complex_floating},
                                            {"numeric", kinds::numeric}}};
  for (const Row& r : rows)
    if (r.text == kind) return is(d, r.kinds);
  raise<ArgumentError>(
      "WP-ARG-001", "isdtype", say("'", kind, "' is not a kind of dtype."),
      "Kinds: bool, signed integer, unsigned integer, integral, real floating, complex floating, numeric.");
}

}  // namespace wp
