#include "base/text.hpp"
#include "ops/derivative.hpp"
#include "ops/products.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_matmul;
namespace {

// x1 is [batch…, m, k], x2 [batch…, k, n]; a 1-d x1 has no m, a 1-d x2 no n.
struct Shapes {
  Dims batch1, batch2, batch;
  std::int64_t m = 1, n = 1, k1 = 1, k2 = 1;
  bool row = false, column = false;  // x1, x2 is 1-d

  Shapes(const Dims& x1, const Dims& x2) : row(x1.size() == 1), column(x2.size() == 1) {
    if (x1.empty() || x2.empty())
      refuse<ShapeError>("WP-SHP-014", say("needs arguments of at least 1 axis; got x1 ", x1, ", x2 ", x2, "."),
                         "Multiply by a number with *.");
    k1 = x1.back();
    k2 = x2[column ? 0 : x2.size() - 2];
    if (k1 != k2)
      refuse<ShapeError>("WP-SHP-014",
                         say("the last axis of x1 must be as long as the ", column ? "only" : "second to last",
                             " axis of x2; got x1 ", x1, ", x2 ", x2, ": ", k1, " and ", k2, "."),
                         "Transpose an argument with matrix_transpose if its axes are the other way round.");
    if (!row) m = x1[x1.size() - 2];
    if (!column) n = x2.back();
    if (!row) batch1 = Dims(x1.begin(), x1.end() - 2);
    if (!column) batch2 = Dims(x2.begin(), x2.end() - 2);
    batch = broadcast(batch1, batch2);
  }
  Dims out() const {
    Dims shape = batch;
    if (!row) shape.push_back(m);
    if (!column) shape.push_back(n);
    return shape;
  }
};

// Strides of x's leading axes over the broadcast batch.
Dims batch_strides(const Tensor& x, const Dims& own, const Dims& batch) {
  Dims strides(batch.size(), 0);
  const std::size_t shift = batch.size() - own.size();
  for (std::size_t k = 0; k < own.size(); ++k)
    if (own[k] != 1) strides[k + shift] = x.strides()[k];
  return strides;
}

void infer(Call& c) {
  c.key = common_dtype(c);
  c.output(c.key, Shapes(c.in[0].shape(), c.in[1].shape()).out());
}

void forward(Call& c) {
  const Shapes s(c.in[0].shape(), c.in[1].shape());
  const DType dtype = kernels::product_dtype(c.key);
  const Tensor x1 = brought(c.in[0], dtype), x2 = brought(c.in[1], dtype);
  const Dims &s1 = x1.strides(), &s2 = x2.strides();
  const kernels::Stack a{x1.node()->data, batch_strides(x1, s.batch1, s.batch), s.row ? 0 : s1[s1.size() - 2],
                         s1.back()};
  const kernels::Stack b{x2.node()->data, batch_strides(x2, s.batch2, s.batch),
                         s.column ? s2.back() : s2[s2.size() - 2], s.column ? 0 : s2.back()};
  multiply(c, c.out[0], s.batch, s.m, s.n, s.k1, a, b);
}

// Row i of x1 and column j of x2, of the member.
void flow(const FlowQuery& q, Visit visit) {
  const Shapes s(q.call.in[0].shape(), q.call.in[1].shape());
  const std::int64_t j = q.element % s.n, i = q.element / s.n % s.m;
  const Dims& own = q.input == 0 ? s.batch1 : s.batch2;
  std::int64_t rest = q.element / (s.m * s.n), member = 0, scale = 1;
  for (std::size_t k = s.batch.size(), shift = k - own.size(); k-- > shift;) {
    if (own[k - shift] != 1) member += rest % s.batch[k] * scale;
    scale *= own[k - shift];
    rest /= s.batch[k];
  }
  for (std::int64_t p = 0; p < s.k1; ++p)
    visit(q.input == 0 ? (member * s.m + i) * s.k1 + p : (member * s.k1 + p) * s.n + j);
}

// A 1-d operand is a row or a column, and so is its part in the result.
Tensors vjp(const Backward& b) {
  const bool row = b.shape(0).size() == 1, column = b.shape(1).size() == 1;
  Tensor g = b.g();
  if (row) g = expand_dims(g, {.axis = column ? -1 : -2});
  if (column) g = expand_dims(g, {.axis = -1});
  Tensors all(2);
  if (b.wants(0)) {
    const Tensor x2 = column ? expand_dims(b.in[1], {.axis = -1}) : b.in[1];
    const Tensor of = matmul(g, matrix_transpose(conj_of(x2)));
    all[0] = row ? squeeze(of, -2) : of;
  }
  if (b.wants(1)) {
    const Tensor x1 = row ? expand_dims(b.in[0], {.axis = 0}) : b.in[0];
    const Tensor of = matmul(matrix_transpose(conj_of(x1)), g);
    all[1] = column ? squeeze(of, -1) : of;
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& a, const Dims& b, std::string_view covers) {
    out.push_back({{small_numbers(d, a), small_numbers(d, b, 4)}, {}, covers});
  };
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op_matmul.params[0].kinds)) {
      add(dtype, {3, 4}, {4, 2}, {});
      add(dtype, {2, 3}, {3}, "2-d by 1-d");
    }
  for (const DType d : {i64, f64, c128}) {
    add(d, {4}, {4}, "1-d by 1-d");
    add(d, {4}, {4, 3}, "1-d by 2-d");
    add(d, {2, 1, 2, 3}, {4, 3, 2}, "batches broadcast");
    add(d, {5}, {2, 5, 3}, "batches broadcast");
    add(d, {2, 0}, {0, 3}, "k = 0: zeros");
    add(d, {20, 37}, {37, 19}, "wider than a tile");
  }
  out.push_back({{Tensor{{1e308, 1.0}}, Tensor{{10.0}, {1.0}}}, {}, "overflow: inf"});
  return out;
}

}  // namespace

const Op op_matmul = {
    .name = "matmul",
    .group = "linear algebra",
    .doc =
        "The product of two matrices, or of stacks of them (leading axes broadcast); a 1-d argument is a row (x1) or "
        "a "
        "column (x2). The bits of a result element depend on its row and its column only: not on threads, batch or "
        "layout. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .infer = infer,
    .forward = forward,
    .takes_out = true,
    .flow = flow,
    .vjp = vjp,
    .jvp = jvp_multilinear,
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"1-d by 1-d", "1-d by 2-d", "2-d by 1-d", "batches broadcast", "k = 0: zeros", "wider than a tile",
                 "overflow: inf"},
    .samples = samples,
};

}  // namespace wp
