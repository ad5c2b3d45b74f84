#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_multiply;
namespace {

struct Multiply {
  template <class T>
  WP_FN T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    else if constexpr (simd::is_complex_v<T>)  // the textbook formula, also for infinities: within √5 u of |x1 x2|
      return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
    else
      return a * b;
  }
};
constexpr simd::Loops loops = simd::loops2<Multiply>(simd::Numbers{});

std::vector<Sample> samples() {
  return elementwise_samples(op_multiply,
                             {{{1, 2}},
                              {{5, 3}},
                              {{-3, 0.5}},
                              {{0.1, 0.3}},
                              {{-0.0, 2}},
                              {{0, -2}},
                              {{100, 3}, "wraps in i8"},
                              {{1e300, 1e300}, "overflow: inf"},
                              {{1e-300, 1e-300}},
                              {{HUGE_VAL, 0}, "inf * 0: nan"},
                              {{NAN, 1.5}}},
                             {{{1, 2}, {0.5, -3}}, {{-1, 0}, {0, 1}}, {{0.1, 0.7}, {0.3, -0.2}}});
}
}  // namespace

const Op op_multiply = elementwise({
    .name = "multiply",
    .group = "element-wise",
    .doc = "The product x1 * x2, element by element. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .operator_ = "*",
    .loops = &loops,
    .partial = [](const Saved& s, std::size_t i) { return s.in[1 - i]; },
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"wraps in i8", "overflow: inf", "inf * 0: nan"},
    .samples = samples,
});
}  // namespace wp
