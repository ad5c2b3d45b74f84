#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_roll;
namespace {

// How far each axis of `shape` moves, from 0 to its length − 1.
Dims shifts(const Dims& shape, const Dims& shift, const Dims& axes) {
  if (shift.size() != axes.size() && shift.size() != 1)
    refuse<ArgumentError>("WP-ARG-003",
                          say("needs one shift, or one per axis; got shift ", shift, " and axis ", axes, "."));
  Dims by(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto k = static_cast<std::size_t>(normal_axis(axes[i], static_cast<std::int64_t>(shape.size())));
    const std::int64_t n = shape[k];
    if (n) by[k] = (by[k] + shift[shift.size() == 1 ? 0 : i] % n + n) % n;
  }
  return by;
}

void forward(Call& c) {
  Tensor x = c.in[0];
  Tensor y = c.output(x.dtype(), x.shape());
  const Dims& shift = c.attr(0).ints();
  Dims axes = c.attr(1) ? c.attr(1).ints() : Dims{0};
  if (!c.attr(1)) {
    if (shift.size() != 1)
      refuse<ArgumentError>("WP-ARG-003", say("needs one shift when no axis is given; got ", shift, "."));
    x = contiguous(x);
    x = view_of(x, {x.size()}, {1});
    y = view_of(y, {y.size()}, {1});
  }
  const Dims by = shifts(x.shape(), shift, axes);
  rolled_into(y, x, by);
}

Tensors vjp(const Backward& b) {
  Dims back = b.attr(0).ints();
  for (std::int64_t& s : back) s = -s;
  return {b.attr(1) ? roll(b.g(), back, {.axis = b.attr(1).ints()}) : roll(b.g(), back)};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = moving_samples(op_roll, {2, 3}, {Dims{1}, Dims{-1}});
  const Tensor x = counting(f64, {3, 4});
  all.push_back({{x}, {Dims{5}, Attr()}, "no axis: flattened"});
  all.push_back({{x}, {Dims{-1, 2}, Dims{0, 1}}, "several axes"});
  all.push_back({{x}, {Dims{1}, Dims{0, 1}}});
  all.push_back({{x}, {Dims{1, 1}, Dims{1, 1}}, "an axis twice: shifts add"});
  all.push_back({{counting(f64, {0, 2})}, {Dims{1}, Dims{0}}, "empty"});
  return all;
}

}  // namespace

const Op op_roll = {
    .name = "roll",
    .group = "manipulation",
    .doc = "x with its elements moved along axes; what leaves at one end enters at the other.",
    .params = {{"x"}},
    .attrs =
        {{.name = "shift",
          .type = AttrType::ints,
          .doc = "How far: positive towards larger indices. One number, or one per axis.",
          .required = true},
         {"axis", AttrType::ints, {}, "Axes to move along; none: x is flattened, rolled and given its shape back."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp,
    .jvp = jvp_linear,
    .branches = {"no axis: flattened", "several axes", "an axis twice: shifts add", "empty"},
    .samples = samples,
};

}  // namespace wp
