#include <cmath>

#include "kernels/polygamma.hpp"
#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_polygamma;
namespace {

struct Polygamma {
  template <class T>
  WP_FN T apply(T n, T x) {
    return static_cast<T>(kernels::polygamma(static_cast<double>(n), static_cast<double>(x)));
  }
};
constexpr simd::Loops loops = simd::loops2<Polygamma>(simd::RealFloats{});

// Between whole numbers n there is nothing to vary.
Tensor partial(const Saved& s, std::size_t i) {
  return i == 1 ? polygamma(add(s.in[0], 1), s.in[1]) : Tensor();
}

std::vector<Sample> samples() {
  return elementwise_samples(op_polygamma, {{{1, 1}},
                                            {{1, 0.5}},
                                            {{2, 3.25}},
                                            {{3, 20}},
                                            {{1, 1000}},
                                            {{5, 0.75}},
                                            {{2, 1e-3}},
                                            {{1, -0.5}, "x < 0"},
                                            {{2, -3.25}, "x < 0"},
                                            {{4, -0.125}, "x < 0"},
                                            {{1, 0}, "x = 0, -1, -2, …: inf or nan"},
                                            {{2, -3}, "x = 0, -1, -2, …: inf or nan"},
                                            {{1.5, 2}, "n is no whole number: nan"},
                                            {{0, 2}, "n is no whole number: nan"},
                                            {{1, HUGE_VAL}, "x = inf"}});
}
}  // namespace

const Op op_polygamma = elementwise({
    .name = "polygamma",
    .group = "special",
    .doc = "The n-th derivative of digamma at x, element by element; n = 1 is trigamma. Integers give f64.",
    .params = {{"n", kinds::real, "A whole number from 1 to 1000."}, {"x", kinds::real}},
    .loops = &loops,
    .integer_as_float = kinds::integer,
    .domain = "n = 1, 2, …, 1000 and x other than 0, -1, -2, …",
    .inside =
        [](std::span<const double> v) {
          return v[0] >= 1 && v[0] <= kernels::kMostPolygamma && v[0] == std::floor(v[0]) &&
                 !(v[1] <= 0 && v[1] == std::floor(v[1]));
        },
    .advice = "For n = 0 use digamma; mask the input, not the result.",
    .partial = partial,
    .saves_inputs = 3,
    .branches = {"x < 0", "x = 0, -1, -2, …: inf or nan", "n is no whole number: nan", "x = inf"},
    .samples = samples,
});
}  // namespace wp
