#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_divide;
namespace {

constexpr simd::Loops loops = simd::loops2<Divide>(simd::Floats{});

std::vector<Sample> samples() {
  return elementwise_samples(op_divide,
                             {{{1, 2}},
                              {{5, 3}},
                              {{-7, 3}},
                              {{-3, 0.5}},
                              {{-0.0, 2}},
                              {{0, 2}},
                              {{1, 0}, "x2 = 0: inf"},
                              {{0.5, -0.0}, "x2 = -0: -inf"},
                              {{0, 0}, "0 / 0: nan"},
                              {{1e300, 1e-300}, "overflow: inf"},
                              {{1e-300, 1e10}},
                              {{3, HUGE_VAL}, "x2 = inf"},
                              {{HUGE_VAL, HUGE_VAL}, "inf / inf: nan"},
                              {{NAN, 1.5}}},
                             {{{1, 2}, {0.5, -3}},
                              {{-1, 0}, {0, 1}},
                              {{3, 4}, {1e-30, -1e-30}},
                              {{0.1, 0.7}, {0.3, -0.2}},
                              {{1e30, 1e30}, {1e30, 2e30}}});
}
}  // namespace

const Op op_divide = elementwise({
    .name = "divide",
    .group = "element-wise",
    .doc = "The quotient x1 / x2, element by element. Integers give f64.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .operator_ = "/",
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x2 != 0",
    .inside = [](std::span<const double> v) { return v[1] != 0; },
    .advice = "Mask the input, not the result: x1 / where(x2 != 0, x2, 1).",
    .partial = [](const Saved& s,
                  std::size_t i) { return i == 0 ? reciprocal(s.in[1]) : negative(divide(s.out[0], s.in[1])); },
    .saves_inputs = 2,
    .saves_outputs = 1,
    .outputs_for = 2,
    .branches = {"x2 = 0: inf", "x2 = -0: -inf", "0 / 0: nan", "overflow: inf", "x2 = inf", "inf / inf: nan"},
    .samples = samples,
});
}  // namespace wp
