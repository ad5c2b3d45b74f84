#include <cmath>

#include "linalg/augmented.hpp"
#include "linalg/kept.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/scaled_condition.hpp"
#include "linalg/solving.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_pinv;
namespace {

using namespace linalg;

Dims turned(const Tensor& x) {
  Dims shape = x.shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

void infer(Call& c) {
  need_matrices(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, turned(c.in[0]));
}

template <class T>
void run(const Tensor& a, const Factors* factors, Cutoff cutoff, double u, Diagnosis::State& state,
         const Result& out) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  const Stack<T> stack(a, state.batch);
  const KeptFor<T> kept(factors, state.batch);
  std::vector<T> identity(static_cast<std::size_t>(m * m), T(0));
  for (std::int64_t i = 0; i < m; ++i) identity[static_cast<std::size_t>(i * m + i)] = T(1);
  for_members(static_cast<std::int64_t>(state.verdicts.size()), std::max(m, n), [&](std::int64_t i) {
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    T* const to = out.data<T>() + i * m * n;
    kept.spectral(i, m, n, stack[i], [&](const Spectral<T>& svd) {
      v.method = Method::svd;
      v.status = svd.status();
      v.kept = 0;
      if (v.status != Status::ok) {
        std::fill_n(to, m * n, T(std::numeric_limits<R>::quiet_NaN()));
        return;
      }
      const double least = cutoff(svd.largest());
      const Minimised found = least_squares<T>(m, n, m, stack[i], svd, least, {identity.data(), m, 1}, {to, m, 1});
      v.kept = found.kept;
      // ‖δA⁺‖ ≤ 2‖A⁺‖²‖δA‖ at fixed rank (Wedin 1973): kinder to A⁺ as a whole than to its columns one by one.
      const bool whole = found.kept > 0 && found.kept < std::min(m, n);
      conclude_least_squares<T>(v, whole ? std::min(1.0, 2 * kUnit<T> / found.rcond) : found.error);
      if (v.kept > 0 && found.rcond < std::sqrt(u)) v.rcond = scaled_rcond<T>(m, n, stack[i], v.kept);
    });
  });
}

void forward(Call& c) {
  const Tensor& x = c.in[0];
  const std::int64_t longest = std::max(x.shape()[x.shape().size() - 2], x.shape().back());
  const DType work = working_dtype(c.key, longest);
  auto state = new_state(c, batch_of(x));
  const Cutoff cutoff = cutoff_of(c, 0, c.key, longest);
  const Tensor a = brought(x, work);
  Result out(c.out[0], work);
  with_float(work, [&]<class T>(T) { run<T>(a, factors_of(c), cutoff, round_off(c.key), *state, out); });
  out.finish();
  c.beside().residuals = {kept_values(state->batch, state->verdicts)};
  settle(c, std::move(state), policy_of(c, 2),
         "Bring its columns to one size, drop small singular values (rtol), or use inv with a ridge; in float32: "
         "compute in float64.");
}

void flow(const FlowQuery& q, Visit visit) {
  const Dims& s = q.call.in[0].shape();
  const std::int64_t each = s[s.size() - 2] * s.back();
  flow_members(q, each, each, visit);
}

// F = A⁺ where no singular value was dropped: dF = −F dA F + F Fᴴ dAᴴ (1 − A F) + (1 − F A) dAᴴ Fᴴ F (Golub & Pereyra
// 1973); else by the function of singular values that ran.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const Tensor &a = b.in[0], &f = b.out[0], &kept = b.residuals[0], turned = adjoint(b.g()), fh = adjoint(f);
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back(), k = std::min(m, n);
  if (k == 0) return {zeros_for(b.facts[0])};
  const Tensor full = equal(kept[{ellipsis, 1}], k);
  Tensor g, cut;
  if (any_true(full)) {
    g = negative(product(fh, b.g(), fh));
    if (m > n)
      g = add(g, product(subtract(identity(m, a.dtype()), matmul(a, f)), turned, matmul(f, fh)));
    else if (n > m)
      g = add(g, product(matmul(fh, f), turned, subtract(identity(n, a.dtype()), matmul(f, a))));
  }
  if (any_true(logical_not(full))) cut = spectral_cotangent(SpectralFunction::reciprocals, kept, a, turned);
  return {!cut.defined() ? g : !g.defined() ? cut : where(each(full), g, cut)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr rtol = {}, Attr if_ill = "raise", double atol = 0) {
    out.push_back({{sample_tensor(d, shape, v)}, {rtol, atol, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_pinv.params[0].kinds)) add(d, {2, 2}, {4, 1, 2, 3}, {});
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall");
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide");
  }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {2, 2}, {1, 1, 1, 1}, "rank deficient");
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "rtol drops a singular value", 0.1);
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "atol drops a singular value", {}, "raise", 0.1);
  add(f64, {0, 3}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", {}, "nan");
  return out;
}

}  // namespace

const Op op_linalg_pinv = {
    .name = "pinv",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The Moore-Penrose pseudo-inverse of each matrix: singular values up to rtol times the largest count as "
        "zero.",
    .params = {{"x", kinds::numeric}},
    .attrs = {rtol_attr(), atol_attr(), policy_attr()},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .takes_out = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"tall", "wide", "a batch", "rank deficient", "rtol drops a singular value",
                 "atol drops a singular value", "empty", "not finite"},
    .samples = samples,
};

}  // namespace wp
