#include "ops/arithmetic.hpp"
#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_isnan, op_isinf, op_isfinite;
namespace {

// Decided on the bits of |x|: infinity's are just below those of NaN.
template <class T>
WP_FN simd::UnsignedOf<T> magnitude(T a) {
  return static_cast<simd::UnsignedOf<T>>(std::bit_cast<simd::UnsignedOf<T>>(a) & (~simd::UnsignedOf<T>{0} >> 1));
}
template <class T>
inline constexpr simd::UnsignedOf<T> infinity =
    std::bit_cast<simd::UnsignedOf<T>>(std::numeric_limits<T>::infinity());

struct Isnan {
  template <class T>
  WP_FN bool apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return (a.real() != a.real()) | (a.imag() != a.imag());
    else if constexpr (std::is_floating_point_v<T>)
      return a != a;
    else
      return false;
  }
};
struct Isinf {
  template <class T>
  WP_FN bool apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return apply(a.real()) | apply(a.imag());
    else if constexpr (std::is_floating_point_v<T>)
      return magnitude(a) == infinity<T>;
    else
      return false;
  }
};
struct Isfinite {
  template <class T>
  WP_FN bool apply(T a) {
    if constexpr (simd::is_complex_v<T>)
      return apply(a.real()) & apply(a.imag());
    else if constexpr (std::is_floating_point_v<T>)
      return magnitude(a) < infinity<T>;
    else
      return true;
  }
};
constexpr simd::Loops isnan_loops = simd::loops1<Isnan>(simd::Numbers{});
constexpr simd::Loops isinf_loops = simd::loops1<Isinf>(simd::Numbers{});
constexpr simd::Loops isfinite_loops = simd::loops1<Isfinite>(simd::Numbers{});

std::vector<Sample> samples(const Op& op) {
  return elementwise_samples(op,
                             {{{1}},
                              {{-3}},
                              {{0}},
                              {{1e300}},
                              {{5e-324}},
                              {{HUGE_VAL}, "inf"},
                              {{-HUGE_VAL}, "inf"},
                              {{NAN}, "nan"},
                              {{-NAN}, "nan"}},
                             {{{1, 2}}, {{HUGE_VAL, NAN}}, {{1, -HUGE_VAL}}, {{NAN, 0}}, {{0, 0}}});
}
Op question(std::string_view name, std::string_view doc, const simd::Loops& loops, std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = {{"x", kinds::numeric}},
      .loops = &loops,
      .notes = Notes::drops,
      .no_derivative = "the result is bool: it changes by jumps only.",
      .branches = {"inf", "nan"},
      .samples = samples,
  });
}
}  // namespace

const Op op_isnan = question("isnan", "Whether x, or a part of a complex x, is NaN, element by element.", isnan_loops,
                             [] { return samples(op_isnan); });
const Op op_isinf = question("isinf", "Whether x, or a part of a complex x, is an infinity, element by element.",
                             isinf_loops, [] { return samples(op_isinf); });
const Op op_isfinite = question("isfinite", "Whether x is neither Inf nor NaN, element by element.", isfinite_loops,
                                [] { return samples(op_isfinite); });
}  // namespace wp
