#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_negative, op_positive;
namespace {

struct Negative {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(0 - static_cast<Wrapping<T>>(a));
    else
      return -a;
  }
};
constexpr simd::Loops negative_loops = simd::loops1<Negative>(simd::Numbers{});
constexpr simd::Loops positive_loops = simd::loops1<Same>(simd::Numbers{});

std::vector<Sample> samples(const Op& op) {
  return elementwise_samples(
      op, {{{1}}, {{-3}}, {{0.5}}, {{0}}, {{-0.0}}, {{-128}, "the least i8"}, {{HUGE_VAL}, "x = inf"}, {{NAN}}},
      {{{1, 2}}, {{-0.5, 0}}});
}
}  // namespace

const Op op_negative = elementwise({
    .name = "negative",
    .group = "element-wise",
    .doc = "-x, element by element. Integers wrap around.",
    .params = {{"x", kinds::numeric}},
    .operator_ = "-",
    .loops = &negative_loops,
    .notes = Notes::moves,
    .vjp = [](const Backward& b) { return Tensors{negative(b.g())}; },
    .jvp = jvp_linear,
    .branches = {"the least i8", "x = inf"},
    .samples = [] { return samples(op_negative); },
});
const Op op_positive = elementwise({
    .name = "positive",
    .group = "element-wise",
    .doc = "+x: a copy of x.",
    .params = {{"x", kinds::numeric}},
    .operator_ = "+",
    .loops = &positive_loops,
    .notes = Notes::moves,
    .vjp = [](const Backward& b) { return Tensors{b.g()}; },
    .jvp = jvp_linear,
    .branches = {"the least i8", "x = inf"},
    .samples = [] { return samples(op_positive); },
});
}  // namespace wp
