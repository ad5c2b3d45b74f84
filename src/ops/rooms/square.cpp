#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_square;
namespace {

constexpr simd::Loops loops = simd::loops1<Square>(simd::Numbers{});

struct Back {
  template <class T>
  WP_FN T apply(T g, T x) {
    return g * (T(2) * x);
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::RealFloats{});

std::vector<Sample> samples() {
  return elementwise_samples(op_square,
                             {{{3}},
                              {{-5}},
                              {{0.1}},
                              {{-0.0}},
                              {{100}, "wraps in i8"},
                              {{1e200}, "overflow: inf"},
                              {{1e-200}},
                              {{-HUGE_VAL}, "x = inf"},
                              {{NAN}}},
                             {{{1, 2}}, {{0.1, -0.7}}, {{1, 1}}, {{1.0000001, 1}}});
}
}  // namespace

const Op op_square = elementwise({
    .name = "square",
    .group = "element-wise",
    .doc = "x * x, element by element. Integers wrap around.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .partial = [](const Saved& s, std::size_t) { return multiply(2, s.in[0]); },
    .fused = &fused,
    .saves_inputs = 1,
    .branches = {"wraps in i8", "overflow: inf", "x = inf"},
    .samples = samples,
});
}  // namespace wp
