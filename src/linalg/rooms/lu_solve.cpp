#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "linalg/factored.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "tensor/note.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_lu_solve;
namespace {

using namespace linalg;

RightSides sides_of(const Call& c) {
  const std::int64_t n = square_size(c.in[1], "L");
  const Tensor& p = c.in[0];
  if (square_size(c.in[2], "U") != n || p.ndim() == 0 || p.shape().back() != n)
    refuse<ShapeError>("WP-SHP-017", say("P must be [..., n], L and U [..., n, n]; got P ", p.shape(), ", L ",
                                         c.in[1].shape(), ", U ", c.in[2].shape(), "."));
  return RightSides(c, 3, n, broadcast(batch_of(p, 1), broadcast(batch_of(c.in[1]), batch_of(c.in[2]))));
}

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  c.output(c.key, sides_of(c).shape());
}

// P as i64, every row once. −1 stands in members that lu could not factor: those are not finite and are not looked
// at.
Tensor rows_of(const Call& c, std::int64_t n) {
  const Tensor p = packed(c.in[0], i64);
  const auto* const rows = reinterpret_cast<const std::int64_t*>(p.node()->data);
  std::vector<std::int64_t> seen(static_cast<std::size_t>(n), -1);  // in which member last
  for (std::int64_t e = 0; e < p.size(); ++e) {
    if (rows[e] < -1 || rows[e] >= n)
      refuse<IndexError>("WP-IDX-002",
                         say("P holds ", rows[e], " at ", unravel(e, p.shape()), "; rows are 0 to ", n - 1, "."));
    if (rows[e] < 0) continue;
    if (std::int64_t& member = seen[static_cast<std::size_t>(rows[e])]; std::exchange(member, e / n) == e / n)
      refuse<ArgumentError>("WP-ARG-001", say("P must hold every row once; it holds ", rows[e], " again at ",
                                              unravel(e, p.shape()), "."));
  }
  return p;
}

template <class T>
void run(const Call& c, const RightSides& s, DType work, Diagnosis::State& state, const Result& out) {
  const Tensor l = brought(c.in[1], work), u = brought(c.in[2], work), b = brought(s.b, work);
  const Stack<T> lower(l, s.batch), upper(u, s.batch), sides(b, s.batch);
  const Tensor p = rows_of(c, s.n);
  const auto* const rows = reinterpret_cast<const std::int64_t*>(p.node()->data);
  const bool keep = policy_of(c, 0) == Policy::ignore;
  state.threshold = Triangles<T>::threshold();
  for_members(static_cast<std::int64_t>(state.verdicts.size()), s.n, [&](std::int64_t i) {
    T* const x = out.data<T>() + i * s.n * s.k;
    const kernels::View<T> from = sides[i];
    const std::int64_t* const order = rows + own_member(i, s.batch, batch_of(p, 1)) * s.n;
    for (std::int64_t r = 0; r < s.n; ++r)
      for (std::int64_t j = 0; j < s.k; ++j)
        x[r * s.k + j] = order[r] < 0 ? T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN())
                                      : from.data[order[r] * from.rows + j * from.columns];
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v = solve_factored<T>({s.n, lower[i], upper[i]}, s.k, x, keep);
    v.method = Method::lu;
  });
}

void forward(Call& c) {
  const RightSides s = sides_of(c);
  const DType work = working_dtype(c.key, s.n);
  auto state = new_state(c, s.batch);
  state->matrix = Tensor();
  Result out(c.out[0], work);
  with_float(work, [&]<class T>(T) { run<T>(c, s, work, *state, out); });
  out.finish();
  settle(c, std::move(state), policy_of(c, 0), "Use solve with the matrix itself, or lstsq.", true,
         columns_of(brought(s.b, work), s.batch, s.n));
}

