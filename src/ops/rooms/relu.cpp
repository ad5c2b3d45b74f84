#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_relu;
namespace {

struct Relu {
  template <class T>
  WP_FN T apply(T x) {
    return x <= T(0) ? T(0) : x;
  }
};
constexpr simd::Loops loops = simd::loops1<Relu>(simd::Reals{});

std::vector<Sample> samples() {
  return elementwise_samples(op_relu, {{{1}}, {{2.5}}, {{100}}, {{-1}, "x < 0: 0"}, {{0}, "x = 0"}});
}
}  // namespace

const Op op_relu = elementwise({
    .name = "relu",
    .group = "activation",
    .doc = "max(x, 0), element by element. NaN stays NaN.",
    .params = {{"x", kinds::real}},
    .loops = &loops,
    .saves_outputs = 1,
    .branches = {"x < 0: 0", "x = 0"},
    .samples = samples,
});
}  // namespace wp
