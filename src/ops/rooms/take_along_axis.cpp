#include "base/text.hpp"
#include "kernels/pick.hpp"
#include "ops/derivative.hpp"
#include "ops/indices.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_take_along_axis;
extern const Op op_gather;
namespace {

void forward(Call& c) {
  const Tensor &x = c.in[0], &indices = c.in[1];
  if (indices.ndim() != x.ndim() || x.ndim() == 0)
    refuse<ShapeError>("WP-SHP-012",
                       say("x and indices need as many axes, at least one; got x ", x.shape(), " and indices ",
                           indices.shape(), "."),
                       "Use take to choose whole slices.");
  const std::int64_t axis = normal_axis(c.attr(0).integer(), x.ndim());
  const auto a = static_cast<std::size_t>(axis);
  const Tensor at = positions(indices, x.shape()[a], "indices", axis);
  Dims rest = x.shape(), index_rest = indices.shape();
  rest[a] = index_rest[a] = 1;
  Dims shape = broadcast(rest, index_rest);
  Dims indexed = broadcast_strides(view_of(x, rest, x.strides()), shape);
  indexed[a] = x.strides()[a];
  shape[a] = indices.shape()[a];
  const Tensor& y = c.output(x.dtype(), shape);
  const kernels::Along plan{shape,
                            a,
                            indexed,
                            y.strides(),
                            broadcast_strides(at, shape),
                            reinterpret_cast<const std::int64_t*>(at.node()->data)};
  kernels::take_along(plan, y.node()->data, x.node()->data, size_of(x.dtype()));
}

void flow(const FlowQuery& q, Visit visit) {
  if (q.input == 0) return flow_moves(q, visit);
  visit(broadcast_element(unravel(q.element, q.call.out[0].shape()), q.call.in[1].shape()));
}

Tensors vjp(const Backward& b) {
  const std::int64_t axis = normal_axis(b.attr(0).integer(), static_cast<std::int64_t>(b.shape(0).size()));
  Dims shape = b.g().shape();
  shape[static_cast<std::size_t>(axis)] = b.shape(0)[static_cast<std::size_t>(axis)];
  return {scatter(zeros_for({shape, b.g().dtype()}), b.in[1], b.g(), {.axis = axis, .mode = "add"})};
}

std::vector<Sample> both_samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{counting(static_cast<DType>(k), {2, 3}), Tensor{{2, 0, 0, 1}, {1, -1, -3, 0}}}, {-1}});
  const Tensor x = counting(f64, {3, 4});
  for (const DType d : {i8, i16, i32, u8, u16, u32, u64})
    all.push_back({{x, converted(Tensor{{2, 0, 1, 1}, {0, 1, 2, 2}}, d)}, {0}, "an axis before the last"});
  all.push_back({{x, Tensor{{0, 3}}}, {1}, "indices are broadcast"});
  all.push_back({{counting(f64, {1, 3}), Tensor{{0, 2}, {1, 1}}}, {1}, "x is broadcast"});
  all.push_back({{counting(f64, {2, 3, 2}), Tensor{{{2, 0}}, {{1, 1}}}}, {1}});
  return all;
}

Op along(std::string_view name, std::string_view doc) {
  return {.name = name,
          .group = "indexing",
          .doc = doc,
          .params = {{"x"},
                     {.name = "indices",
                      .kinds = kinds::integer,
                      .doc = "Positions along the axis, as many axes as x; negative ones count from the end.",
                      .separate = true}},
          .attrs = {{"axis", AttrType::integer, -1, "The axis; the others are broadcast."}},
          .infer = no_outputs,
          .forward = forward,
          .notes = Notes::moves,
          .flow = flow,
          .vjp = vjp,
          .jvp = jvp_linear,
          .saves_inputs = 2,
          .branches = {"an axis before the last", "indices are broadcast", "x is broadcast"},
          .samples = both_samples};
}

}  // namespace

const Op op_take_along_axis =
    along("take_along_axis",
          "Along an axis, the element of x that each entry of indices names: y[i, j] = x[i, indices[i, j]].");
const Op op_gather = along("gather", "take_along_axis under the name that models use; scatter is its counterpart.");

}  // namespace wp
