#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_add;
namespace {

struct Add {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};
constexpr simd::Loops loops = simd::loops2<Add>(simd::Numbers{});

std::vector<Sample> samples() {
  return elementwise_samples(op_add, {{{1, 2}}, {{-3, 0.5}}, {{0, -7}}, {{100, 27}}},
                             {{{1, 2}, {0.5, -3}}, {{-1, 0}, {0, 1}}});
}
}  // namespace

const Op op_add = elementwise({
    .name = "add",
    .group = "element-wise",
    .doc = "The sum x1 + x2, element by element. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .operator_ = "+",
    .loops = &loops,
    .vjp =
        [](const Backward& b) {
          return Tensors{b.g(), b.g()};
        },
    .jvp = jvp_linear,
    .saves_inputs = 0,
    .samples = samples,
});
}  // namespace wp
