#include <functional>
#include <numeric>

#include "base/text.hpp"
#include "kernels/copy.hpp"
#include "kernels/pick.hpp"
#include "ops/derivative.hpp"
#include "ops/indices.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_repeat;
namespace {

struct Repeated {
  Tensor x;  // flattened when no axis is given
  std::size_t axis;
  Tensor counts;  // i64, one number, or one per element along the axis
};

Repeated arguments(const Call& c) {
  Repeated r{c.in[0], 0, converted(c.in[1], i64)};
  if (c.attr(0)) {
    r.axis = static_cast<std::size_t>(normal_axis(c.attr(0).integer(), r.x.ndim()));
  } else {
    r.x = contiguous(r.x);
    r.x = view_of(r.x, {r.x.size()}, {1});
  }
  const std::int64_t n = r.x.shape()[r.axis];
  if (r.counts.ndim() > 1 || (r.counts.size() != 1 && r.counts.size() != n))
    refuse<ShapeError>("WP-SHP-010", say("repeats must be one number, or one per element along the axis (", n,
                                         "); got shape ", r.counts.shape(), "."));
  const auto* const times = reinterpret_cast<const std::int64_t*>(r.counts.node()->data);
  for (std::int64_t i = 0; i < r.counts.size(); ++i)
    if (times[i] < 0)
      refuse<ArgumentError>("WP-ARG-001", say("repeats must not be negative; repeats[", i, "] = ", times[i], "."));
  return r;
}

void forward(Call& c) {
  const Repeated r = arguments(c);
  const auto* const times = reinterpret_cast<const std::int64_t*>(r.counts.node()->data);
  const std::size_t item = size_of(r.x.dtype());
  Dims shape = r.x.shape();
  const std::int64_t n = shape[r.axis];
  if (r.counts.size() == 1) {  // a view with an axis of stride 0 behind the repeated one, copied
    Dims split = shape, strides = r.x.strides();
    split.insert(r.axis + 1, times[0]);
    strides.insert(r.axis + 1, 0);
    shape[r.axis] = bounded_product(n, times[0]);
    const Tensor& y = c.output(r.x.dtype(), shape);
    return kernels::copy(y.node()->data, row_major(split), r.x.node()->data, strides, split, item);
  }
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total = bounded_sum(total, times[i]);
  shape[r.axis] = total;
  const Tensor& y = c.output(r.x.dtype(), shape);
  const Tensor places = Tensor::adopt(detail::make_node(i64, {total}));
  auto* at = reinterpret_cast<std::int64_t*>(places.node()->data);
  for (std::int64_t i = 0; i < n; ++i) at = std::fill_n(at, times[i], i * r.x.strides()[r.axis]);
  kernels::Pick p;
  p.n = total;
  p.from.places = reinterpret_cast<const std::int64_t*>(places.node()->data);
  p.to.step = y.strides()[r.axis];
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (k == r.axis) continue;
    (k < r.axis ? p.outer : p.inner).push_back(shape[k]);
    (k < r.axis ? p.to.outer : p.to.inner).push_back(y.strides()[k]);
    (k < r.axis ? p.from.outer : p.from.inner).push_back(r.x.strides()[k]);
  }
  kernels::pick(p, y.node()->data, r.x.node()->data, item);
}

// Repeats decide the shape: everything rests on them.
void flow(const FlowQuery& q, Visit visit) {
  if (q.input == 0) return flow_moves(q, visit);
  for (std::int64_t e = 0; e < q.call.in[1].size(); ++e) visit(e);
}

// g summed over the copies of each element.
Tensors vjp(const Backward& b) {
  Dims shape = b.shape(0);
  if (!b.attr(0)) shape = {std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())};
  const std::int64_t axis = b.attr(0) ? normal_axis(b.attr(0).integer(), static_cast<std::int64_t>(shape.size())) : 0;
  const auto a = static_cast<std::size_t>(axis);
  const Tensor places = repeat(arange(shape[a]), b.in[1]);
  return {reshape(added_at(zeros_for({shape, b.g().dtype()}), axis, places, b.g()), b.shape(0))};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{counting(static_cast<DType>(k), {2, 3}), Tensor{2, 0, 3}}, {1}, "a number per element"});
  for (const DType d : {i8, i16, i32, u8, u16, u32, u64})
    all.push_back({{counting(f64, {2, 3}), converted(Tensor{1, 2}, d)}, {0}});
  all.push_back({{counting(f64, {2, 3}), Tensor(2)}, {0}, "one number"});
  all.push_back({{counting(f64, {2, 2}), Tensor(3)}, {Attr()}, "axis = none: flattened"});
  all.push_back({{counting(f64, {2}), Tensor(0)}, {0}, "empty"});
  return all;
}

}  // namespace

const Op op_repeat = {
    .name = "repeat",
    .group = "manipulation",
    .doc = "x with each element along an axis repeated.",
    .params = {{"x"},
               {.name = "repeats",
                .kinds = kinds::integer,
                .doc = "How often: one number, or one per element along the axis.",
                .separate = true}},
    .attrs = {{"axis", AttrType::integer, {}, "The axis; none: x is flattened."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_linear,
    .saves_inputs = 2,
    .branches = {"a number per element", "one number", "axis = none: flattened", "empty"},
    .samples = samples,
};

}  // namespace wp
