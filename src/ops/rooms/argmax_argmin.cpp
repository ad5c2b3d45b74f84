#include "base/text.hpp"
#include "kernels/extremes.hpp"
#include "ops/lines.hpp"
#include "ops/moves.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_argmax;
extern const Op op_argmin;
namespace {

enum { kAxis, kKeepdims };

// The shape with the axis (none: every axis) reduced to 1.
Dims kept_shape(const Call& c) {
  Dims shape = c.in[0].shape();
  const std::int64_t axis = c.attr(kAxis) ? normal_axis(c.attr(kAxis).integer(), c.in[0].ndim()) : -1;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (axis < 0 || k == static_cast<std::size_t>(axis)) {
      if (shape[k] == 0)
        refuse<ShapeError>("WP-SHP-006", say("has no value over an empty axis; x has shape ", shape, "."));
      shape[k] = 1;
    }
  return shape;
}

void infer(Call& c) {
  const Dims kept = kept_shape(c);
  Dims shape = kept;
  if (!c.attr(kKeepdims).flag()) {
    if (c.attr(kAxis))
      shape.erase(static_cast<std::size_t>(normal_axis(c.attr(kAxis).integer(), c.in[0].ndim())));
    else
      shape.clear();
  }
  c.output(i64, shape);
}

struct Search {
  DType loop;
  bool largest;
};
void search_lines(const LineBlock& b) {
  const Search& s = *static_cast<const Search*>(b.context);
  const std::int64_t bytes = b.n * static_cast<std::int64_t>(size_of(s.loop));
  for (std::int64_t k = 0; k < b.count; ++k)
    static_cast<std::int64_t*>(b.out)[k] =
        kernels::find_extreme(s.loop, s.largest, static_cast<const char*>(b.in) + k * bytes, b.n);
}

template <bool largest>
void forward(Call& c) {
  const Tensor& x = c.in[0];
  const Search search{line_dtype(x.dtype()), largest};
  if (!c.attr(kAxis)) {
    const Tensor flat = packed(x, search.loop);
    *reinterpret_cast<std::int64_t*>(c.out[0].node()->data) =
        kernels::find_extreme(search.loop, largest, flat.node()->data, flat.size());
    return;
  }
  const Dims shape = kept_shape(c);
  Dims strides(shape.size(), 1);
  for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
  Tensor y = Tensor::adopt(detail::make_view(*c.out[0].node(), shape, strides, 0));
  run_lines(c, x, search.loop, y, i64, normal_axis(c.attr(kAxis).integer(), x.ndim()), search_lines, &search);
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> all = line_samples(op, {3, -2.5, 7, 7, 0.25, -11, 7, -11}, [](std::int64_t axis) {
    return std::vector<Attr>{axis, axis == 1};
  });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  all.push_back({{sample_tensor(f64, {2, 2}, {1, 4, -4, 3})}, {{}, false}, "axis none: place in the flattened x"});
  all.push_back({{sample_tensor(i8, {2, 2}, {1, 4, -4, 3})}, {{}, true}, "axis none: place in the flattened x"});
  all.push_back({{sample_tensor(f32, {5}, {2, 5, 2, 5, 2})}, {0, false}, "ties: the first"});
  all.push_back({{sample_tensor(f64, {4}, {1, nan, 9, nan})}, {0, false}, "nan: the first of them"});
  all.push_back({{sample_tensor(f32, {2}, {-0.0, 0.0})}, {0, false}, "-0 and 0: the first"});
  return all;
}

Op search_op(Op op) {
  op.group = "searching";
  op.params = {{"x", kinds::real}};
  op.attrs = {axis_attr({}, "The axis; none: all elements, flattened."),
              {"keepdims", AttrType::boolean, false, "Keep reduced axes with length 1."}};
  op.infer = infer;
  op.notes = Notes::judges;
  op.flow = [](const FlowQuery& q, Visit visit) {
    q.call.attr(kAxis) ? flow_line(q, visit) : flow_everything(q, visit);
  };
  op.no_derivative = "the result is an index: it does not vary with x.";
  op.branches = {"axis none: place in the flattened x", "ties: the first", "nan: the first of them",
                 "-0 and 0: the first"};
  return op;
}

}  // namespace

const Op op_argmax = search_op({
    .name = "argmax",
    .doc = "Where the largest element is along an axis, as i64: the first of equals, and of NaN if there is one.",
    .forward = forward<true>,
    .samples = [] { return samples(op_argmax); },
});

const Op op_argmin = search_op({
    .name = "argmin",
    .doc = "Where the smallest element is along an axis, as i64: the first of equals, and of NaN if there is one.",
    .forward = forward<false>,
    .samples = [] { return samples(op_argmin); },
});

}  // namespace wp
