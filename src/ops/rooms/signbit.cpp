#include "ops/arithmetic.hpp"
#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_signbit;
namespace {

struct Signbit {
  template <class T>
  WP_FN bool apply(T a) {
    return (std::bit_cast<simd::UnsignedOf<T>>(a) >> (sizeof(T) * 8 - 1)) != 0;
  }
};
constexpr simd::Loops loops = simd::loops1<Signbit>(simd::RealFloats{});

std::vector<Sample> samples() {
  return elementwise_samples(op_signbit, {{{7}},
                                          {{-3}},
                                          {{0}, "x = 0"},
                                          {{-0.0}, "x = -0"},
                                          {{HUGE_VAL}, "x = inf"},
                                          {{-HUGE_VAL}, "x = inf"},
                                          {{NAN}, "x = nan"}});
}
}  // namespace

const Op op_signbit = elementwise({
    .name = "signbit",
    .group = "element-wise",
    .doc = "Whether the sign bit of x is set, element by element: true for -0 too.",
    .params = {{"x", kinds::real_floating}},
    .loops = &loops,
    .notes = Notes::judges,
    .no_derivative = "the result is bool: it changes by jumps only.",
    .branches = {"x = 0", "x = -0", "x = inf", "x = nan"},
    .samples = samples,
});
}  // namespace wp
