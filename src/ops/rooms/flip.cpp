#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_flip;
namespace {

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const auto flipped = reduced_axes(c.attr(0), x.ndim());
  Dims strides = x.strides();
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < flipped.size(); ++k)
    if (flipped[k] && x.size()) {
      offset += (x.shape()[k] - 1) * strides[k];
      strides[k] = -strides[k];
    }
  add_view(c, x, x.shape(), strides, offset);
}

std::vector<Sample> samples() {
  std::vector<Sample> all = moving_samples(op_flip, {2, 3}, {Dims{-1}});
  all.push_back({{counting(f64, {2, 3, 2})}, {Attr()}, "all axes"});
  all.push_back({{counting(f64, {2, 3, 2})}, {Dims{2, 0}}});
  all.push_back({{counting(f64, {0, 2})}, {Dims{0}}, "empty"});
  return all;
}

}  // namespace

const Op op_flip = {
    .name = "flip",
    .group = "manipulation",
    .doc = "x with the order of elements reversed along axes; a view.",
    .params = {{"x"}},
    .attrs = {{"axis", AttrType::ints, {}, "Axes to reverse; none: all of them."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp =
        [](const Backward& b) { return Tensors{b.attr(0) ? flip(b.g(), {.axis = b.attr(0).ints()}) : flip(b.g())}; },
    .jvp = jvp_linear,
    .branches = {"all axes", "empty"},
    .samples = samples,
};

}  // namespace wp
