#include <cmath>

#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_equal, op_not_equal, op_less, op_less_equal, op_greater, op_greater_equal;
namespace {

#define WP_COMPARISON(Name, sign) \
  struct Name {                   \
    template <class T>            \
    WP_FN bool apply(T a, T b) {  \
      return a sign b;            \
    }                             \
  }
WP_COMPARISON(Less, <);
WP_COMPARISON(LessEqual, <=);
WP_COMPARISON(Greater, >);
WP_COMPARISON(GreaterEqual, >=);
#undef WP_COMPARISON
struct Equal {
  template <class T>
  WP_FN bool apply(T a, T b) {
    if constexpr (simd::is_complex_v<T>)
      return (a.real() == b.real()) & (a.imag() == b.imag());
    else
      return a == b;
  }
};
struct NotEqual {
  template <class T>
  WP_FN bool apply(T a, T b) {
    return !Equal::apply(a, b);
  }
};

template <class F, class T>
constexpr simd::Loops loops = simd::loops2<F>(T{});

std::vector<Sample> samples(const Op& op) {
  return elementwise_samples(op,
                             {{{1, 2}},
                              {{5, 2}},
                              {{3, 3}},
                              {{0, 1}},
                              {{1, 1}},
                              {{-3, 0.5}},
                              {{0, -0.0}, "zeros of both signs"},
                              {{HUGE_VAL, HUGE_VAL}, "inf"},
                              {{-HUGE_VAL, HUGE_VAL}, "inf"},
                              {{NAN, 1}, "nan"},
                              {{1, NAN}, "nan"},
                              {{NAN, NAN}, "nan"}},
                             {{{1, 2}, {1, 2}}, {{1, 2}, {1, 3}}, {{1, 2}, {0, 2}}, {{1, NAN}, {1, NAN}}});
}

template <class F, class T>
Op comparison(std::string_view name, std::string_view sign, std::string_view doc, Kinds kinds,
              std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = {{"x1", kinds}, {"x2", kinds}},
      .operator_ = sign,
      .loops = &loops<F, T>,
      .notes = Notes::judges,
      .no_derivative = "the result is bool: it changes by jumps only.",
      .branches = {"zeros of both signs", "inf", "nan"},
      .samples = samples,
  });
}
}  // namespace

const Op op_equal = comparison<Equal, simd::AllTypes>(
    "equal", "==", "Whether x1 is equal to x2, element by element. NaN is equal to nothing, -0 to +0.", kinds::any,
    [] { return samples(op_equal); });
const Op op_not_equal = comparison<NotEqual, simd::AllTypes>(
    "not_equal", "!=", "Whether x1 differs from x2, element by element. NaN differs from all, itself included.",
    kinds::any, [] { return samples(op_not_equal); });
const Op op_less = comparison<Less, simd::Reals>("less", "<", "Whether x1 < x2, element by element; false with NaN.",
                                                 kinds::real, [] { return samples(op_less); });
const Op op_less_equal =
    comparison<LessEqual, simd::Reals>("less_equal", "<=", "Whether x1 <= x2, element by element; false with NaN.",
                                       kinds::real, [] { return samples(op_less_equal); });
const Op op_greater =
    comparison<Greater, simd::Reals>("greater", ">", "Whether x1 > x2, element by element; false with NaN.",
                                     kinds::real, [] { return samples(op_greater); });
const Op op_greater_equal = comparison<GreaterEqual, simd::Reals>(
    "greater_equal", ">=", "Whether x1 >= x2, element by element; false with NaN.", kinds::real,
    [] { return samples(op_greater_equal); });
}  // namespace wp
