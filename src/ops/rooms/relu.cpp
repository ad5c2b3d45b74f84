#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

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

struct Back {
  template <class T>
  WP_FN T apply(T g, T y) {
    return y > T(0) ? g : T(0);
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::Types<float, double>{});

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
    .selects = true,
    .partial = [](const Saved& s, std::size_t) { return astype(greater(s.out[0], 0), s.out[0].dtype()); },
    .fused = &fused,
    .saves_outputs = 1,
    .branches = {"x < 0: 0", "x = 0"},
    .samples = samples,
});
}  // namespace wp
