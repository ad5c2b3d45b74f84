#include <cmath>

#include "kernels/complex_math.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "simd/math.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_exp;
namespace {

constexpr simd::Loops loops =
    simd::join(simd::math_loops<simd::Fn::exp>(), kernels::complex_loops<kernels::complex_exp>());

struct Back {
  template <class T>
  WP_FN T apply(T g, T y) {
    return g * y;
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::RealFloats{});

std::vector<Sample> samples() {
  return elementwise_samples(op_exp,
                             {{{0}},
                              {{1}},
                              {{-2}},
                              {{0.5}},
                              {{20}},
                              {{1e-9}},
                              {{-700}},
                              {{1000}, "overflow: inf"},
                              {{-1000}, "underflow: 0"},
                              {{HUGE_VAL}, "x = inf"},
                              {{-HUGE_VAL}, "x = -inf"}},
                             {{{1, 1}}, {{-2, 0.5}}, {{0.25, -3}}, {{1e-5, -2e-6}}, {{-700, 2}}});
}
}  // namespace

const Op op_exp = elementwise({
    .name = "exp",
    .group = "element-wise",
    .doc = "The exponential of x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .advice = "Subtract the largest x first, as softmax and logsumexp do.",
    .partial = [](const Saved& s, std::size_t) { return s.out[0]; },
    .fused = &fused,
    .saves_outputs = 1,
    .branches = {"overflow: inf", "underflow: 0", "x = inf", "x = -inf"},
    .samples = samples,
});
}  // namespace wp
