#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/products.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_vecdot;
namespace {

Dims without(const Dims& all, std::int64_t axis) {
  Dims out;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (static_cast<std::int64_t>(k) != axis) out.push_back(all[k]);
  return out;
}

struct Shapes {
  std::int64_t axis1 = 0, axis2 = 0, k = 0;  // of the vectors
  Dims batch1, batch2, batch;

  explicit Shapes(const Call& c) {
    const Dims &x1 = c.in[0].shape(), &x2 = c.in[1].shape();
    const std::int64_t axis = c.attr(0).integer();
    if (axis >= 0 && x1.size() != x2.size())
      refuse<ArgumentError>("WP-ARG-003",
                            say("axis must be negative when the arguments differ in their number of axes; "
                                "got axis ",
                                axis, ", x1 ", x1, ", x2 ", x2, "."),
                            "Count axes from the end.");
    axis1 = normal_axis(axis, c.in[0].ndim());
    axis2 = normal_axis(axis, c.in[1].ndim());
    k = x1[static_cast<std::size_t>(axis1)];
    if (const std::int64_t other = x2[static_cast<std::size_t>(axis2)]; other != k)
      refuse<ShapeError>("WP-SHP-014", say("vectors must have one length along axis ", axis, "; got ", k, " and ",
                                           other, " in x1 ", x1, ", x2 ", x2, "."));
    batch1 = without(x1, axis1);
    batch2 = without(x2, axis2);
    batch = broadcast(batch1, batch2);
  }
};

kernels::Stack stack(const Tensor& x, std::int64_t axis, const Dims& own, const Dims& batch) {
  const Dims strides = without(x.strides(), axis);
  kernels::Stack s{x.node()->data, Dims(batch.size(), 0), 0, 0};
  for (std::size_t k = 0, shift = batch.size() - own.size(); k < own.size(); ++k)
    if (own[k] != 1) s.batch[k + shift] = strides[k];
  return s;
}

void forward(Call& c) {
  const Shapes s(c);
  const DType dtype = kernels::product_dtype(c.key);
  const Tensor x1 = brought(c.in[0], dtype), x2 = brought(c.in[1], dtype);
  kernels::Stack a = stack(x1, s.axis1, s.batch1, s.batch), b = stack(x2, s.axis2, s.batch2, s.batch);
  a.columns = x1.strides()[static_cast<std::size_t>(s.axis1)];
  b.rows = x2.strides()[static_cast<std::size_t>(s.axis2)];
  multiply(c, c.out[0], s.batch, 1, 1, s.k, a, b, true);
}

void flow(const FlowQuery& q, Visit visit) {
  const Shapes s(q.call);
  const Dims& shape = q.call.in[q.input].shape();
  const std::int64_t axis = q.input == 0 ? s.axis1 : s.axis2;
  std::int64_t rest = q.element, first = 0, scale = 1, step = 1;
  for (std::size_t k = shape.size(), b = s.batch.size(); k-- > 0;) {
    if (static_cast<std::int64_t>(k) == axis) {
      step = scale;
    } else {
      --b;
      if (shape[k] != 1) first += rest % s.batch[b] * scale;
      rest /= s.batch[b];
    }
    scale *= shape[k];
  }
  for (std::int64_t p = 0; p < s.k; ++p) visit(first + p * step);
}

// y = Σ conj(x1) x2.
Tensors vjp(const Backward& b) {
  const Tensor g = expand_dims(b.g(), {.axis = b.attr(0).integer()});
  return {b.wants(0) ? multiply(conj_of(g), b.in[1]) : Tensor(), b.wants(1) ? multiply(g, b.in[0]) : Tensor()};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const Dims& b, int axis, std::string_view covers) {
    out.push_back({{small_numbers(d, a), small_numbers(d, b, 4)}, {axis}, covers});
  };
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op_vecdot.params[0].kinds))
      add(dtype, {2, 5}, {2, 5}, -1, {});
  for (const DType d : {i64, f64, c128}) {
    add(d, {4, 3}, {4, 3}, 0, "another axis");
    add(d, {2, 4, 3}, {4, 1}, -2, "batches broadcast");
    add(d, {3, 0}, {3, 0}, -1, "no terms: zeros");
    add(d, {70}, {70}, -1, "longer than the partial sums");
  }
  out.push_back({{Tensor{1e308, 1e308}, Tensor{10.0, 1.0}}, {-1}, "overflow: inf"});
  return out;
}

}  // namespace

const Op op_vecdot = {
    .name = "vecdot",
    .group = "linear algebra",
    .doc = "The dot product Σ conj(x1)·x2 of vectors along an axis; the other axes broadcast. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = {{.name = "axis", .type = AttrType::integer, .fallback = -1, .doc = "The axis of the vectors in both."}},
    .infer =
        [](Call& c) {
          c.key = common_dtype(c);
          c.output(c.key, Shapes(c).batch);
        },
    .forward = forward,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_multilinear,
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"another axis", "batches broadcast", "no terms: zeros", "longer than the partial sums",
                 "overflow: inf"},
    .samples = samples,
};

}  // namespace wp
