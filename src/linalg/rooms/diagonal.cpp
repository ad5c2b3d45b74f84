#include <algorithm>

#include "base/text.hpp"
#include "linalg/inside.hpp"
#include "linalg/rules.hpp"
#include "ops/derivative.hpp"
#include "ops/moves.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_sum;
extern const Op op_linalg_diagonal;
extern const Op op_linalg_trace;
namespace {

// Elements (i, i + offset) of the last two axes: a line of `length` elements from `first` on, `step` apart.
struct Line {
  Dims shape, strides;  // of the view
  std::int64_t first = 0;

  Line(const Dims& of, const Dims& of_strides, std::int64_t offset) {
    if (of.size() < 2)
      refuse<ShapeError>("WP-SHP-008", say("x must be a matrix or a stack of matrices; got shape ", of, "."));
    const std::int64_t m = of[of.size() - 2], n = of.back();
    const std::int64_t rows = of_strides[of.size() - 2], columns = of_strides.back();
    const std::int64_t k = std::clamp(offset, -m, n);  // beyond the corners there is nothing
    const std::int64_t length = std::max<std::int64_t>(0, k >= 0 ? std::min(m, n - k) : std::min(m + k, n));
    shape = Dims(of.begin(), of.end() - 2);
    strides = Dims(of_strides.begin(), of_strides.end() - 2);
    shape.push_back(length);
    strides.push_back(rows + columns);
    if (length > 0) first = k >= 0 ? k * columns : -k * rows;
  }
};

Tensor diagonal_of(const Call& c) {
  const Tensor& x = c.in[0];
  const Line line(x.shape(), x.strides(), c.attr(0).integer());
  return view_of(x, line.shape, line.strides, line.first);
}

void trace(Call& c) {
  const Tensor line = diagonal_of(c);
  const Attr attrs[] = {Dims{-1}, false, total_dtype(c, c.attr(1))};
  c.out.push_back(linalg::run_inside(c, op_sum, {line}, attrs));
}

void flow_trace(const FlowQuery& q, Visit visit) {
  const Dims& shape = q.call.in[0].shape();
  const Line line(shape, row_major(shape), q.call.attr(0).integer());
  const std::int64_t each = shape[shape.size() - 2] * shape.back();
  for (std::int64_t i = 0; i < line.shape.back(); ++i) visit(q.element * each + line.first + i * line.strides.back());
}

AttrSpec offset_attr() {
  return {"offset", AttrType::integer, 0, "Which diagonal: 0 the main one, positive ones above it."};
}

Tensor diagonal_mask(const Saved& s) {
  const Dims& shape = s.shape(0);
  return eye(shape[shape.size() - 2], {.n_cols = shape.back(), .k = s.attr(0).integer(), .dtype = DType::boolean});
}
// Element i of the line stands in row i, or below it where the diagonal does.
Tensors vjp_diagonal(const Backward& b) {
  const Dims& shape = b.shape(0);
  const std::int64_t m = shape[shape.size() - 2], length = b.g().shape().back();
  if (length == 0) return {zeros_for(b.facts[0])};
  const std::int64_t above = std::max<std::int64_t>(0, -b.attr(0).integer());
  Dims part = b.g().shape();
  const auto gap = [&](std::int64_t n) {
    part.back() = n;
    return zeros(part, {.dtype = b.g().dtype()});
  };
  const Tensor rows = concat({gap(above), b.g(), gap(m - above - length)}, {.axis = -1});
  return {where(diagonal_mask(b), expand_dims(rows, {.axis = -1}), 0)};
}
Tensors vjp_trace(const Backward& b) {
  return {where(diagonal_mask(b), linalg::each(b.g()), 0)};
}

std::vector<Sample> both(const Op& op, const std::vector<Attr>& more) {
  const auto attrs = [&](int offset) {
    std::vector<Attr> all{offset};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  std::vector<Sample> all = moving_samples(op, {3, 3}, attrs(0));
  all.push_back({{counting(f64, {2, 3, 4})}, attrs(1), "offset > 0"});
  all.push_back({{counting(f64, {2, 4, 3})}, attrs(-2), "offset < 0"});
  all.push_back({{counting(f64, {2, 3})}, attrs(100), "beyond the corners: nothing"});
  all.push_back({{counting(f64, {2, 3})}, attrs(-100), "beyond the corners: nothing"});
  all.push_back({{counting(f64, {0, 0})}, attrs(0), "beyond the corners: nothing"});
  return all;
}
std::vector<Sample> trace_samples() {
  std::vector<Sample> all = both(op_linalg_trace, {Attr()});
  all.push_back({{sample_tensor(u8, {2, 2}, {200, 0, 0, 100})}, {0, u8}, "dtype"});
  all.push_back({{sample_tensor(f64, {3, 3}, {1e16, 0, 0, 0, 1, 0, 0, 0, -1e16})}, {0, Attr()}, "cancels"});
  return all;
}

}  // namespace

const Op op_linalg_diagonal = {
    .name = "diagonal",
    .ns = "linalg",
    .group = "linear algebra",
    .doc = "A diagonal of each matrix, x[..., i, i + offset]; a view.",
    .params = {{"x"}},
    .attrs = {offset_attr()},
    .infer = no_outputs,
    .forward = [](Call& c) { c.out.push_back(diagonal_of(c)); },
    .notes = Notes::moves,
    .flow = flow_moves,
    .vjp = vjp_diagonal,
    .jvp = jvp_linear,
    .branches = {"offset > 0", "offset < 0", "beyond the corners: nothing"},
    .samples = [] { return both(op_linalg_diagonal, {}); },
};

const Op op_linalg_trace = {
    .name = "trace",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The sum of a diagonal of each matrix, added in twice the precision. Integers give i64 or u64 and wrap "
        "around.",
    .params = {{"x"}},
    .attrs = {offset_attr(), total_attr()},
    .infer = no_outputs,
    .forward = trace,
    .flow = flow_trace,
    .vjp = vjp_trace,
    .jvp = jvp_linear,
    .branches = {"offset > 0", "offset < 0", "beyond the corners: nothing", "dtype", "cancels"},
    .samples = trace_samples,
};

}  // namespace wp
