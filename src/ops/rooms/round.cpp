#include "ops/arithmetic.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_ceil, op_floor, op_round, op_trunc;
namespace {

// Integers are whole already.
#define WP_ROUNDING(Name, function)                       \
  struct Name {                                           \
    template <class T>                                    \
    WP_FN T apply(T a) {                                  \
      if constexpr (std::is_integral_v<T>)                \
        return a;                                         \
      else if constexpr (simd::is_complex_v<T>)           \
        return T(function(a.real()), function(a.imag())); \
      else                                                \
        return function(a);                               \
    }                                                     \
  }
WP_ROUNDING(Ceil, std::ceil);
WP_ROUNDING(Floor, std::floor);
WP_ROUNDING(Trunc, std::trunc);
WP_ROUNDING(Round, std::nearbyint);  // ties to even: the rounding mode is never changed
#undef WP_ROUNDING

constexpr simd::Loops ceil_loops = simd::loops1<Ceil>(simd::Reals{});
constexpr simd::Loops floor_loops = simd::loops1<Floor>(simd::Reals{});
constexpr simd::Loops trunc_loops = simd::loops1<Trunc>(simd::Reals{});
constexpr simd::Loops round_loops = simd::loops1<Round>(simd::Numbers{});

std::vector<Sample> samples(const Op& op) {
  return elementwise_samples(op,
                             {{{2}},
                              {{-3}},
                              {{1.75}},
                              {{-1.75}},
                              {{0.5}, "halfway"},
                              {{1.5}, "halfway"},
                              {{2.5}, "halfway"},
                              {{-2.5}, "halfway"},
                              {{0.49999999999999994}},
                              {{-0.25}, "between -1 and 0: -0"},
                              {{-0.0}, "x = -0"},
                              {{4503599627370495.5}},
                              {{1e300}},
                              {{-HUGE_VAL}, "x = inf"},
                              {{NAN}}},
                             {{{0.5, 1.5}}, {{-0.25, 2.75}}, {{2.5, -3.5}}});
}
Op rounding(std::string_view name, std::string_view doc, const simd::Loops& loops, Kinds kinds,
            std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = {{"x", kinds}},
      .loops = &loops,
      .notes = Notes::moves,
      .partial = [](const Saved&, std::size_t) { return Tensor(); },  // steps: the slope is 0
      .branches = {"halfway", "between -1 and 0: -0", "x = -0", "x = inf"},
      .samples = samples,
  });
}
}  // namespace

const Op op_ceil = rounding("ceil", "The least whole number not below x, element by element, in x's dtype.",
                            ceil_loops, kinds::real, [] { return samples(op_ceil); });
const Op op_floor = rounding("floor", "The largest whole number not above x, element by element, in x's dtype.",
                             floor_loops, kinds::real, [] { return samples(op_floor); });
const Op op_trunc = rounding("trunc", "x without its fraction, element by element, in x's dtype.", trunc_loops,
                             kinds::real, [] { return samples(op_trunc); });
const Op op_round = rounding("round",
                             "The whole number nearest to x, element by element, in x's dtype; halves go to the even "
                             "one. Complex numbers are rounded in both parts.",
                             round_loops, kinds::numeric, [] { return samples(op_round); });
}  // namespace wp
