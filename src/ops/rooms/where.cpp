#include <cmath>

#include "ops/derivative.hpp"
#include "ops/elementwise.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_where;
namespace {

struct Choose {
  template <class T>
  WP_FN T apply(bool c, T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return ((c & a) | (!c & b)) != 0;
    else
      return c ? a : b;
  }
};
constexpr simd::Loops loops = simd::loops3<Choose>(simd::AllTypes{});

// The condition, and the chosen branch only: what the other holds does not leave.
void flow(const FlowQuery& q, Visit visit) {
  if (q.input != 0) {
    bool condition = false;
    const auto look = [&](std::int64_t e) { condition = value_at(q.call.in[0], e).real() != 0; };
    flow_elementwise({q.call, q.output, q.element, 0}, look);
    if (condition != (q.input == 1)) return;
  }
  flow_elementwise(q, visit);
}

std::vector<Sample> samples() {
  return elementwise_samples(op_where,
                             {{{1, 3, 7}},
                              {{0, 3, 7}},
                              {{1, 1, 0}},
                              {{0, 1, 0}},
                              {{1, -2.5, 0.5}},
                              {{0, -0.0, 0}},
                              {{1, 2, HUGE_VAL}, "inf not chosen"},
                              {{0, 2, -HUGE_VAL}, "inf chosen"},
                              {{1, 2.5, NAN}, "nan not chosen"}},
                             {{1, {1, 2}, {0.5, -3}}, {0, {1, 2}, {0.5, -3}}});
}
}  // namespace

const Op op_where = elementwise({
    .name = "where",
    .group = "searching",
    .doc =
        "x1 where condition is true, x2 elsewhere, element by element. What is not chosen has no part in the result, "
        "its Inf and NaN included.",
    .params = {{.name = "condition", .kinds = kinds::boolean, .separate = true}, {"x1"}, {"x2"}},
    .loops = &loops,
    .notes = Notes::moves,
    .flow = flow,
    .vjp =
        [](const Backward& b) {
          return Tensors{{}, where(b.in[0], b.g(), 0), where(b.in[0], 0, b.g())};
        },
    .jvp = jvp_linear,
    .saves_inputs = 1,
    .branches = {"inf not chosen", "inf chosen", "nan not chosen"},
    .samples = samples,
});
}  // namespace wp
