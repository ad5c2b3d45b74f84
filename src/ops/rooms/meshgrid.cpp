#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_meshgrid;
namespace {

// The axis along which array i of n varies.
std::size_t axis_of(std::size_t i, std::size_t n, const Attr& indexing) {
  return n > 1 && i < 2 && indexing.text() == "xy" ? 1 - i : i;
}

void forward(Call& c) {
  const std::size_t n = c.in.size();
  const auto axis_of = [&](std::size_t i) { return wp::axis_of(i, n, c.attr(0)); };
  Dims shape(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (c.in[i].ndim() != 1)
      refuse<ShapeError>("WP-SHP-011",
                         say("arrays must have one axis; array ", i, " has shape ", c.in[i].shape(), "."));
    shape[axis_of(i)] = c.in[i].size();
  }
  for (std::size_t i = 0; i < n; ++i) {
    Dims strides(n, 0);
    strides[axis_of(i)] = c.in[i].strides()[0];
    add_view(c, c.in[i], shape, strides);
  }
}

Tensors vjp(const Backward& b) {
  const std::size_t n = b.in.size();
  Tensors all(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!b.wants(i) || !b.cotangents[i].defined()) continue;
    Dims others;
    for (std::size_t k = 0; k < n; ++k)
      if (k != axis_of(i, n, b.attr(0))) others.push_back(static_cast<std::int64_t>(k));
    all[i] = sum(b.cotangents[i], {.axis = others});
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (int k = 0; k < kDTypes; ++k)
    all.push_back({{counting(static_cast<DType>(k), {2}), counting(static_cast<DType>(k), {3})}, {"xy"}, "xy"});
  all.push_back({{counting(f64, {2}), counting(f64, {3})}, {"ij"}, "ij"});
  all.push_back({{counting(f64, {2}), counting(f64, {3}), counting(f64, {2})}, {"xy"}});
  all.push_back({{counting(f64, {3})}, {"xy"}});
  return all;
}

}  // namespace

const Op op_meshgrid = {
    .name = "meshgrid",
    .group = "creation",
    .doc = "Coordinate arrays of a grid: each one-axis array repeated over the axes of the others. Views.",
    .params = {{.name = "arrays", .doc = "The coordinates along each axis.", .variadic = true}},
    .attrs = {{.name = "indexing",
               .type = AttrType::text,
               .fallback = "xy",
               .doc = "'ij': array i varies along axis i. 'xy': the first two axes change places.",
               .choices = {"xy", "ij"}}},
    .outputs = {"arrays..."},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp,
    .jvp = jvp_linear,
    .branches = {"xy", "ij"},
    .samples = samples,
};

}  // namespace wp
