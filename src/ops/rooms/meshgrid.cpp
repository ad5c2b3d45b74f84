#include "base/text.hpp"
#include "ops/moves.hpp"

namespace wp {
extern const Op op_meshgrid;
namespace {

void forward(Call& c) {
  const std::size_t n = c.in.size();
  const bool swapped = n > 1 && c.attr(0).text() == "xy";
  const auto axis_of = [&](std::size_t i) { return swapped && i < 2 ? 1 - i : i; };
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
    .branches = {"xy", "ij"},
    .samples = samples,
};

}  // namespace wp
