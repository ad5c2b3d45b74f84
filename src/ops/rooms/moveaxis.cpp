#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_moveaxis;
extern const Op op_matrix_transpose;
namespace {

void move(Call& c) {
  const Tensor& x = c.in[0];
  const Dims &from = c.attr(0).ints(), &to = c.attr(1).ints();
  if (from.size() != to.size())
    refuse<ArgumentError>("WP-ARG-003",
                          say("source and destination need as many axes; got ", from, " and ", to, "."));
  const auto moved = reduced_axes(c.attr(0), x.ndim()), taken = reduced_axes(c.attr(1), x.ndim());
  Dims order(moved.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i)
    order[static_cast<std::size_t>(normal_axis(to[i], x.ndim()))] = normal_axis(from[i], x.ndim());
  std::size_t next = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (taken[k]) continue;
    while (moved[next]) ++next;
    order[k] = static_cast<std::int64_t>(next++);
  }
  Dims shape, strides;
  for (const std::int64_t k : order) {
    shape.push_back(x.shape()[static_cast<std::size_t>(k)]);
    strides.push_back(x.strides()[static_cast<std::size_t>(k)]);
  }
  add_view(c, x, shape, strides);
}

void transpose(Call& c) {
  const Tensor& x = c.in[0];
  if (x.ndim() < 2)
    refuse<ShapeError>("WP-SHP-008", say("x must be a matrix or a stack of matrices; got shape ", x.shape(), "."),
                       "A vector becomes a row with expand_dims at axis 0.");
  Dims shape = x.shape(), strides = x.strides();
  const std::size_t n = shape.size();
  std::swap(shape[n - 1], shape[n - 2]);
  std::swap(strides[n - 1], strides[n - 2]);
  add_view(c, x, shape, strides);
}

std::vector<Sample> move_samples() {
  std::vector<Sample> all = moving_samples(op_moveaxis, {2, 3, 2}, {Dims{0}, Dims{-1}});
  all.push_back({{counting(f64, {2, 3, 4})}, {Dims{0, 1}, Dims{-1, -2}}});
  all.push_back({{counting(f64, {2, 3, 2, 2})}, {Dims{3, 1}, Dims{0, 2}}});
  return all;
}
std::vector<Sample> transpose_samples() {
  std::vector<Sample> all = moving_samples(op_matrix_transpose, {2, 3}, {});
  all.push_back({{counting(f64, {2, 3, 4})}, {}});
  return all;
}

}  // namespace

const Op op_moveaxis = {
    .name = "moveaxis",
    .group = "manipulation",
    .doc = "x with some axes at other positions; the others keep their order. A view.",
    .params = {{"x"}},
    .attrs =
        {{.name = "source", .type = AttrType::ints, .doc = "The axes to move.", .required = true},
         {.name = "destination", .type = AttrType::ints, .doc = "Where they stand in the result.", .required = true}},
    .infer = no_outputs,
    .forward = move,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors{moveaxis(b.g(), b.attr(1).ints(), b.attr(0).ints())}; },
    .jvp = jvp_linear,
    .samples = move_samples,
};

const Op op_matrix_transpose = {
    .name = "matrix_transpose",
    .group = "manipulation",
    .doc = "The transpose of a matrix, or of each matrix of a stack (the last two axes change places); a view.",
    .params = {{"x"}},
    .infer = no_outputs,
    .forward = transpose,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors{matrix_transpose(b.g())}; },
    .jvp = jvp_linear,
    .samples = transpose_samples,
};

}  // namespace wp
