#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_permute_dims;
namespace {

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const Dims& axes = c.attr(0).ints();
  if (static_cast<std::int64_t>(axes.size()) != x.ndim())
    refuse<ArgumentError>("WP-ARG-003",
                          say("axes must name each axis of x once; got ", axes, " for shape ", x.shape(), "."));
  Dims shape, strides;
  SmallVector<bool, 8> used(axes.size(), false);
  for (const std::int64_t a : axes) {
    const auto k = static_cast<std::size_t>(normal_axis(a, x.ndim()));
    if (used[k]) refuse<ArgumentError>("WP-ARG-003", say("axes must name each axis of x once; got ", axes, "."));
    used[k] = true;
    shape.push_back(x.shape()[k]);
    strides.push_back(x.strides()[k]);
  }
  add_view(c, x, shape, strides);
}

Tensors vjp(const Backward& b) {
  const Dims& axes = b.attr(0).ints();
  Dims back(axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i)
    back[static_cast<std::size_t>(normal_axis(axes[i], static_cast<std::int64_t>(axes.size())))] =
        static_cast<std::int64_t>(i);
  return {permute_dims(b.g(), back)};
}

std::vector<Sample> samples() {
  return moving_samples(op_permute_dims, {2, 3, 2}, {Dims{2, 0, -2}});
}

}  // namespace

const Op op_permute_dims = {
    .name = "permute_dims",
    .group = "manipulation",
    .doc = "x with its axes in another order; a view.",
    .params = {{"x"}},
    .attrs = {{.name = "axes",
               .type = AttrType::ints,
               .doc = "The order: result axis i is axis axes[i] of x.",
               .required = true}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp,
    .jvp = jvp_linear,
    .samples = samples,
};

}  // namespace wp
