#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_expand_dims;
extern const Op op_squeeze;
namespace {

void expand(Call& c) {
  const Tensor& x = c.in[0];
  const auto fresh = reduced_axes(c.attr(0), x.ndim() + static_cast<std::int64_t>(c.attr(0).ints().size()));
  Dims shape, strides;
  std::size_t k = 0;
  for (const bool one : fresh) {
    shape.push_back(one ? 1 : x.shape()[k]);
    strides.push_back(one ? 1 : x.strides()[k]);
    k += one ? 0 : 1;
  }
  add_view(c, x, shape, strides);
}

void squeeze(Call& c) {
  const Tensor& x = c.in[0];
  const auto dropped = reduced_axes(c.attr(0), x.ndim());
  Dims shape, strides;
  for (std::size_t k = 0; k < dropped.size(); ++k) {
    if (!dropped[k]) {
      shape.push_back(x.shape()[k]);
      strides.push_back(x.strides()[k]);
    } else if (x.shape()[k] != 1) {
      refuse<ShapeError>("WP-SHP-007", say("only axes of length 1 can go; axis ", k, " of x ", x.shape(),
                                           " has length ", x.shape()[k], "."));
    }
  }
  add_view(c, x, shape, strides);
}

std::vector<Sample> expand_samples() {
  std::vector<Sample> all = moving_samples(op_expand_dims, {2, 3}, {Dims{1}});
  all.push_back({{counting(f64, {2, 3})}, {Dims{-1, 0}}});
  all.push_back({{counting(f64, {})}, {Dims{0}}});
  return all;
}
std::vector<Sample> squeeze_samples() {
  std::vector<Sample> all = moving_samples(op_squeeze, {1, 3, 1}, {Dims{0, -1}});
  all.push_back({{counting(f64, {2, 1})}, {Dims{1}}});
  return all;
}

}  // namespace

const Op op_expand_dims = {
    .name = "expand_dims",
    .group = "manipulation",
    .doc = "x with new axes of length 1; a view.",
    .params = {{"x"}},
    .attrs = {{"axis", AttrType::ints, Dims{0}, "Where the new axes stand in the result."}},
    .infer = no_outputs,
    .forward = expand,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors{reshape(b.g(), b.shape(0))}; },
    .jvp = jvp_linear,
    .samples = expand_samples,
};

const Op op_squeeze = {
    .name = "squeeze",
    .group = "manipulation",
    .doc = "x without the named axes, each of which has length 1; a view.",
    .params = {{"x"}},
    .attrs = {{.name = "axis", .type = AttrType::ints, .doc = "The axes to drop.", .required = true}},
    .infer = no_outputs,
    .forward = squeeze,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors{reshape(b.g(), b.shape(0))}; },
    .jvp = jvp_linear,
    .samples = squeeze_samples,
};

}  // namespace wp
