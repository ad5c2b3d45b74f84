#include "base/text.hpp"
#include "linalg/inside.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "ops/products.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_multiply;
extern const Op op_linalg_kron;
extern const Op op_linalg_outer;
namespace {

using namespace linalg;

void need_axes(const Call& c, std::string_view what) {
  for (std::size_t i = 0; i < 2; ++i)
    if (c.in[i].ndim() == 0)
      refuse<ShapeError>("WP-SHP-018", say(c.op.params[i].name, " must be ", what, "; got a number."),
                         "Multiply by a number with *.");
}

// x with an axis of length 1 put before axis `at` (counted from the end of the shape).
Tensor with_axis(const Tensor& x, std::size_t from_end) {
  Dims shape = x.shape(), strides = x.strides();
  shape.insert(shape.size() - from_end, 1);
  strides.insert(strides.size() - from_end, 1);
  return view_of(x, shape, strides);
}
Tensor as_matrix(const Tensor& x) {
  return x.ndim() == 1 ? with_axis(x, 1) : x;
}

void outer(Call& c) {
  need_axes(c, "a vector or a stack of them");
  c.out.push_back(run_inside(c, op_multiply, {with_axis(c.in[0], 0), with_axis(c.in[1], 1)}));
}

// [..., m, 1, n, 1] · [..., 1, p, 1, q] has its elements in the order of [..., m p, n q].
void kron(Call& c) {
  need_axes(c, "a vector, a matrix or a stack of matrices");
  const Tensor a = as_matrix(c.in[0]), b = as_matrix(c.in[1]);
  const Tensor product =
      contiguous(run_inside(c, op_multiply, {with_axis(with_axis(a, 1), 0), with_axis(with_axis(b, 2), 1)}));
  const Dims& s = product.shape();
  Dims shape(s.begin(), s.end() - 4);
  if (c.in[0].ndim() > 1 || c.in[1].ndim() > 1) shape.push_back(s[s.size() - 4] * s[s.size() - 3]);
  shape.push_back(s[s.size() - 2] * s.back());
  c.out.push_back(view_of(product, shape, row_major(shape)));
}

void flow_outer(const FlowQuery& q, Visit visit) {
  const Dims &a = q.call.in[0].shape(), &b = q.call.in[1].shape();
  const Dims batch1(a.begin(), a.end() - 1), batch2(b.begin(), b.end() - 1), batch = broadcast(batch1, batch2);
  const std::int64_t m = a.back(), n = b.back(), member = q.element / (m * n);
  visit(q.input == 0 ? own_member(member, batch, batch1) * m + q.element / n % m
                     : own_member(member, batch, batch2) * n + q.element % n);
}

void flow_kron(const FlowQuery& q, Visit visit) {
  const Dims a = as_matrix(q.call.in[0]).shape(), b = as_matrix(q.call.in[1]).shape();
  const Dims batch1(a.begin(), a.end() - 2), batch2(b.begin(), b.end() - 2), batch = broadcast(batch1, batch2);
  const std::int64_t m = a[a.size() - 2], n = a.back(), p = b[b.size() - 2], r = b.back();
  const std::int64_t j = q.element % (n * r), i = q.element / (n * r) % (m * p), member = q.element / (n * r * m * p);
  visit(q.input == 0 ? (own_member(member, batch, batch1) * m + i / p) * n + j / r
                     : (own_member(member, batch, batch2) * p + i % p) * r + j % r);
}

// Σ of the parts of g that an element made, times conj of the other factor.
Tensors vjp_outer(const Backward& b) {
  const auto against = [](const Tensor& g, const Tensor& x) {
    return squeeze(matmul(g, expand_dims(conj_of(x), {.axis = -1})), -1);
  };
  return {b.wants(0) ? against(b.g(), b.in[1]) : Tensor(),
          b.wants(1) ? against(matrix_transpose(b.g()), b.in[0]) : Tensor()};
}

// g as [..., m₁, m₂, n₁, n₂]; then x1 has [..., m₁n₁, m₂n₂] times conj(x2) as a column.
Tensors vjp_kron(const Backward& b) {
  const auto matrix = [](const Dims& s) { return s.size() > 1 ? Dims(s.end() - 2, s.end()) : Dims{1, s.back()}; };
  const Dims s1 = matrix(b.shape(0)), s2 = matrix(b.shape(1)), &out = b.g().shape();
  const bool vectors = b.shape(0).size() == 1 && b.shape(1).size() == 1;
  Dims batch(out.begin(), out.end() - (vectors ? 1 : 2)), split = batch;
  for (const std::int64_t d : {s1[0], s2[0], s1[1], s2[1]}) split.push_back(d);
  const Tensor g = moveaxis(reshape(b.g(), split), -2, -3);
  const auto with = [](Dims d, std::initializer_list<std::int64_t> more) {
    for (const std::int64_t n : more) d.push_back(n);
    return d;
  };
  const Tensor pairs = reshape(g, with(batch, {s1[0] * s1[1], s2[0] * s2[1]}));
  const auto column = [&](const Tensor& x, const Dims& s) {
    Dims shape = x.shape();
    shape.resize(shape.size() > 1 ? shape.size() - 2 : 0);
    return reshape(conj_of(x), with(shape, {s[0] * s[1], 1}));
  };
  Tensors all(2);
  if (b.wants(0)) all[0] = reshape(matmul(pairs, column(b.in[1], s2)), with(batch, {s1[0], s1[1]}));
  if (b.wants(1)) all[1] = reshape(matmul(matrix_transpose(pairs), column(b.in[0], s1)), with(batch, {s2[0], s2[1]}));
  return all;
}

std::vector<Sample> pairs(const Op& op, std::vector<std::pair<Dims, Dims>> shapes, std::string_view batch) {
  std::vector<Sample> out;
  for (int d = 0; d < kDTypes; ++d)
    if (const auto dtype = static_cast<DType>(d); is(dtype, op.params[0].kinds))
      out.push_back({{small_numbers(dtype, shapes[0].first), small_numbers(dtype, shapes[0].second, 4)}, {}});
  for (const DType d : {i64, f64, c128})
    for (const auto& [a, b] : shapes)
      out.push_back({{small_numbers(d, a), small_numbers(d, b, 4)}, {}, a.size() == 3 ? batch : ""});
  return out;
}
std::vector<Sample> outer_samples() {
  std::vector<Sample> all =
      pairs(op_linalg_outer, {{{3}, {2}}, {{2, 1, 2}, {3, 2}}, {{0}, {2}}}, "batches broadcast");
  all.push_back({{Tensor{1e308, 1.0}, Tensor{10.0}}, {}, "overflow: inf"});
  return all;
}
std::vector<Sample> kron_samples() {
  std::vector<Sample> all =
      pairs(op_linalg_kron, {{{2, 3}, {2, 2}}, {{2, 2, 1}, {2, 2}}, {{3}, {2}}, {{2}, {2, 2}}, {{2, 0}, {1, 2}}},
            "batches broadcast");
  all.push_back({{small_numbers(f64, {2}), small_numbers(f64, {3})}, {}, "vectors: a vector"});
  all.push_back({{Tensor{{1e308, 1.0}}, Tensor{{10.0}}}, {}, "overflow: inf"});
  return all;
}

}  // namespace

const Op op_linalg_outer = {
    .name = "outer",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The products x1[..., i] x2[..., j] of all pairs of elements of two vectors; leading axes broadcast. Nothing "
        "is "
        "conjugated. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .infer = no_outputs,
    .forward = outer,
    .flow = flow_outer,
    .vjp = vjp_outer,
    .jvp = jvp_multilinear,
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"batches broadcast", "overflow: inf"},
    .samples = outer_samples,
};

const Op op_linalg_kron = {
    .name = "kron",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The Kronecker product of two matrices: blocks x1[i, j] x2. Leading axes broadcast; a vector counts as a "
        "row, "
        "and two of them give a vector. Integers wrap around.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .infer = no_outputs,
    .forward = kron,
    .flow = flow_kron,
    .vjp = vjp_kron,
    .jvp = jvp_multilinear,
    .saves_inputs = 3,
    .for_others = 3,
    .branches = {"batches broadcast", "vectors: a vector", "overflow: inf"},
    .samples = kron_samples,
};

}  // namespace wp
