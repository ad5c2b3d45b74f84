#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_copysign;
namespace {

struct Copysign {
  template <class T>
  WP_FN T apply(T a, T b) {
    return std::copysign(a, b);
  }
};
constexpr simd::Loops loops = simd::loops2<Copysign>(simd::RealFloats{});

// |x1| has the subgradient 0 at 0; x2 matters by jumps only.
Tensor partial(const Saved& s, std::size_t i) {
  return i == 0 ? multiply(sign(s.in[0]), copysign(1, s.in[1])) : Tensor();
}

std::vector<Sample> samples() {
  return elementwise_samples(op_copysign, {{{7, -2}},
                                           {{-3, 5}},
                                           {{-3, -5}},
                                           {{0, -1}},
                                           {{1.5, 0}, "x2 = 0"},
                                           {{1.5, -0.0}, "x2 = -0"},
                                           {{HUGE_VAL, -1}, "x1 = inf"},
                                           {{2, -HUGE_VAL}, "x2 = inf"},
                                           {{NAN, -1}, "x1 = nan"},
                                           {{-2.5, NAN}, "x2 = nan"}});
}
}  // namespace

const Op op_copysign = elementwise({
    .name = "copysign",
    .group = "element-wise",
    .doc = "The magnitude of x1 with the sign of x2, element by element; the sign of zeros and NaN counts. Integers "
           "give "
           "f64.",
    .params = {{"x1", kinds::real}, {"x2", kinds::real}},
    .loops = &loops,
    .notes = Notes::moves,
    .integer_as_float = kinds::integer,
    .partial = partial,
    .saves_inputs = 3,
    .branches = {"x2 = 0", "x2 = -0", "x1 = inf", "x2 = inf", "x1 = nan", "x2 = nan"},
    .samples = samples,
});
}  // namespace wp
