#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_maximum, op_minimum;
namespace {

constexpr simd::Loops maximum_loops = simd::loops2<Maximum>(simd::Reals{});
constexpr simd::Loops minimum_loops = simd::loops2<Minimum>(simd::Reals{});

std::vector<Sample> samples(const Op& op) {
  return elementwise_samples(op, {{{1, 7}},
                                  {{9, -3}},
                                  {{5, 2}},
                                  {{0.5, 4.25}},
                                  {{3, 3}, "equal"},
                                  {{0, -0.0}, "zeros of both signs"},
                                  {{-0.0, 0}, "zeros of both signs"},
                                  {{HUGE_VAL, 1}, "inf"},
                                  {{-2, -HUGE_VAL}, "inf"},
                                  {{NAN, 1}, "nan"},
                                  {{1, NAN}, "nan"},
                                  {{NAN, HUGE_VAL}, "nan"}});
}
Op extremum(std::string_view name, std::string_view doc, const simd::Loops& loops, Partial partial,
            std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = {{"x1", kinds::real}, {"x2", kinds::real}},
      .loops = &loops,
      .notes = Notes::moves,
      .carriers = carriers_equal,
      .partial = partial,
      .saves_inputs = 3,
      .branches = {"equal", "zeros of both signs", "inf", "nan"},
      .samples = samples,
  });
}
}  // namespace

const Op op_maximum = extremum(
    "maximum", "The larger of x1 and x2, element by element; NaN if either is. +0 is larger than -0.", maximum_loops,
    [](const Saved& s, std::size_t i) { return share(s.in[i], s.in[1 - i], s.output(0).dtype); },
    [] { return samples(op_maximum); });
const Op op_minimum = extremum(
    "minimum", "The smaller of x1 and x2, element by element; NaN if either is. -0 is smaller than +0.",
    minimum_loops, [](const Saved& s, std::size_t i) { return share(s.in[1 - i], s.in[i], s.output(0).dtype); },
    [] { return samples(op_minimum); });
}  // namespace wp
