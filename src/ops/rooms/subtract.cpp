#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_subtract;
namespace {

struct Subtract {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    else
      return a - b;
  }
};
constexpr simd::Loops loops = simd::loops2<Subtract>(simd::Numbers{});

std::vector<Sample> samples() {
  return elementwise_samples(op_subtract,
                             {{{1, 2}},
                              {{5, 3}},
                              {{-3, 0.5}},
                              {{-0.0, 0}},
                              {{100, -27}, "wraps in i8"},
                              {{1e300, -1e300}},
                              {{HUGE_VAL, HUGE_VAL}, "inf - inf: nan"},
                              {{1.5, NAN}}},
                             {{{1, 2}, {0.5, -3}}, {{-1, 0}, {0, 1}}});
}
}  // namespace

const Op op_subtract = elementwise({
    .name = "subtract",
    .group = "element-wise",
    .doc = "The difference x1 - x2, element by element. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .operator_ = "-",
    .loops = &loops,
    .vjp =
        [](const Backward& b) {
          return Tensors{b.g(), b.wants(1) ? negative(b.g()) : Tensor()};
        },
    .jvp = jvp_linear,
    .branches = {"wraps in i8", "inf - inf: nan"},
    .samples = samples,
});
}  // namespace wp