// All of P's member; the triangles of L's and U's; the same column of x's.
void flow(const FlowQuery& q, Visit visit) {
  const RightSides s = sides_of(q.call);
  const bool matrix = q.input == 1 || q.input == 2, upper = q.input == 2;
  const Dims own = q.input == 3 ? batch_of(s.b) : batch_of(q.call.in[q.input], q.input == 0 ? 1 : 2);
  const std::int64_t member = own_member(q.element / (s.n * s.k), s.batch, own);
  for (std::int64_t i = 0; i < s.n; ++i) {
    if (q.input == 0) visit(member * s.n + i);
    if (q.input == 3) visit((member * s.n + i) * s.k + q.element % s.k);
    for (std::int64_t j = upper ? i : 0; j < (upper ? s.n : i + 1) && matrix; ++j)
      visit((member * s.n + i) * s.n + j);
  }
}

// y = U⁻ᴴ g, w = L⁻ᴴ y: of b w in its own order, of U −y xᴴ, of L −w (U x)ᴴ.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const bool vector = b.shape(3).size() == 1;
  const Tensor x = as_columns(b.out[0], vector), g = as_columns(b.g(), vector);
  const Tensor y = diagnosed::solve_triangular(b.in[2], g, {.adjoint = true, .if_ill = "ignore"}).value;
  const Tensor w =
      diagnosed::solve_triangular(b.in[1], y, {.lower = true, .adjoint = true, .if_ill = "ignore"}).value;
  Tensors all(4);
  if (b.wants(1)) all[1] = negative(tril(matmul(w, adjoint(matmul(triu(b.in[2]), x)))));
  if (b.wants(2)) all[2] = negative(triu(matmul(y, adjoint(x))));
  if (b.wants(3)) all[3] = from_columns(matmul(matrix_transpose(rows_matrix(b.in[0], w.dtype())), w), vector);
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  using Values = std::vector<complex128>;
  const auto add = [&](DType d, const Dims& batch, const Values& p, const Values& l, const Values& u, const Dims& sb,
                       const Values& b, std::string_view covers, Attr if_ill = "raise") {
    Dims line = batch, square = batch;
    line.push_back(sb.empty() ? 0 : sb[sb.size() == 1 ? 0 : sb.size() - 2]);
    square.push_back(line.back());
    square.push_back(line.back());
    out.push_back({{sample_tensor(i64, line, p), sample_tensor(d, square, l), sample_tensor(d, square, u),
                    sample_tensor(d, sb, b)},
                   {if_ill},
                   covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_lu_solve.params[1].kinds)) {
      add(d, {}, {1, 0}, {1, 7, 1, 1}, {2, 1, 7, 4}, {2}, {1, 3}, "a vector");
      add(d, {}, {2, 0, 1}, {1, 0, 0, 1, 1, 0, 0, 1, 1}, {4, 2, 1, 0, 2, 5, 0, 0, 1}, {3, 2}, {1, 3, 5, 2, 2, 7}, {});
    }
  for (const DType d : {c64, c128})
    add(d, {}, {1, 0}, {1, 0, {0, 0.5}, 1}, {2, {1, 1}, 0, 4}, {2}, {{1, 2}, 3}, "a vector");
  add(f64, {2}, {1, 0, 0, 1}, {1, 0, 0.5, 1, 1, 0, 0.25, 1}, {2, 1, 0, 4, 3, 2, 0, 1}, {2, 1}, {1, 3},
      "batches broadcast");
  add(f64, {}, {0, 1}, {1, 0, 0, 1}, {1e150, 0, 0, 1e-150}, {2}, {1, 1}, "badly scaled");
  add(f64, {}, {0, 1}, {1, 0, 1, 1}, {1, 1, 0, 0}, {2}, {1, 2}, "singular", "nan");
  add(f64, {}, {0}, {0}, {0}, {0}, {0}, "empty");
  add(f64, {}, {0, 1}, {1, 0, HUGE_VAL, 1}, {1, 1, 0, 1}, {2}, {1, 2}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_lu_solve = {
    .name = "lu_solve",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of A x = b for A[P] = L U, the results of lu; one vector (1-d b) or matrices; leading axes "
        "broadcast.",
    .params = {{.name = "P", .kinds = kinds::integer, .separate = true},
               {"L", kinds::numeric},
               {"U", kinds::numeric},
               {"b", kinds::numeric}},
    .attrs = {factored_policy_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 7,
    .saves_outputs = 1,
    .branches = {"a vector", "batches broadcast", "badly scaled", "singular", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
