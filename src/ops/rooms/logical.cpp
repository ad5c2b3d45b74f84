#include "ops/elementwise.hpp"

namespace wp {
extern const Op op_logical_and, op_logical_or, op_logical_xor, op_logical_not;
namespace {

using Bools = simd::Types<bool>;
struct And {
  WP_FN bool apply(bool a, bool b) { return (a & b) != 0; }
};
struct Or {
  WP_FN bool apply(bool a, bool b) { return (a | b) != 0; }
};
struct Xor {
  WP_FN bool apply(bool a, bool b) { return a != b; }
};
struct Not {
  WP_FN bool apply(bool a) { return !a; }
};
constexpr simd::Loops and_loops = simd::loops2<And>(Bools{});
constexpr simd::Loops or_loops = simd::loops2<Or>(Bools{});
constexpr simd::Loops xor_loops = simd::loops2<Xor>(Bools{});
constexpr simd::Loops not_loops = simd::loops1<Not>(Bools{});

Op logical(std::string_view name, std::string_view doc, const simd::Loops& loops, std::vector<Param> params,
           std::vector<Sample> (*samples)()) {
  return elementwise({
      .name = name,
      .group = "element-wise",
      .doc = doc,
      .params = std::move(params),
      .loops = &loops,
      .no_derivative = "the result is bool: it changes by jumps only.",
      .samples = samples,
  });
}
std::vector<Sample> pairs(const Op& op) {
  return elementwise_samples(op, {{{0, 0}}, {{0, 1}}, {{1, 0}}, {{1, 1}}});
}
const std::vector<Param> two{{"x1", kinds::boolean}, {"x2", kinds::boolean}};
}  // namespace

const Op op_logical_and = logical("logical_and", "Whether x1 and x2 are both true, element by element.", and_loops,
                                  two, [] { return pairs(op_logical_and); });
const Op op_logical_or = logical("logical_or", "Whether x1 or x2 or both are true, element by element.", or_loops,
                                 two, [] { return pairs(op_logical_or); });
const Op op_logical_xor = logical("logical_xor", "Whether just one of x1 and x2 is true, element by element.",
                                  xor_loops, two, [] { return pairs(op_logical_xor); });
const Op op_logical_not =
    logical("logical_not", "Whether x is false, element by element.", not_loops, {{"x", kinds::boolean}}, [] {
      return elementwise_samples(op_logical_not, {{{0}}, {{1}}});
    });
}  // namespace wp
