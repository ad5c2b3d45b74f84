#include "ops/arithmetic.hpp"
#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_bitwise_and, op_bitwise_or, op_bitwise_xor, op_bitwise_invert, op_bitwise_left_shift,
    op_bitwise_right_shift;
namespace {

struct And {
  template <class T>
  WP_FN T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  WP_FN T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  WP_FN T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Invert {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (std::is_same_v<T, bool>)
      return !a;
    else
      return static_cast<T>(~a);
  }
};

// Shifts by the width or more leave 0, or all sign bits; the processor would take the count modulo the width.
struct Shift {
  template <class T>
  WP_FN std::uint32_t bad(T, T b) {
    return b < 0 ? simd::Status::bad_argument : 0;
  }
};
struct LeftShift : Shift {
  template <class T>
  WP_FN T apply(T a, T b) {
    constexpr Wrapping<T> width = sizeof(T) * 8;
    const auto count = static_cast<Wrapping<T>>(b);
    return static_cast<T>(count < width ? static_cast<Wrapping<T>>(a) << (count & (width - 1)) : Wrapping<T>{0});
  }
};
struct RightShift : Shift {
  template <class T>
  WP_FN T apply(T a, T b) {
    constexpr Wrapping<T> width = sizeof(T) * 8;
    const auto count = static_cast<Wrapping<T>>(b);
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (count < width ? count : width - 1));
    else
      return static_cast<T>(count < width ? a >> (count & (width - 1)) : 0);
  }
};

using BoolsAndIntegers = decltype(simd::Types<bool>{} + simd::Integers{});
constexpr simd::Loops and_loops = simd::loops2<And>(BoolsAndIntegers{});
constexpr simd::Loops or_loops = simd::loops2<Or>(BoolsAndIntegers{});
constexpr simd::Loops xor_loops = simd::loops2<Xor>(BoolsAndIntegers{});
constexpr simd::Loops invert_loops = simd::loops1<Invert>(BoolsAndIntegers{});
constexpr simd::Loops left_loops = simd::loops2<LeftShift>(simd::Integers{});
constexpr simd::Loops right_loops = simd::loops2<RightShift>(simd::Integers{});

Op bitwise(std::string_view name, std::string_view sign, std::string_view doc, const simd::Loops& loops,
           std::vector<Param> params, std::vector<std::string_view> branches, std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = std::move(params),
      .operator_ = sign,
      .loops = &loops,
      .no_derivative = "the result is an integer or bool: it changes by jumps only.",
      .branches = std::move(branches),
      .samples = samples,
  });
}
const std::vector<Param> two{{"x1", kinds::integer | kinds::boolean}, {"x2", kinds::integer | kinds::boolean}};
const std::vector<Param> shifted{{"x1", kinds::integer}, {"x2", kinds::integer, "Bits to shift by, at least 0."}};

std::vector<Sample> pairs(const Op& op) {
  return elementwise_samples(
      op, {{{0, 0}}, {{0, 1}}, {{1, 1}}, {{12, 10}}, {{-1, 85}}, {{-128, 127}}, {{-7, -12}, "signs"}});
}
std::vector<Sample> shifts(const Op& op) {
  return elementwise_samples(op, {{{1, 3}},
                                  {{100, 1}},
                                  {{-100, 2}, "a negative number"},
                                  {{-1, 7}, "a negative number"},
                                  {{5, 0}},
                                  {{3, 8}, "by the width or more"},
                                  {{3, 64}, "by the width or more"},
                                  {{-3, 100}, "by the width or more"}});
}
}  // namespace

const Op op_bitwise_and = bitwise("bitwise_and", "&", "x1 & x2 bit by bit, element by element.", and_loops, two,
                                  {"signs"}, [] { return pairs(op_bitwise_and); });
const Op op_bitwise_or = bitwise("bitwise_or", "|", "x1 | x2 bit by bit, element by element.", or_loops, two,
                                 {"signs"}, [] { return pairs(op_bitwise_or); });
const Op op_bitwise_xor = bitwise("bitwise_xor", "^", "x1 ^ x2 bit by bit, element by element.", xor_loops, two,
                                  {"signs"}, [] { return pairs(op_bitwise_xor); });
const Op op_bitwise_invert =
    bitwise("bitwise_invert", "~", "Every bit of x inverted, element by element; of bools the opposite.",
            invert_loops, {{"x", kinds::integer | kinds::boolean}}, {}, [] {
              return elementwise_samples(op_bitwise_invert, {{{0}}, {{1}}, {{85}}, {{-128}}});
            });
const Op op_bitwise_left_shift = bitwise(
    "bitwise_left_shift", "<<",
    "x1 shifted left by x2 bits, element by element: bits that leave are lost. Negative x2 is refused.", left_loops,
    shifted, {"a negative number", "by the width or more"}, [] { return shifts(op_bitwise_left_shift); });
const Op op_bitwise_right_shift = bitwise(
    "bitwise_right_shift", ">>",
    "x1 shifted right by x2 bits, element by element: floor_divide(x1, 2^x2), negative numbers keep their sign. "
    "Negative x2 is refused.",
    right_loops, shifted, {"a negative number", "by the width or more"},
    [] { return shifts(op_bitwise_right_shift); });
}  // namespace wp
