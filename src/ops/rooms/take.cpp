#include "kernels/pick.hpp"
#include "ops/derivative.hpp"
#include "ops/indices.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_take;
namespace {

void forward(Call& c) {
  const Tensor &x = c.in[0], &indices = c.in[1];
  const std::int64_t axis = axis_or_only(c.attr(0), x);
  const auto a = static_cast<std::size_t>(axis);
  const Tensor at = positions(indices, x.shape()[a], "indices", axis, x.strides()[a]);
  Dims shape(x.shape().begin(), x.shape().begin() + axis);
  for (const std::int64_t n : indices.shape()) shape.push_back(n);
  for (std::size_t k = a + 1; k < x.shape().size(); ++k) shape.push_back(x.shape()[k]);
  const Tensor& y = c.output(x.dtype(), shape);
  kernels::Pick p;
  p.n = at.size();
  p.from.places = reinterpret_cast<const std::int64_t*>(at.node()->data);
  p.to.step = 1;
  for (std::size_t k = a + 1; k < x.shape().size(); ++k) {
    p.inner.push_back(x.shape()[k]);
    p.from.inner.push_back(x.strides()[k]);
    p.to.inner.push_back(y.strides()[k + indices.shape().size() - 1]);
    p.to.step *= x.shape()[k];
  }
  for (std::size_t k = 0; k < a; ++k) {
    p.outer.push_back(x.shape()[k]);
    p.from.outer.push_back(x.strides()[k]);
    p.to.outer.push_back(y.strides()[k]);
  }
  kernels::pick(p, y.node()->data, x.node()->data, size_of(x.dtype()));
}

void flow(const FlowQuery& q, Visit visit) {
  if (q.input == 0) return flow_moves(q, visit);
  const auto axis = static_cast<std::size_t>(axis_or_only(q.call.attr(0), q.call.in[0]));
  const Dims at = unravel(q.element, q.call.out[0].shape());
  const Dims& shape = q.call.in[1].shape();
  visit(broadcast_element(Dims(at.begin() + axis, at.begin() + axis + shape.size()), shape));
}

Tensors vjp(const Backward& b) {
  const auto ndim = static_cast<std::int64_t>(b.shape(0).size());
  const std::int64_t axis = b.attr(0) ? normal_axis(b.attr(0).integer(), ndim) : 0;
  return {added_at(zeros_for({b.shape(0), b.g().dtype()}), axis, b.in[1], b.g())};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k) all.push_back({{counting(static_cast<DType>(k), {3, 4}), Tensor{2, 0, 0}}, {0}});
  for (const DType d : {i8, i16, i32, u8, u16, u32, u64})
    all.push_back({{counting(f64, {3, 4}), converted(Tensor{3, 1}, d)}, {1}});
  all.push_back({{counting(f64, {4}), Tensor{-1, -4, 1}}, {Attr()}, "negative indices"});
  all.push_back({{counting(f64, {2, 3, 2}), Tensor{{0, 2}, {1, 1}}}, {-2}, "indices with several axes"});
  all.push_back({{counting(f64, {3, 2}), Tensor(1)}, {0}, "one index: the axis goes"});
  all.push_back({{counting(f64, {0, 2}), counting(i64, {0})}, {0}, "empty"});
  return all;
}

}  // namespace

const Op op_take = {
    .name = "take",
    .group = "indexing",
    .doc = "The elements of x at indices along an axis.",
    .params = {{"x"},
               {.name = "indices",
                .kinds = kinds::integer,
                .doc = "Positions along the axis; negative ones count from the end. Their axes take the place of it.",
                .separate = true}},
    .attrs = {{"axis", AttrType::integer, {}, "The axis; may be left out when x has one."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_linear,
    .saves_inputs = 2,
    .branches = {"negative indices", "indices with several axes", "one index: the axis goes", "empty"},
    .samples = samples,
};

}  // namespace wp
