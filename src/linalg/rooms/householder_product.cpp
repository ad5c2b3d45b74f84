#include <cmath>

#include "base/text.hpp"
#include "kernels/lapack.hpp"
#include "linalg/interpret.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_householder_product;
namespace {

using namespace linalg;

void infer(Call& c) {
  const MatrixSizes s(c.in[0]);
  need_countable(c);
  const Tensor& tau = c.in[1];
  if (s.m < s.n || tau.ndim() == 0 || tau.shape().back() > s.n || batch_of(tau, 1) != s.batch)
    refuse<ShapeError>(
        "WP-SHP-017",
        say("x must be [..., m, n] with m >= n, tau [..., k] with k <= n and the same leading axes; got x ",
            c.in[0].shape(), ", tau ", tau.shape(), "."));
  c.key = float_result(common_dtype(c));
  c.output(c.key, c.in[0].shape());
}

template <class T>
void run(const MatrixSizes& s, const Tensor& a, const Tensor& scalars, Diagnosis::State& state, const Result& out) {
  const std::int64_t k = scalars.shape().back();
  const Stack<T> stack(a, s.batch), taus(scalars, s.batch, 1);
  for_members(s.members(), s.m, [&](std::int64_t i) {
    T* const to = out.data<T>() + i * s.m * s.n;
    const kernels::View<T> x = stack[i], t = taus[i];
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v.method = Method::qr;
    std::vector<T> q(static_cast<std::size_t>(s.m * s.n)), tau(static_cast<std::size_t>(k));
    for (std::int64_t j = 0; j < k; ++j) {
      tau[static_cast<std::size_t>(j)] = t.data[j * t.rows];
      for (std::int64_t r = j + 1; r < s.m; ++r)
        q[static_cast<std::size_t>(r + j * s.m)] = x.data[r * x.rows + j * x.columns];
    }
    const bool finite = std::isfinite(kernels::norms<T>(s.n, s.m, {q.data(), s.m, 1}).largest) &&
                        std::isfinite(kernels::norms<T>(k, 1, t).largest);
    v.status = finite ? Status::ok : Status::nonfinite_input;
    if (!finite) return fill_nan(to, s.m * s.n);
    interpret(Routine::qr, lapack::householder_product<T>(s.m, s.n, k, q.data(), s.m, tau.data()), s.m, s.n, v);
    if (v.status != Status::ok) return fill_nan(to, s.m * s.n);
    put_rows(s.m, s.n, q.data(), s.m, 0, to);
  });
}

void forward(Call& c) {
  const MatrixSizes s(c.in[0]);
  const DType work = working_dtype(c.key, s.m);
  const Tensor a = brought(c.in[0], work), tau = brought(c.in[1], work);
  auto state = new_state(c, s.batch);
  Result out(c.out[0], work);
  with_float(work, [&]<class T>(T) { run<T>(s, a, tau, *state, out); });
  out.finish();
  settle(c, std::move(state), policy_of(c, 0), "Look at the reflectors: they could not be multiplied.");
}

// The reflectors' elements, and tau, of the same member.
void flow(const FlowQuery& q, Visit visit) {
  const MatrixSizes s(q.call.in[0]);
  const std::int64_t k = q.call.in[1].shape().back(), member = q.element / (s.m * s.n);
  if (q.input == 1) return flow_members(q, k, s.m * s.n, visit);
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < std::min(i, k); ++j) visit((member * s.m + i) * s.n + j);
}

// Qⱼ = Hⱼ Qⱼ₊₁ with Hⱼ = 1 − τ v vᴴ, from the identity on: with G the cotangent of Qⱼ and r = vᴴ Qⱼ₊₁, Qⱼ₊₁ has Hⱼᴴ
// G, τ has −vᴴ G rᴴ and v has −conj(τ) G rᴴ − τ Qⱼ₊₁ Gᴴ v.
Tensors vjp(const Backward& b) {
  const Tensor &x = b.in[0], &tau = b.in[1];
  const std::int64_t m = x.shape()[x.shape().size() - 2], n = x.shape().back(), k = tau.shape().back();
  if (x.size() == 0 || k == 0) return {zeros_for(b.facts[0]), zeros_for(b.facts[1])};
  const Tensor rows = expand_dims(arange(m), {.axis = -1});
  std::vector<Tensor> v, t, q(static_cast<std::size_t>(k) + 1);
  for (std::int64_t j = 0; j < k; ++j) {
    const Tensor column = x[{ellipsis, slice(), slice(j, j + 1)}], unit = astype(equal(rows, j), x.dtype());
    v.push_back(where(greater(rows, j), column, unit));
    t.push_back(expand_dims(tau[{ellipsis, slice(j, j + 1)}], {.axis = -1}));
  }
  const auto reflected = [](const Tensor& v1, const Tensor& t1, const Tensor& q1) {
    return subtract(q1, multiply(matmul(v1, matmul(adjoint(v1), q1)), t1));
  };
  q.back() = eye(m, {.n_cols = n, .dtype = x.dtype()});
  for (std::size_t j = v.size(); j-- > 0;) q[j] = reflected(v[j], t[j], q[j + 1]);
  Tensors columns, of_tau;
  Tensor g = b.g();
  for (std::size_t j = 0; j < v.size(); ++j) {
    const Tensor vh = adjoint(v[j]), rh = adjoint(matmul(vh, q[j + 1]));
    const Tensor own =
        add(multiply(matmul(g, rh), conj_of(t[j])), multiply(matmul(q[j + 1], matmul(adjoint(g), v[j])), t[j]));
    columns.push_back(where(greater(rows, static_cast<std::int64_t>(j)), negative(own), 0));
    of_tau.push_back(squeeze(negative(product(vh, g, rh)), -1));
    g = reflected(v[j], conj_of(t[j]), g);
  }
  Dims rest = x.shape();
  rest.back() = n - k;
  if (k < n) columns.push_back(zeros(rest, {.dtype = x.dtype()}));
  return {concat(columns, {.axis = -1}), concat(of_tau, {.axis = -1})};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& sx, const std::vector<complex128>& x, const Dims& st,
                       const std::vector<complex128>& tau, std::string_view covers, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, sx, x), sample_tensor(d, st, tau)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_householder_product.params[0].kinds))
      add(d, {3, 2}, {7, 7, 1, 7, 1, 1}, {2}, {1, 1}, {});
  for (const DType d : {c64, c128}) add(d, {3, 2}, {7, 7, {1, 1}, 7, 0.5, {0, -1}}, {2}, {{0.5, 0.25}, 1}, {});
  add(f64, {3, 3}, {7, 7, 7, 0.5, 7, 7, 0.25, 1, 7}, {1}, {1.5}, "fewer reflectors than columns");
  add(f64, {2, 2, 1}, {7, 1, 7, 2}, {2, 1}, {1, 0.4}, "a batch");
  add(f64, {0, 0}, {0}, {0}, {0}, "empty");
  add(f64, {2, 1}, {1, HUGE_VAL}, {1}, {1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_householder_product = {
    .name = "householder_product",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The first n columns of H0 H1 ..., Hi = 1 - tau[i] v conj(v)ᵀ with v = (0, ..., 0, 1, x[i+1:, i]); what is "
        "on "
        "and above the diagonal of x is not used.",
    .params = {{"x", kinds::numeric}, {"tau", kinds::numeric}},
    .attrs = {policy_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 3,
    .branches = {"fewer reflectors than columns", "a batch", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
