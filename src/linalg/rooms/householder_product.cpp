#include <cmath>

#include "base/text.hpp"
#include "kernels/lapack.hpp"
#include "linalg/members.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/solving.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_householder_product;
namespace {

using namespace linalg;

void infer(Call& c) {
  const MatrixSizes s(c.in[0]);
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
    if (lapack::householder_product<T>(s.m, s.n, k, q.data(), s.m, tau.data()) != 0) {
      v.status = Status::not_converged;
      return fill_nan(to, s.m * s.n);
    }
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
    .saves_inputs = 3,
    .saves_outputs = 1,
    .branches = {"fewer reflectors than columns", "a batch", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
