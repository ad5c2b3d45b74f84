#include "base/text.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/members.hpp"
#include "linalg/refine.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/dispatch.hpp"
#include "ops/reduce.hpp"
#include "ops/shapes.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_solve_toeplitz;
namespace {

using namespace linalg;

struct Lines {
  Dims batch_c, batch_r, batch;
  std::int64_t n = 0;
  explicit Lines(const Call& c) {
    const Tensor &column = c.in[0], &row = c.in[2];
    for (const std::size_t i : {0, 2})
      if (c.in[i].defined() && c.in[i].ndim() == 0)
        refuse<ShapeError>("WP-SHP-018",
                           say(c.op.params[i].name, " must be a vector or a stack of them; got a number."));
    n = column.shape().back();
    batch = batch_c = batch_of(column, 1);
    if (!row.defined()) return;
    if (row.shape().back() != n)
      refuse<ShapeError>("WP-SHP-017",
                         say("r must be as long as c; got c ", column.shape(), ", r ", row.shape(), "."));
    batch_r = batch_of(row, 1);
    batch = broadcast(batch_c, batch_r);
  }
};

Problem problem_of(const Call& c) {
  const Lines lines(c);
  Problem p;
  take_right_side(p, c, lines.n, lines.batch);
  p.advice = "Use pinv of the matrix, or a ridge; or look at the column and the row.";
  return p;
}

// T[i, j] = c[i − j] on and below the diagonal, r[j − i] above it; without r its Hermitian form.
template <class T>
Tensor dense(const Lines& lines, const Tensor& c, const Tensor& r) {
  const std::int64_t n = lines.n;
  Dims shape = lines.batch;
  shape.push_back(n);
  shape.push_back(n);
  Tensor out = Tensor::adopt(detail::make_node(dtype_v<T>, shape));
  T* const to = reinterpret_cast<T*>(out.node()->data);
  const Stack<T> columns(c, lines.batch, 1), rows(r.defined() ? r : c, lines.batch, 1);
  for_members(count_of(lines.batch), n, [&](std::int64_t m) {
    const kernels::View<T> column = columns[m], row = rows[m];
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const T above = row.data[std::max<std::int64_t>(j - i, 0) * row.rows];
        to[(m * n + i) * n + j] = i >= j        ? column.data[(i - j) * column.rows]
                                  : r.defined() ? above
                                                : conjugate(above);
      }
  });
  return out;
}

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  c.output(c.key, answer_shape(problem_of(c), c.in[1].ndim() == 1));
}

void forward(Call& c) {
  Problem p = problem_of(c);
  const Lines lines(c);
  const DType work = working_dtype(c.key, p.n);
  const Tensor column = brought(c.in[0], work), row = c.in[2].defined() ? brought(c.in[2], work) : Tensor();
  with_float(work, [&]<class T>(T) { p.a = packed(dense<T>(lines, column, row), c.key); });
  run_systems(c, p, structured_options(c, 0));
}

// All of c; all of r but its first element; the same column of b.
void flow(const FlowQuery& q, Visit visit) {
  const Problem p = problem_of(q.call);
  if (q.input == 1) return flow_right_side(q, p, visit);
  const Lines lines(q.call);
  const Dims& own = q.input == 0 ? lines.batch_c : lines.batch_r;
  const std::int64_t member = own_member(q.element / (p.n * p.k), p.batch, own);
  for (std::int64_t i = q.input == 2 ? 1 : 0; i < p.n; ++i) visit(member * p.n + i);
}

// Sums along the diagonals of square matrices: element n − 1 + k of the last axis that of diagonal k. Rows upside
// down, padded to 2n and read 2n − 1 at a time: then diagonals stand in columns.
Tensor diagonal_sums(const Tensor& x) {
  const std::int64_t n = x.shape().back();
  Dims shape = x.shape();
  const Tensor padded =
      concat({x[{ellipsis, slice(none, none, -1), slice()}], zeros(shape, {.dtype = x.dtype()})}, {.axis = -1});
  shape.pop_back();
  shape.back() = 2 * n * n;
  const Tensor line = reshape(padded, shape)[{ellipsis, slice(0, 2 * n * n - n)}];
  shape.back() = n;
  shape.push_back(2 * n - 1);
  return sum(reshape(line, shape), {.axis = -2});
}

