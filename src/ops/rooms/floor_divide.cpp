#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_floor_divide;
namespace {

struct FloorDivide {
  template <std::integral T>
  WP_FN std::uint32_t bad(T, T b) {
    return b == 0 ? simd::Status::divided_by_zero : 0;
  }
  template <std::integral T>
  WP_FN T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1)
        return static_cast<T>(0 - static_cast<Wrapping<T>>(a));  // the least integer has no opposite: wraps
      const T q = static_cast<T>(a / b);
      return static_cast<T>(q - ((a % b != 0) & ((a < 0) != (b < 0))));
    } else {
      return static_cast<T>(a / b);
    }
  }
  // The largest number that is an integer and not above x/y. The rounded quotient q may be just above: then
  // x − ⌊q⌋y (its sign is exact with fma) has the wrong sign, and the next lower integer, or number, is the answer.
  template <std::floating_point T>
  WP_FN T apply(T x, T y) {
    using Bits = simd::UnsignedOf<T>;
    constexpr T whole = T(1) / std::numeric_limits<T>::epsilon();  // from here on every number is an integer
    const T n = std::floor(x / y), r = std::fma(-n, y, x), size = std::fabs(n);
    const bool above = (y > 0 ? r < 0 : r > 0) & (size <= std::numeric_limits<T>::max());
    const Bits bits = std::bit_cast<Bits>(n);
    const T lower = size < whole ? n - 1 : std::bit_cast<T>(static_cast<Bits>(n > 0 ? bits - 1 : bits + 1));
    return above ? lower : n;
  }
};
constexpr simd::Loops loops = simd::loops2<FloorDivide>(simd::Reals{});

// f16 and bf16: the last step, down to their grid, must not round up either. `lost`: the bits of f32 they do not
// have.
template <std::uint32_t lost>
struct NarrowFloorDivide {
  WP_FN float apply(float x, float y) {
    const float n = FloorDivide::apply(x, y);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(n), cut = bits & ~lost;
    return std::bit_cast<float>((n < 0) & (bits != cut) ? cut + lost + 1 : cut);
  }
};
constexpr simd::Loop f16_loop = simd::map2<NarrowFloorDivide<0x1fff>, float>();
constexpr simd::Loop bf16_loop = simd::map2<NarrowFloorDivide<0xffff>, float>();

void forward(Call& c) {
  if (c.key == f16)
    walk_elementwise(c, f16_loop);
  else if (c.key == bf16)
    walk_elementwise(c, bf16_loop);
  else
    forward_elementwise(c);
}

// Steps: the slope is 0.
Tensor partial(const Saved&, std::size_t) {
  return {};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = elementwise_samples(op_floor_divide, {{{7, 2}},
                                                                  {{6, 3}},
                                                                  {{-7, 2}},
                                                                  {{7, -2}},
                                                                  {{-7, -2}},
                                                                  {{-6, 3}},
                                                                  {{0, 5}},
                                                                  {{-0.0, 5}},
                                                                  {{-128, -1}, "the least i8 by -1: wraps"},
                                                                  {{1.5, 0.1}},
                                                                  {{1, 0.1}},
                                                                  {{-1e-300, 1e300}},
                                                                  {{1e300, 3.5e-5}},
                                                                  {{-1e20, 0.7}},
                                                                  {{0.5, 0}, "x2 = 0: inf"},
                                                                  {{0, 0}, "0 / 0: nan"},
                                                                  {{HUGE_VAL, 2}, "x1 = inf"},
                                                                  {{3, HUGE_VAL}, "x2 = inf"},
                                                                  {{-3, HUGE_VAL}, "x2 = inf, other sign: -0"},
                                                                  {{3, -HUGE_VAL}, "x2 = inf, other sign: -0"},
                                                                  {{NAN, 1.5}}});
  // Integers refuse 0 / 0.
  std::erase_if(all, [](const Sample& s) { return is_integer(s.in[0].dtype()) && s.covers == "0 / 0: nan"; });
  return all;
}
}  // namespace

const Op op_floor_divide = elementwise({
    .name = "floor_divide",
    .group = "element-wise",
    .doc = "The largest integer not above x1 / x2, element by element, in the dtype of the operands. Integers are "
           "refused when x2 is 0; the least integer by -1 wraps around. Infinities as floor(x1 / x2).",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .forward = forward,
    .loops = &loops,
    .domain = "x2 != 0",
    .inside = [](std::span<const double> v) { return v[1] != 0; },
    .advice = "Mask the input, not the result: floor_divide(x1, where(x2 != 0, x2, 1)).",
    .partial = partial,
    .branches = {"the least i8 by -1: wraps", "x2 = 0: inf", "0 / 0: nan", "x1 = inf", "x2 = inf",
                 "x2 = inf, other sign: -0"},
    .samples = samples,
});
}  // namespace wp
