#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_broadcast_to;
extern const Op op_broadcast_arrays;
namespace {

void broadcast_one(Call& c) {
  const Tensor& x = c.in[0];
  const Dims& shape = c.attr(0).ints();
  if (!broadcasts_to(x.shape(), shape))
    refuse<ShapeError>("WP-SHP-001", say("x ", x.shape(), " does not broadcast to ", shape, "."),
                       "Axes are matched from the last; each must have the same length, or length 1 in x.");
  add_view(c, x, shape, broadcast_strides(x, shape));
}

void broadcast_all(Call& c) {
  Dims shape;
  for (std::size_t i = 0; i < c.in.size(); ++i) shape = broadcast(shape, c.in[i].shape());
  for (std::size_t i = 0; i < c.in.size(); ++i) add_view(c, c.in[i], shape, broadcast_strides(c.in[i], shape));
}

std::vector<Sample> to_samples() {
  std::vector<Sample> all = moving_samples(op_broadcast_to, {3, 1}, {Dims{2, 3, 2}});
  all.push_back({{counting(f64, {})}, {Dims{2, 2}}});
  all.push_back({{counting(f64, {1, 2})}, {Dims{0, 2}}, "empty"});
  return all;
}
std::vector<Sample> arrays_samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{counting(static_cast<DType>(k), {2, 1}), counting(f64, {3})}, {}});
  all.push_back({{counting(f64, {2}), counting(i32, {1, 1, 1}), counting(f32, {3, 1})}, {}});
  return all;
}

}  // namespace

const Op op_broadcast_to = {
    .name = "broadcast_to",
    .group = "manipulation",
    .doc = "x repeated to a larger shape, without copying: a view.",
    .params = {{"x"}},
    .attrs = {{.name = "shape",
               .type = AttrType::ints,
               .doc = "The shape of the result; x's axes are matched with it from the last.",
               .required = true}},
    .infer = no_outputs,
    .forward = broadcast_one,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors{b.g()}; },
    .jvp = jvp_linear,
    .branches = {"empty"},
    .samples = to_samples,
};

const Op op_broadcast_arrays = {
    .name = "broadcast_arrays",
    .group = "manipulation",
    .doc = "Each array repeated to the common shape of all of them, without copying: views.",
    .params = {{.name = "arrays", .variadic = true}},
    .outputs = {"arrays..."},
    .infer = no_outputs,
    .forward = broadcast_all,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors(b.cotangents.begin(), b.cotangents.end()); },
    .jvp = jvp_linear,
    .samples = arrays_samples,
};

}  // namespace wp
