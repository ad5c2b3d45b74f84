#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_reshape;
namespace {

// The shape asked for, with −1 replaced.
Dims full_shape(const Tensor& x, const Dims& asked) {
  Dims shape = asked;
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& d : shape) {
    if (d == -1 && !open)
      open = &d;
    else if (d < 0)
      refuse<ShapeError>("WP-SHP-002", say("shape may hold one -1 and no other negative length; got ", asked, "."));
    else
      known = bounded_product(known, d);
  }
  if (open) {
    if (known == 0 || x.size() % known)
      refuse<ShapeError>("WP-SHP-004", say("no length for the -1 in ", asked, " gives the ",
                                           plural(x.size(), "element"), " of x ", x.shape(), "."));
    *open = x.size() / known;
  } else if (known != x.size()) {
    refuse<ShapeError>(
        "WP-SHP-004",
        say("shape ", asked, " does not hold the ", plural(x.size(), "element"), " of x ", x.shape(), "."),
        "Use -1 for the length that should follow from the others.");
  }
  return shape;
}

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const Dims shape = full_shape(x, c.attr(0).ints());
  const Attr& copy = c.attr(1);
  Tensor y = copy && copy.flag() ? Tensor() : reshaped_view(x, shape);
  if (!y.defined() && copy && !copy.flag())
    refuse<ArgumentError>(
        "WP-ARG-004",
        say("copy = false, but x ", x.shape(), " with strides ", x.strides(), " has no view of shape ", shape, "."),
        "Leave copy out.");
  if (!y.defined()) {
    y = Tensor::adopt(detail::make_node(x.dtype(), shape));
    scatter_into(y, row_major(x.shape()), 0, x);
  }
  c.out.push_back(std::move(y));
}

std::vector<Sample> samples() {
  std::vector<Sample> all = moving_samples(op_reshape, {2, 6}, {Dims{3, -1}, Attr()});
  const Tensor x = counting(f64, {4, 3});
  const Tensor turned = view_of(x, {3, 4}, {1, 3});
  all.push_back({{turned}, {Dims{2, 6}, Attr()}, "copies when strides allow no view"});
  all.push_back({{x}, {Dims{12}, true}, "copy = true"});
  all.push_back({{x}, {Dims{2, 2, 3, 1}, false}, "copy = false"});
  all.push_back({{counting(f64, {1, 1})}, {Dims{}, Attr()}});
  all.push_back({{counting(f64, {0, 3})}, {Dims{3, 0, 2}, Attr()}, "empty"});
  return all;
}

}  // namespace

const Op op_reshape = {
    .name = "reshape",
    .group = "manipulation",
    .doc = "The elements of x in row-major order, in another shape; a view when x's strides allow it.",
    .params = {{"x"}},
    .attrs = {{.name = "shape",
               .type = AttrType::ints,
               .doc = "The new shape; one length may be -1 and follows from the others.",
               .required = true},
              {.name = "copy",
               .type = AttrType::boolean,
               .doc = "true: always copy; false: refuse when a view is impossible; none: copy when needed."}},
    .infer = no_outputs,
    .forward = forward,
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = [](const Backward& b) { return Tensors{reshape(b.g(), b.shape(0))}; },
    .jvp = jvp_linear,
    .branches = {"copies when strides allow no view", "copy = true", "copy = false", "empty"},
    .samples = samples,
};

}  // namespace wp
