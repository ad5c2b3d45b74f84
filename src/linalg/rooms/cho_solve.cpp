#include <cmath>

#include "linalg/factored.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_cho_solve;
namespace {

using namespace linalg;

RightSides sides_of(const Call& c) {
  const std::int64_t n = square_size(c.in[0], "x1");
  return RightSides(c, 1, n, batch_of(c.in[0]));
}

void infer(Call& c) {
  c.key = float_result(common_dtype(c));
  c.output(c.key, sides_of(c).shape());
}

template <class T>
void run(const Call& c, const RightSides& s, DType work, Diagnosis::State& state, const Result& out) {
  const Tensor l = brought(c.in[0], work), b = brought(s.b, work);
  const Stack<T> factors(l, s.batch), sides(b, s.batch);
  const bool upper = c.attr(0).flag(), keep = policy_of(c, 1) == Policy::ignore;
  state.threshold = Triangles<T>::threshold();
  for_members(static_cast<std::int64_t>(state.verdicts.size()), s.n, [&](std::int64_t i) {
    T* const x = out.data<T>() + i * s.n * s.k;
    const kernels::View<T> from = sides[i], factor = factors[i], other = factor.transposed().conjugated();
    for (std::int64_t r = 0; r < s.n; ++r)
      for (std::int64_t j = 0; j < s.k; ++j) x[r * s.k + j] = from.data[r * from.rows + j * from.columns];
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v = solve_factored<T>({s.n, upper ? other : factor, upper ? factor : other}, s.k, x, keep);
    v.structure = Structure::spd;
    v.method = Method::cholesky;
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
  settle(c, std::move(state), policy_of(c, 1), "Use solve with the matrix itself.", true,
         columns_of(brought(s.b, work), s.batch, s.n));
}

// The triangle of x1's member; the same column of x2's.
void flow(const FlowQuery& q, Visit visit) {
  const RightSides s = sides_of(q.call);
  const bool upper = q.call.attr(0).flag();
  const std::int64_t member =
      own_member(q.element / (s.n * s.k), s.batch, q.input == 0 ? batch_of(q.call.in[0]) : batch_of(s.b));
  for (std::int64_t i = 0; i < s.n; ++i) {
    if (q.input == 1) visit((member * s.n + i) * s.k + q.element % s.k);
    for (std::int64_t j = upper ? i : 0; j < (upper ? s.n : i + 1) && q.input == 0; ++j)
      visit((member * s.n + i) * s.n + j);
  }
}

// x = L⁻ᴴ y, y = L⁻¹ b: with ȳ = L⁻¹ g and r = L⁻ᴴ ȳ, which is the cotangent of b, L has −(r yᴴ + x ȳᴴ). U = Lᴴ has
// the adjoint of that.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const bool upper = b.attr(0).flag(), vector = b.shape(1).size() == 1;
  const auto divided = [&](const Tensor& t, bool by_adjoint) {
    return diagnosed::solve_triangular(b.in[0], t,
                                       {.lower = !upper, .adjoint = upper != by_adjoint, .if_ill = "ignore"})
        .value;
  };
  const Tensor gy = divided(as_columns(b.g(), vector), false), r = divided(gy, true);
  Tensors all{{}, from_columns(r, vector)};
  if (b.wants(0)) {
    const Tensor y = divided(as_columns(b.in[1], vector), false), x = as_columns(b.out[0], vector);
    const Tensor of_l = negative(add(matmul(r, adjoint(y)), matmul(x, adjoint(gy))));
    all[0] = upper ? triu(adjoint(of_l)) : tril(of_l);
  }
  return all;
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  using Values = std::vector<complex128>;
  const auto add = [&](DType d, const Dims& sl, const Values& l, const Dims& sb, const Values& b,
                       std::string_view covers, Attr upper = false, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, sl, l), sample_tensor(d, sb, b)}, {upper, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_cho_solve.params[0].kinds)) {
      add(d, {2, 2}, {2, 7, 1, 2}, {2}, {1, 3}, "a vector");
      add(d, {2, 2}, {2, 1, 7, 2}, {2, 1}, {1, 3}, "upper", true);
    }
  for (const DType d : {c64, c128}) {
    add(d, {2, 2}, {2, 7, {1, 1}, 3}, {2}, {{1, 2}, 3}, "a vector");
    add(d, {2, 2}, {2, {1, 1}, 7, 3}, {2}, {{1, 2}, 3}, "upper", true);
  }
  add(f64, {2, 2, 2}, {2, 0, 1, 2, 3, 0, 2, 1}, {2, 1}, {1, 3}, "batches broadcast");
  add(f64, {2, 2}, {1e50, 0, 1e-51, 1e-50}, {2}, {1, 1}, "badly scaled");
  add(f64, {2, 2}, {1, 0, 1, 1e-9}, {2}, {1, 2}, "no digit is sure", false, "nan");
  add(f64, {2, 2}, {1, 0, 1, 0}, {2}, {1, 2}, "no digit is sure", false, "nan");
  add(f64, {0, 0}, {0}, {0}, {0}, "empty");
  add(f64, {2, 2}, {1, 0, HUGE_VAL, 1}, {2}, {1, 2}, "not finite", false, "nan");
  return out;
}

}  // namespace

const Op op_linalg_cho_solve = {
    .name = "cho_solve",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The solution x of A x = x2 for A = L conj(L)ᵀ given by its Cholesky factor x1 = L (upper = true: A = "
        "conj(U)ᵀ U by x1 = U), one vector (1-d x2) or matrices; leading axes broadcast.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = {{"upper", AttrType::boolean, false, "x1 is the upper triangular factor."}, factored_policy_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 3,
    .saves_outputs = 1,
    .for_others = 2,
    .outputs_for = 1,
    .branches = {"a vector", "upper", "batches broadcast", "badly scaled", "no digit is sure", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
