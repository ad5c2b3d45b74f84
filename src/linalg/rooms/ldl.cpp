#include <algorithm>
#include <cmath>

#include "kernels/condition.hpp"
#include "kernels/lapack.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/interpret.hpp"
#include "linalg/lost_range.hpp"
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
  need_countable(c);
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, c.in[0].shape());
  c.output(c.key, c.in[0].shape());
  Dims rows = batch_of(c.in[0]);
  rows.push_back(n);
  c.output(i64, rows);
}

// Whether factors of A, all of whose numbers have this reach, may have lost something to the ends of the range of
// `held`: a row is far below others, or so is a pivot.
template <class T>
bool may_have_lost(std::int64_t n, kernels::View<T> a, const T* d, DType held) {
  const kernels::Reach reach = kernels::reach<T>(n, n, a);
  if (reach.most == kernels::kNoExponent) return false;
  const int room = room_of(held), spread = reach.least - reach.most, least = least_exponent_with_digits(held);
  const double small = std::ldexp(1.0, std::max(reach.most + room, -1073));
  for (std::int64_t i = 0; i < n && spread < room / 4; ++i) {
    double most = 0;  // of row i of D
    for (std::int64_t j = std::max<std::int64_t>(i - 1, 0); j < std::min(i + 2, n); ++j)
      most = std::max(most, size_of_number(d[i * n + j]));
    if (most < small) return true;
  }
  if (spread >= room && reach.least >= least) return false;
  const std::vector<int> none(static_cast<std::size_t>(n), 0);
  const std::vector<int> rows = kernels::largest_exponents<T>(n, n, a, none, none).rows;
  return std::any_of(rows.begin(), rows.end(),
                     [&](int e) { return e != kernels::kNoExponent && (e < least || e < reach.most + room); });
}
template <class T>
double lost(std::int64_t n, kernels::View<T> a, const T* l, const T* d, const std::int64_t* rows, DType held) {
  std::vector<Wide<T>> given, left(static_cast<std::size_t>(n * n)), right;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      given.push_back(Wide<T>(a.data[rows[i] * a.rows + rows[j] * a.columns]));
      right.push_back(as_held(conjugate(l[j * n + i]), held));
      Wide<T>& sum = left[static_cast<std::size_t>(i * n + j)];  // of L D, whose D has blocks of 2 × 2 at most
      for (std::int64_t k = std::max<std::int64_t>(j - 1, 0); k < std::min(j + 2, n); ++k)
        sum += as_held(l[i * n + k], held) * as_held(d[k * n + j], held);
    }
  return lost_in_product(n, n, n, given, left, right);
}

// L and D, row-major, and the order of rows and columns, of one member; `held`: the dtype that they will have.
template <class T>
void factor(std::int64_t n, Hermitian<T>& h, DType held, T* l, T* d, std::int64_t* rows, Verdict& v) {
  v.status = h.finite ? Status::ok : Status::nonfinite_input;
  if (!h.finite) return;
  const auto size = static_cast<std::size_t>(n);
  const kernels::View<T> given{h.matrix.data(), n, 1};
  const int e = kernels::placing_exponent<T>(n, n, given, kCeiling<T>);
  const std::vector<int> all(size, e), none(size, 0);
  std::vector<T> scaled(size * size);
  T* const a = scaled.data();
  kernels::scale<T, T>(n, n, given, all.data(), none.data(), a);
  std::vector<lapack::Pivot> pivots(size);
  const int info = lapack::ldl<T>(lapack::Form::hermitian, n, a, n, pivots.data());
  interpret(Routine::ldl, std::min(info, 0), n, n, v);  // a singular D is no trouble
  if (v.status != Status::ok) return;
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
  if (may_have_lost<T>(n, given, d, held)) tell_lost(lost<T>(n, given, l, d, rows, held), held, "L D Lᴴ", v);
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
    factor<T>(n, h, c.key, to_l, to_d, rows + i * n, v);
    if (v.status <= Status::overflow) return;
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
