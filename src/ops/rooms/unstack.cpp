#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_unstack;
namespace {

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const auto axis = static_cast<std::size_t>(normal_axis(c.attr(0).integer(), x.ndim()));
  Dims shape = x.shape(), strides = x.strides();
  const std::int64_t n = shape[axis], step = strides[axis];
  shape.erase(axis);
  strides.erase(axis);
  for (std::int64_t i = 0; i < n; ++i) add_view(c, x, shape, strides, i * step);
}

Tensors vjp(const Backward& b) {
  Tensors parts;
  for (std::size_t i = 0; i < b.cotangents.size(); ++i)
    parts.push_back(b.cotangents[i].defined() ? b.cotangents[i] : zeros_for(b.output(i)));
  return {stack(parts, {.axis = b.attr(0).integer()})};
}

std::vector<Sample> samples() {
  std::vector<Sample> all = moving_samples(op_unstack, {2, 3}, {0});
  all.push_back({{counting(f64, {2, 3, 2})}, {-2}});
  return all;
}

}  // namespace

const Op op_unstack = {
    .name = "unstack",
    .group = "manipulation",
    .doc = "The slices of x along an axis, one array each; views.",
    .params = {{"x"}},
    .attrs = {{"axis", AttrType::integer, 0, "The axis that goes."}},
    .outputs = {"arrays..."},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp,
    .jvp = jvp_linear,
    .samples = samples,
};

}  // namespace wp
