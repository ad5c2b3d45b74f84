#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_nextafter;
namespace {

// The neighbour of a towards b on the bits of any binary format: magnitudes count up from zero.
template <class Bits>
WP_FN Bits neighbour(Bits a, Bits b, Bits infinity) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const Bits size_a = static_cast<Bits>(a & ~sign), size_b = static_cast<Bits>(b & ~sign);
  if (size_a > infinity) return a;
  if (size_b > infinity || a == b) return b;
  if ((size_a | size_b) == 0) return b;                       // +0 towards −0 and back
  if (size_a == 0) return static_cast<Bits>((b & sign) | 1);  // the least number with the sign of b
  const bool outwards = ((a ^ b) & sign) == 0 && size_a < size_b;
  return static_cast<Bits>(outwards ? a + 1 : a - 1);
}

struct Nextafter {
  template <class T>
  WP_FN T apply(T a, T b) {
    using Bits = simd::UnsignedOf<T>;
    return std::bit_cast<T>(neighbour<Bits>(std::bit_cast<Bits>(a), std::bit_cast<Bits>(b),
                                            std::bit_cast<Bits>(std::numeric_limits<T>::infinity())));
  }
};
constexpr simd::Loops loops = simd::loops2<Nextafter>(simd::RealFloats{});

// f16 and bf16 have neighbours of their own: computing in f32 would round back to x1.
template <std::uint16_t infinity>
void narrow(void* const* p, std::int64_t n, simd::Status* status) {
  const auto* const a = static_cast<const std::uint16_t*>(p[0]);
  const auto* const b = static_cast<const std::uint16_t*>(p[1]);
  auto* const r = static_cast<std::uint16_t*>(p[2]);
  bool bad = false;
  for (std::int64_t i = 0; i < n; ++i) {
    r[i] = neighbour(a[i], b[i], infinity);
    bad |= (r[i] & 0x7fffU) >= infinity;
  }
  if (bad) status->bits |= simd::Status::nonfinite;
}

template <std::uint16_t infinity>
constexpr simd::Loop narrow_loop(DType d) {
  return {d, d, {narrow<infinity>, narrow<infinity>, narrow<infinity>}};
}

void forward(Call& c) {
  if (c.key == f16)
    walk_elementwise(c, narrow_loop<0x7c00>(f16));
  else if (c.key == bf16)
    walk_elementwise(c, narrow_loop<0x7f80>(bf16));
  else
    forward_elementwise(c);
}

std::vector<Sample> samples() {
  return elementwise_samples(op_nextafter, {{{1, 2}},
                                            {{1, 0}},
                                            {{-1, 2}},
                                            {{-1, -2}},
                                            {{3, 3}},
                                            {{0, 1}, "x1 = 0: the least number"},
                                            {{0, -1}, "x1 = 0: the least number"},
                                            {{1e-320, -1}},
                                            {{0, -0.0}, "0 towards -0"},
                                            {{-0.0, 0}, "0 towards -0"},
                                            {{HUGE_VAL, 0}, "x1 = inf: the largest number"},
                                            {{0x1.fffffffffffffp1023, HUGE_VAL}, "past the largest number: inf"},
                                            {{NAN, 1}, "nan"},
                                            {{1, NAN}, "nan"}});
}
}  // namespace

const Op op_nextafter = elementwise({
    .name = "nextafter",
    .group = "element-wise",
    .doc =
        "The number next to x1 in the direction of x2, in their common dtype, element by element. Integers give f64.",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .forward = forward,
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .vjp =
        [](const Backward& b) {
          return Tensors{b.g(), {}};
        },
    .jvp = [](const Forward& f) { return Tensors{f.tangents[0].defined() ? f.tangents[0] : zeros_for(f.output(0))}; },
    .branches = {"x1 = 0: the least number", "0 towards -0", "x1 = inf: the largest number",
                 "past the largest number: inf", "nan"},
    .samples = samples,
});
}  // namespace wp
