#include "base/pool.hpp"
#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/indices.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_concat;
extern const Op op_stack;
namespace {

void need_arrays(const Call& c) {
  if (c.in.size() == 0) refuse<ArgumentError>("WP-ARG-002", "needs at least one array.");
}

// Parts one after the other along an axis. y and parts fall into `outer` runs before the axis; when the runs of parts
// are short, all parts write a piece of y while it is in cache.
void join(Call& c, const Tensors& parts, std::size_t axis) {
  constexpr std::int64_t kShort = 512, kPiece = 1 << 18;  // bytes
  Dims shape = parts[0].shape();
  shape[axis] = 0;
  for (const Tensor& p : parts) shape[axis] = bounded_sum(shape[axis], p.shape()[axis]);
  const DType dtype = common_dtype(c);
  const Tensor y = c.output(dtype, shape);
  if (y.size() == 0) return;
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  std::int64_t outer = 1;
  for (std::size_t k = 0; k < axis; ++k) outer *= shape[k];
  const std::int64_t run = y.size() / outer;
  Tensors ready;
  bool runs = run * item / static_cast<std::int64_t>(parts.size()) <= kShort;
  for (const Tensor& p : parts) {
    ready.push_back(p.dtype() == dtype ? p : converted(p, dtype));
    runs = runs && ready.back().is_contiguous();
  }
  const std::int64_t rows = runs ? std::max<std::int64_t>(1, kPiece / (run * item)) : outer;
  parallel_for(outer, rows, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t at = 0;
    for (const Tensor& p : ready) {
      const std::int64_t own = p.size() / outer;
      if (runs)
        scatter_into(y, {run, 1}, begin * run + at, view_of(p, {end - begin, own}, {own, 1}, begin * own));
      else
        scatter_into(y, y.strides(), at, p);
      at += own;
    }
  });
}

void concat(Call& c) {
  need_arrays(c);
  Tensors parts;
  if (!c.attr(0)) {
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const Tensor x = contiguous(c.in[i]);
      parts.push_back(view_of(x, {x.size()}, {1}));
    }
    return join(c, parts, 0);
  }
  const Dims& first = c.in[0].shape();
  const auto axis = static_cast<std::size_t>(normal_axis(c.attr(0).integer(), c.in[0].ndim()));
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Dims& shape = c.in[i].shape();
    bool good = shape.size() == first.size();
    for (std::size_t k = 0; k < shape.size() && good; ++k) good = k == axis || shape[k] == first[k];
    if (!good)
      refuse<ShapeError>("WP-SHP-009", say("arrays must have one shape, except along axis ", axis, "; array 0 has ",
                                           first, " and array ", i, " has ", shape, "."));
    parts.push_back(c.in[i]);
  }
  join(c, parts, axis);
}

void stack(Call& c) {
  need_arrays(c);
  const Dims& first = c.in[0].shape();
  const auto axis = static_cast<std::size_t>(normal_axis(c.attr(0).integer(), c.in[0].ndim() + 1));
  Tensors parts;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Tensor& x = c.in[i];
    if (x.shape() != first)
      refuse<ShapeError>(
          "WP-SHP-009",
          say("arrays must have one shape; array 0 has ", first, " and array ", i, " has ", x.shape(), "."),
          "Use concat to join arrays of different lengths.");
    Dims shape = first, strides = x.strides();
    shape.insert(axis, 1);
    strides.insert(axis, 1);
    parts.push_back(view_of(x, shape, strides));
  }
  join(c, parts, axis);
}

// Each array's part of g.
Tensors concat_vjp(const Backward& b) {
  const bool flat = !b.attr(0);
  const auto axis = flat ? 0 : normal_axis(b.attr(0).integer(), static_cast<std::int64_t>(b.shape(0).size()));
  Tensors all(b.in.size());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int64_t n = flat ? 1 : b.shape(i)[static_cast<std::size_t>(axis)];
    if (flat)
      for (const std::int64_t d : b.shape(i)) n *= d;
    if (b.wants(i)) all[i] = reshape(part(b.g(), axis, at, at + n), b.shape(i));
    at += n;
  }
  return all;
}

// Two arrays of each dtype.
std::vector<Sample> pairs(const Dims& a, const Dims& b, const Attr& axis) {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{counting(static_cast<DType>(k), a), counting(static_cast<DType>(k), b)}, {axis}});
  return all;
}
std::vector<Sample> concat_samples() {
  std::vector<Sample> all = pairs({2, 3}, {2, 1}, -1);
  all.push_back({{counting(f64, {2, 2}), counting(f64, {0, 2}), counting(f64, {1, 2})}, {0}});
  all.push_back({{counting(i32, {2}), counting(f32, {3})}, {0}, "mixed dtypes"});
  all.push_back({{counting(f64, {2, 2}), counting(f64, {}), counting(f64, {3})}, {Attr()}, "axis = none: flattened"});
  all.push_back({{view_of(counting(f64, {3, 2}), {2, 3}, {1, 2}), counting(f64, {2, 3})}, {0}});
  return all;
}
std::vector<Sample> stack_samples() {
  std::vector<Sample> all = pairs({2, 3}, {2, 3}, 1);
  all.push_back({{counting(f64, {2}), counting(f64, {2}), counting(f64, {2})}, {-1}});
  all.push_back({{counting(i8, {2}), counting(f32, {2})}, {0}, "mixed dtypes"});
  all.push_back({{counting(f64, {}), counting(f64, {})}, {0}});
  return all;
}

}  // namespace

const Op op_concat = {
    .name = "concat",
    .group = "manipulation",
    .doc = "Arrays joined along an axis they have. Different dtypes are promoted to a common one.",
    .params = {{.name = "arrays", .variadic = true}},
    .attrs = {{.name = "axis",
               .type = AttrType::integer,
               .fallback = 0,
               .doc = "The axis to join along; none: arrays are flattened first.",
               .nullable = true}},
    .infer = no_outputs,
    .forward = concat,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = concat_vjp,
    .jvp = jvp_linear,
    .branches = {"mixed dtypes", "axis = none: flattened"},
    .samples = concat_samples,
};

const Op op_stack = {
    .name = "stack",
    .group = "manipulation",
    .doc = "Arrays of one shape joined along a new axis. Different dtypes are promoted to a common one.",
    .params = {{.name = "arrays", .variadic = true}},
    .attrs = {{"axis", AttrType::integer, 0, "Where the new axis stands in the result."}},
    .infer = no_outputs,
    .forward = stack,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return unstack(b.g(), {.axis = b.attr(0).integer()}); },
    .jvp = jvp_linear,
    .branches = {"mixed dtypes"},
    .samples = stack_samples,
};

}  // namespace wp
