#include "base/text.hpp"
#include "kernels/pick.hpp"
#include "ops/derivative.hpp"
#include "ops/indices.hpp"
#include "ops/moves.hpp"
#include "tensor/note.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_scatter;
namespace {

using kernels::Combine;

Combine mode_of(const Call& c) {
  const std::string_view mode = c.attr(1).text();
  const DType d = c.in[0].dtype();
  const bool ordered = mode == "min" || mode == "max";
  if ((d == DType::boolean && mode != "set") || (is_complex(d) && ordered))
    refuse<DtypeError>("WP-DTY-003", say("there is no mode '", mode, "' for ", d, "."));
  return mode == "set"        ? Combine::set
         : mode == "add"      ? Combine::add
         : mode == "multiply" ? Combine::multiply
         : mode == "min"      ? Combine::min
                              : Combine::max;
}

// The shape of the entries: indices broadcast over the axes of x, except `axis`.
Dims entries(const Tensor& x, const Tensor& indices, std::size_t axis) {
  Dims shape = x.shape();
  bool good = indices.ndim() == x.ndim();
  for (std::size_t k = 0; good && k < shape.size(); ++k) {
    if (k == axis) shape[k] = indices.shape()[k];
    good = indices.shape()[k] == shape[k] || indices.shape()[k] == 1;
  }
  if (!good)
    refuse<ShapeError>("WP-SHP-012", say("indices must have the shape of x, except along axis ", axis,
                                         " (or length 1); got x ", x.shape(), " and indices ", indices.shape(), "."));
  return shape;
}

void forward(Call& c) {
  const Tensor &x = c.in[0], &indices = c.in[1];
  const Combine mode = mode_of(c);
  const std::int64_t axis = normal_axis(c.attr(0).integer(), x.ndim());
  const auto a = static_cast<std::size_t>(axis);
  const Dims shape = entries(x, indices, a);
  const Tensor at = positions(indices, x.shape()[a], "indices", axis);
  const Tensor updates = value_for(c.in[2], x.dtype(), "updates", c.status);
  if (broadcast(updates.shape(), shape) != shape)
    refuse<ShapeError>("WP-SHP-001", say("updates ", updates.shape(), " do not broadcast to ", shape,
                                         ", the shape of the entries."));
  const Tensor& y = c.output(x.dtype(), x.shape());
  scatter_into(y, y.strides(), 0, x);
  const kernels::Along plan{shape,
                            a,
                            y.strides(),
                            broadcast_strides(updates, shape),
                            broadcast_strides(at, shape),
                            reinterpret_cast<const std::int64_t*>(at.node()->data)};
  if (kernels::put_along(plan, y.node()->data, updates.node()->data, x.dtype(), mode))
    c.status.bits |= simd::Status::nonfinite;
}

// Every entry on the line of an element may name it: the line rests on all of their indices.
void flow(const FlowQuery& q, Visit visit) {
  const Call& c = q.call;
  const auto a = static_cast<std::size_t>(normal_axis(c.attr(0).integer(), c.in[0].ndim()));
  const Dims shape = entries(c.in[0], c.in[1], a);
  const bool sets = c.attr(1).text() == "set";
  Dims at = unravel(q.element, c.out[0].shape());
  const std::int64_t own = at[a], length = c.in[0].shape()[a];
  const Tensor places = positions(c.in[1], length, "indices", static_cast<std::int64_t>(a));
  const auto* const place = reinterpret_cast<const std::int64_t*>(places.node()->data);
  bool replaced = false;
  for (std::int64_t j = shape[a]; j-- > 0;) {
    at[a] = j;
    const std::int64_t entry = broadcast_element(at, places.shape());
    if (q.input == 1) visit(entry);
    if (place[entry] != own || (sets && replaced)) continue;
    replaced = true;
    if (q.input == 2) visit(broadcast_element(at, c.in[2].shape()));
  }
  if (q.input == 0 && !(sets && replaced)) visit(q.element);
}

// Which entries stay in mode set: the last of those that name one element.
Tensor last_entries(const Saved& s, std::int64_t axis, const Dims& shape) {
  const Tensor numbers = element_numbers(shape), none = zeros_for({s.shape(0), i64});
  return equal(take_along_axis(scatter(none, s.in[1], numbers, {.axis = axis}), s.in[1], {.axis = axis}), numbers);
}

// Mode multiply. The factors of an element, x's own and the updates', stand along a new last axis, 1 where an update
// names another; each is multiplied with the product of the others.
Tensors multiply_vjp(const Backward& b, std::int64_t axis, const Dims& entries) {
  const std::int64_t n = b.shape(0)[static_cast<std::size_t>(axis)];
  const auto lined_up = [axis](const Tensor& t, std::int64_t fresh) {
    return expand_dims(moveaxis(t, axis, -1), {.axis = fresh});
  };
  const Tensor at = lined_up(broadcast_to(remainder(b.in[1], n), entries), -2);
  const Tensor named = equal(at, expand_dims(arange(n), {.axis = -1}));
  const Tensor updates = where(named, lined_up(broadcast_to(b.in[2], entries), -2), 1);
  const Tensor all = concat({lined_up(b.in[0], -1), updates}, {.axis = -1});
  const Tensor each = multiply(lined_up(b.g(), -1), conj_of(product_of_others(all)));
  const Tensor of_x = squeeze(part(each, -1, 0, 1), -1);
  const Tensor of_updates = sum(where(named, part(each, -1, 1, all.shape().back()), 0), {.axis = -2});
  return {moveaxis(of_x, -1, axis), {}, moveaxis(of_updates, -1, axis)};
}

Tensors vjp(const Backward& b) {
  const std::int64_t axis = normal_axis(b.attr(0).integer(), static_cast<std::int64_t>(b.shape(0).size()));
  const std::string_view mode = b.attr(1).text();
  const Tensor &g = b.g(), &indices = b.in[1];
  const Tensor of_updates = take_along_axis(g, indices, {.axis = axis});
  if (mode == "add") return {g, {}, of_updates};
  if (mode == "set")
    return {
        scatter(g, indices, 0, {.axis = axis}), {}, where(last_entries(b, axis, of_updates.shape()), of_updates, 0)};
  if (mode == "multiply") return multiply_vjp(b, axis, of_updates.shape());
  // The extreme is shared by those that have it.
  const Tensor mine = equal(b.in[0], b.out[0]);
  const Tensor theirs = equal(b.in[2], take_along_axis(b.out[0], indices, {.axis = axis}));
  const Tensor one = astype(theirs, g.dtype());
  const Tensor count = scatter(astype(mine, g.dtype()), indices, one, {.axis = axis, .mode = "add"});
  const Tensor each = divide(g, maximum(count, 1));
  return {where(mine, each, 0), {}, where(theirs, take_along_axis(each, indices, {.axis = axis}), 0)};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  const Tensor at{{1, 1, -1}, {0, 2, 0}};
  const auto add = [&](DType d, const char* mode) {
    all.push_back({{counting(d, {2, 4}), at, counting(d, {2, 3})}, {-1, mode}, mode});
  };
  for (int k = 0; k < kDTypes; ++k) {
    const auto d = static_cast<DType>(k);
    add(d, "set");
    if (d == DType::boolean) continue;
    add(d, "add");
    add(d, "multiply");
    if (is_complex(d)) continue;
    add(d, "min");
    add(d, "max");
  }
  const Tensor x = counting(f64, {3, 2});
  for (const DType d : {i8, i16, i32, u8, u16, u32, u64})
    all.push_back(
        {{x, converted(Tensor{{2, 0}, {2, 1}}, d), counting(f64, {2, 2})}, {0, "add"}, "an axis before the last"});
  all.push_back({{x, Tensor{{0}, {2}}, Tensor(0.5)}, {0, "add"}, "indices and updates are broadcast"});
  all.push_back({{counting(f64, {2, 3, 2}), Tensor{{{2, 0}}, {{1, 1}}}, counting(f64, {1, 2})}, {1, "set"}});
  return all;
}

}  // namespace

const Op op_scatter = {
    .name = "scatter",
    .group = "indexing",
    .doc =
        "x with updates written along an axis where indices say: y[i, indices[i, j]] becomes updates[i, j], or is "
        "combined with it. Entries that name one element are taken in the order of the axis, for any number of "
        "threads: with 'set' the last one stays.",
    .params = {{"x"},
               {.name = "indices",
                .kinds = kinds::integer,
                .doc = "Positions along the axis, as many axes as x; negative ones count from the end.",
                .separate = true},
               {.name = "updates",
                .doc = "Broadcasts to indices; takes x's dtype, whose kind must not be below its own."}},
    .attrs = {{"axis", AttrType::integer, -1, "The axis."},
              {.name = "mode",
               .type = AttrType::text,
               .fallback = "set",
               .doc = "What an update does with the value that stands there.",
               .choices = {"set", "add", "multiply", "min", "max"}}},
    .infer = no_outputs,
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .selects = true,
    .saves_inputs = 7,
    .saves_outputs = 1,
    .branches = {"set", "add", "multiply", "min", "max", "an axis before the last",
                 "indices and updates are broadcast"},
    .samples = samples,
};

}  // namespace wp
