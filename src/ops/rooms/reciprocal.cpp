#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_reciprocal;
namespace {

constexpr simd::Loops loops = simd::loops1<Reciprocal>(simd::Floats{});

struct Back {
  template <class T>
  WP_FN T apply(T g, T y) {
    return -(g * (y * y));
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::RealFloats{});

std::vector<Sample> samples() {
  return elementwise_samples(op_reciprocal,
                             {{{1}},
                              {{-2}},
                              {{3}},
                              {{0.1}},
                              {{0}, "x = 0: inf"},
                              {{-0.0}, "x = -0: -inf"},
                              {{-HUGE_VAL}, "x = inf"},
                              {{NAN}}},
                             {{{3, 4}}, {{0, 2}}, {{-0.5, 0}}, {{1e-30, 1e-30}}, {{0.1, -0.7}}});
}
}  // namespace

const Op op_reciprocal = elementwise({
    .name = "reciprocal",
    .group = "element-wise",
    .doc = "1 / x, element by element. Integers give f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x != 0",
    .inside = [](std::span<const double> v) { return v[0] != 0; },
    .advice = "Mask the input, not the result: reciprocal(where(x != 0, x, 1)).",
    .partial = [](const Saved& s, std::size_t) { return negative(square(s.out[0])); },
    .fused = &fused,
    .saves_outputs = 1,
    .branches = {"x = 0: inf", "x = -0: -inf", "x = inf"},
    .samples = samples,
});
}  // namespace wp
