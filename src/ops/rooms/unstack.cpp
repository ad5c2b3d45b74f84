#include "ops/moves.hpp"

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
    .samples = samples,
};

}  // namespace wp