// Tᴴ has the first column conj(r) and the first row conj(c).
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const bool vector = b.shape(1).size() == 1, given = b.in.size() > 2 && b.in[2].defined();
  const Tensor &c = b.in[0], g = as_columns(b.g(), vector);
  const std::int64_t n = c.shape().back();
  if (n == 0) return {zeros_for(b.facts[0]), zeros_for(b.facts[1]), {}};
  const Tensor row = given ? b.in[2] : conj_of(c);
  const Dims batch = broadcast(batch_of(c, 1), batch_of(row, 1));
  const auto wide = [&](const Tensor& t) {
    Dims shape = batch;
    shape.push_back(t.shape().back());
    return broadcast_to(t, shape);
  };
  const Tensor first = conj_of(
                   concat({wide(c[{ellipsis, slice(0, 1)}]), wide(row[{ellipsis, slice(1, none)}])}, {.axis = -1})),
               other = conj_of(c);
  const Tensor* const in[] = {&first, &g, &other};
  std::vector<Attr> attrs(b.attrs.begin(), b.attrs.end());
  attrs[0] = "ignore";  // the verdict on T has been given
  const Tensor right = call_diagnosed(op_linalg_solve_toeplitz, Inputs(in), attrs, b.place).value[0];
  if (!b.wants(0) && !(given && b.wants(2))) return {{}, from_columns(right, vector), {}};
  const Tensor sums = negative(diagonal_sums(matmul(right, adjoint(as_columns(b.out[0], vector)))));
  const Tensor below = sums[{ellipsis, slice(n - 1, none, -1)}], above = sums[{ellipsis, slice(n, none)}];
  Dims one = sums.shape();
  one.back() = 1;
  const Tensor beside = concat({zeros(one, {.dtype = sums.dtype()}), above}, {.axis = -1});
  return {given ? below : add(below, conj_of(beside)), from_columns(right, vector), given ? beside : Tensor()};
}

std::vector<Attr> plain(Attr if_ill = "raise") {
  return {if_ill, Attr(), Attr()};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& line, const std::vector<complex128>& c, const std::vector<complex128>& r,
                       const Dims& b, const std::vector<complex128>& vb, std::string_view covers,
                       std::vector<Attr> attrs = plain()) {
    const Tensor row = r.empty() ? Tensor() : sample_tensor(d, {3}, r);
    out.push_back({{sample_tensor(d, line, c), sample_tensor(d, b, vb), row}, std::move(attrs), covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_solve_toeplitz.params[0].kinds)) {
      add(d, {3}, {4, 1, 2}, {9, 3, 1}, {3}, {1, 2, 3}, "r[0] is not read");
      add(d, {3}, {4, 1, 2}, {}, {3, 2}, {1, 2, 3, 0, 5, 6}, "symmetric: no r");
    }
  add(c128, {3}, {4, {1, 2}, {0, 1}}, {}, {3}, {1, {0, 1}, 2}, "symmetric: no r");
  add(c128, {3}, {{4, 1}, {1, 2}, {0, 1}}, {0, {1, -1}, 3}, {3}, {1, {0, 1}, 2}, "r[0] is not read");
  add(f64, {2, 3}, {4, 1, 2, 0, 1, 5}, {9, 3, 1}, {3, 1}, {1, 2, 3}, "batches broadcast");
  add(f64, {3}, {0, 1, 2}, {}, {3}, {1, 2, 3}, "a leading minor is zero");
  add(f64, {3}, {1e300, 1e299, 0}, {}, {3}, {1e300, 1, 1}, "near overflow");
  add(f64, {0}, {0}, {}, {0}, {0}, "empty");
  add(f64, {3}, {1, 1, 1}, {}, {3}, {1, 2, 3}, "singular", plain("nan"));
  return out;
}

}  // namespace

const Op op_linalg_solve_toeplitz = {
    .name = "solve_toeplitz",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of T x = b for the Toeplitz matrix with first column c and first row r (r[0] is not read); "
        "leading axes broadcast. The matrix is written out and solved as any other: O(n³), but as right as solve "
        "where Levinson's recursion, which needs well-conditioned leading minors, is not.",
    .params = {{"c", kinds::numeric},
               {"b", kinds::numeric},
               {.name = "r",
                .kinds = kinds::numeric,
                .doc = "None: the conjugate of c, so that T is Hermitian.",
                .optional = true}},
    .attrs = structured_attrs(),
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 5,
    .saves_outputs = 1,
    .outputs_for = 5,
    .branches = {"r[0] is not read", "symmetric: no r", "batches broadcast", "a leading minor is zero",
                 "near overflow", "empty", "singular"},
    .samples = samples,
};

}  // namespace wp
