#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sqrt;
namespace {

struct Sqrt {
  template <class T>
  WP_FN T apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return static_cast<T>(std::sqrt(complex128(a)));  // C's csqrt: cut along the negative axis, by the sign of 0
    else
      return std::sqrt(a);
  }
};
constexpr simd::Loops loops = simd::loops1<Sqrt>(simd::Floats{});

struct Back {
  template <class T>
  WP_FN T apply(T g, T y) {
    return g * (T(0.5) / y);
  }
};
constexpr simd::Loops fused = simd::loops2<Back>(simd::RealFloats{});

std::vector<Sample> samples() {
  return elementwise_samples(op_sqrt,
                             {{{4}},
                              {{2}},
                              {{0.1}},
                              {{1e-310}},
                              {{1e300}},
                              {{0}, "x = 0"},
                              {{-0.0}, "x = 0"},
                              {{-1}, "x < 0: nan"},
                              {{HUGE_VAL}, "x = inf"},
                              {{NAN}}},
                             {{{3, 4}},
                              {{0, 2}},
                              {{-4, 0}},
                              {{-4, -0.0}},
                              {{-4, 1e-30}},
                              {{0.1, -0.7}},
                              {{1e-30, 1e30}},
                              {{0, 0}},
                              {{1.5, HUGE_VAL}}});
}
}  // namespace

const Op op_sqrt = elementwise({
    .name = "sqrt",
    .group = "element-wise",
    .doc =
        "The square root of x, element by element; of complex numbers the one in the right half-plane. Integers give "
        "f64.",
    .params = {{"x", kinds::numeric}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "x >= 0",
    .inside = [](std::span<const double> v) { return v[0] >= 0; },
    .advice = "Mask the input, not the result: sqrt(where(x >= 0, x, 0)).",
    .partial = [](const Saved& s, std::size_t) { return divide(0.5, s.out[0]); },
    .fused = &fused,
    .saves_outputs = 1,
    .branches = {"x = 0", "x < 0: nan", "x = inf"},
    .samples = samples,
});
}  // namespace wp
