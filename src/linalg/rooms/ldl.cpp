#include "kernels/condition.hpp"
#include "kernels/lapack.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_ldl;
namespace {

using namespace linalg;

void infer(Call& c) {
  const std::int64_t n = square_size(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, c.in[0].shape());
  c.output(c.key, c.in[0].shape());
  Dims rows = batch_of(c.in[0]);
  rows.push_back(n);
  c.output(i64, rows);
}

// L and D, row-major, and the order of rows and columns, of one member.
template <class T>
Status factor(std::int64_t n, Hermitian<T>& h, T* l, T* d, std::int64_t* rows) {
  if (!h.finite) return Status::nonfinite_input;
  T* const a = h.matrix.data();
  const int e = kernels::prescale_exponent<T>(n, n, {a, n, 1});
  const auto size = static_cast<std::size_t>(n);
  const std::vector<int> all(size, e), none(size, 0);
  kernels::scale<T, T>(n, n, {a, n, 1}, all.data(), none.data(), a);
  std::vector<lapack::Pivot> pivots(size);
  if (lapack::ldl<T>(lapack::Form::hermitian, n, a, n, pivots.data()) < 0) return Status::not_converged;
  std::vector<T> lower(size * size), diagonal(size), below(size);
  lapack::ldl_unpack<T>(n, a, n, pivots.data(), lower.data(), n, diagonal.data(), below.data(), rows);
  // Row-major memory is the conjugate matrix to LAPACK, and so are its factors.
  std::fill_n(d, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) l[i * n + j] = conjugate(lower[static_cast<std::size_t>(i + j * n)]);
    d[i * n + i] = T(std::real(times_power(diagonal[static_cast<std::size_t>(i)], -e)));
    if (i + 1 == n) break;
    const T off = times_power(below[static_cast<std::size_t>(i)], -e);
    d[(i + 1) * n + i] = conjugate(off);
    d[i * n + i + 1] = off;
  }
  return Status::ok;
}

template <class T>
void run(const Call& c, const Tensor& a, Diagnosis::State& state, const Result& l, const Result& d,
         std::int64_t* rows, std::vector<double>& asymmetry) {
  const std::int64_t n = a.shape().back();
  const Stack<T> stack(a, state.batch);
  const std::string_view uplo = c.attr(0) ? c.attr(0).text() : std::string_view();
  for_members(static_cast<std::int64_t>(state.verdicts.size()), n, [&](std::int64_t i) {
    Hermitian<T> h(n, stack[i], uplo);
    asymmetry[static_cast<std::size_t>(i)] = h.asymmetry;
    T *const to_l = l.data<T>() + i * n * n, *const to_d = d.data<T>() + i * n * n;
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v.structure = Structure::symmetric;
    v.method = Method::ldl;
    v.status = factor<T>(n, h, to_l, to_d, rows + i * n);
    if (v.status == Status::ok) return;
    fill_nan(to_l, n * n);
    fill_nan(to_d, n * n);
    std::fill_n(rows + i * n, n, std::int64_t{-1});
  });
}

void forward(Call& c) {
  const DType work = working_dtype(c.key, c.in[0].shape().back());
  const Tensor a = brought(c.in[0], work);
  auto state = new_state(c, batch_of(c.in[0]));
  std::vector<double> asymmetry(state->verdicts.size());
  Result l(c.out[0], work), d(c.out[1], work);
  auto* const rows = reinterpret_cast<std::int64_t*>(c.out[2].node()->data);
  with_float(work, [&]<class T>(T) { run<T>(c, a, *state, l, d, rows, asymmetry); });
  l.finish();
  d.finish();
  report_asymmetry(c, asymmetry, c.in[0].dtype());
  settle(c, std::move(state), policy_of(c, 1), "Look at the matrix: it could not be factored.");
}

// L⁻¹ dA L⁻ᴴ = N D + dD + D Nᴴ with N = L⁻¹ dL below the blocks of D, where L is the identity. So A has the cotangent
// L⁻ᴴ K L⁻¹, K the Hermitian part of below(Lᴴ gL D⁻¹) + blocks(gD).
Tensors vjp(const Backward& b) {
  const Tensor &l = b.out[0], &d = b.out[1];
  const std::int64_t n = l.shape().back();
  if (n == 0) return {zeros_for(b.facts[0])};
  const Tensor one = identity(n, DType::boolean), paired = not_equal(d, 0);
  const Tensor block = logical_or(logical_or(one, paired), matrix_transpose(paired));
  Tensor k;
  if (b.cotangents[0].defined()) {
    // A pivot of 0 leaves nothing below it: its column of L does not vary.
    const Tensor empty = logical_not(any(paired, {.axis = -1, .keepdims = true}));
    const Tensor pivots = where(logical_and(one, empty), 1, d);
    const Tensor turned = adjoint(diagnosed::solve(pivots, adjoint(matmul(adjoint(l), b.cotangents[0]))).value);
    k = where(block, 0, tril(turned));
  }
  if (b.cotangents[1].defined()) k = sum_of(k, where(block, b.cotangents[1], 0));
  k = hermitian(k);
  const auto back = [&](const Tensor& t) {
    return diagnosed::solve_triangular(l, t,
                                       {.lower = true, .adjoint = true, .unit_diagonal = true, .if_ill = "ignore"})
        .value;
  };
  const Tensor rows = rows_matrix(b.out[2], l.dtype());
  const Tensor g = product(matrix_transpose(rows), adjoint(back(adjoint(back(k)))), rows);
  return {hermitian_cotangent(g, b.attr(0))};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr uplo = {}, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {uplo, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_ldl.params[0].kinds))
      add(d, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 9}, {});
  for (const DType d : {c64, c128}) {
    add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, {});
    add(d, {3, 3}, {0, {1, 2}, 1, {1, -2}, 0, {0, 3}, 1, {0, -3}, 0}, "a block of 2 × 2");
  }
  add(f64, {3, 3}, {0, 1, 2, 1, 0, 3, 2, 3, 0}, "a block of 2 × 2");
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 1, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {4, 7, 1, 3}, "one triangle", "lower");
  add(f64, {2, 2}, {4, 7, 1, 3}, "one triangle", "upper");
  add(f64, {2, 2}, {1, 1, 1, 1}, "singular");
  add(f64, {2, 2}, {1e300, 2e300, 2e300, 5e300}, "near overflow");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, "not finite", {}, "nan");
  add(f64, {2, 2}, {1, 7, HUGE_VAL, 0}, "not finite", "lower", "nan");
  return out;
}

}  // namespace

const Op op_linalg_ldl = {
    .name = "ldl",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The factors x[P][:, P] = L D conj(L)ᵀ of each symmetric or Hermitian matrix: L unit lower triangular, D "
        "with blocks of 1 × 1 and 2 × 2 on its diagonal (rook pivoting), P the order of rows and columns.",
    .params = {{"x", kinds::numeric}},
    .attrs = {uplo_attr(), policy_attr()},
    .outputs = {"L", "D", "P"},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = [](const FlowQuery& q, Visit visit) { flow_hermitian(q, q.call.attr(0), visit); },
    .vjp = vjp,
    .saves_outputs = 7,
    .branches = {"a block of 2 × 2", "a batch", "one triangle", "singular", "near overflow", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
