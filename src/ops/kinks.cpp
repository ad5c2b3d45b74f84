#include "ops/kinks.hpp"

#include "ops/dispatch.hpp"
#include "ops/follower.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
namespace {

enum { kX, kSlope, kKink, kG };

// 0/0 where `at` is true, else 0: noted as made here, and dropped where a choice drops it.
Tensor undefined_where(const Tensor& at, DType dtype) {
  return divide(zeros_for({{}, dtype}), astype(logical_not(at), dtype));
}
// Elements at the kink that move, where g vanishes there (or where it does not).
Tensor lost(const Saved& s, const Tensor& moving, bool vanishing) {
  const Unseen unseen;
  const checks off(CheckLevel::off);
  const Tensor zero = equal(s.in[kG], 0), there = logical_and(s.in[kKink], not_equal(moving, 0));
  return logical_and(there, vanishing ? zero : logical_not(zero));
}
bool is(const Saved& s, Kink kind) {
  return (s.attr(0).integer() & static_cast<std::int64_t>(kind)) != 0;
}
bool some(const Tensor& mark) {
  const Unseen unseen;
  const checks off(CheckLevel::off);
  return bool(any(mark));
}

Tensors vjp(const Backward& b) {
  const Tensor &slope = b.in[kSlope], &g = b.in[kG], &v = b.g();
  Tensors all(b.in.size());
  if (b.wants(kG)) all[kG] = add(multiply(v, conj_of(slope)), undefined_where(lost(b, v, true), real_of(v.dtype())));
  if (b.wants(kSlope)) {
    all[kSlope] = multiply(v, conj_of(g));
    if (!is(b, Kink::straight))
      all[kSlope] = add(all[kSlope], undefined_where(lost(b, v, false), real_of(v.dtype())));
  }
  return all;
}

// Along a direction |x| goes on as sign(dx) x.
Tensors jvp(const Forward& f) {
  const Tensor &dx = f.tangents[kX], &dg = f.tangents[kG];
  Tensor t = zeros_for(f.output(0)), slope = f.in[kSlope];
  if (dx.defined() && dg.defined() && is(f, Kink::one_sided)) slope = where(lost(f, dx, true), sign(dx), slope);
  if (dg.defined()) t = add(t, multiply(slope, dg));
  if (f.tangents[kSlope].defined()) t = add(t, multiply(f.tangents[kSlope], f.in[kG]));
  if (!dx.defined()) return {t};
  const auto without = [&](bool vanishing) {
    t = add(t, undefined_where(lost(f, dx, vanishing), real_of(t.dtype())));
  };
  if (!is(f, Kink::one_sided)) without(true);
  if (!is(f, Kink::straight)) without(false);
  return {t};
}

const Op op_slope_times = {
    .name = "slope_times",
    .group = "element-wise",
    .doc = "slope · g, which has no derivative at a kink.",
    .params = {{"x"}, {"slope"}, {.name = "kink", .separate = true}, {"g"}},
    .attrs = {{.name = "kind", .type = AttrType::integer, .required = true}},
    .infer = no_outputs,
    .forward =
        [](Call& c) {
          const Unseen unseen;
          c.out.push_back(multiply(c.in[kSlope], c.in[kG]));
        },
    .flow = flow_everything,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = ~0U,
};

}  // namespace

Tensor slope_times(const Backward& b, const Tensor& x, const Tensor& slope, const Tensor& kink, const Tensor& g,
                   Kink kind) {
  // A rule that is transposed is differentiated in g only.
  if (!followed(x) || !some(kink)) return multiply(slope, g);
  context().saw_nonfinite =
      true;  // it will be, if it is differentiated: the tape looks for what choices have dropped
  const Tensor* const in[] = {&x, &slope, &kink, &g};
  const Attr attrs[] = {static_cast<std::int64_t>(kind)};
  return call1(op_slope_times, in, attrs, b.place);
}

}  // namespace wp
