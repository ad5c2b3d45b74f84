#include <cmath>

#include "base/text.hpp"
#include "kernels/modular.hpp"
#include "linalg/condition_number.hpp"
#include "linalg/judgement.hpp"
#include "linalg/members.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/spectral.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_cond;
extern const Op op_linalg_matrix_rank;
namespace {

using namespace linalg;

void infer_cond(Call& c) {
  need_matrices(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(real_of(c.key), batch_of(c.in[0]));
}
void infer_rank(Call& c) {
  need_matrices(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(i64, batch_of(c.in[0]));
}

struct Sizes {
  std::int64_t m, n, longest;
  explicit Sizes(const Tensor& x)
      : m(x.shape()[x.shape().size() - 2]), n(x.shape().back()), longest(std::max(m, n)) {}
};

// Singular values of every member; bad(i) where there are none, else good(i, decomposition, matrix).
template <class T, class Good, class Bad>
void run(const Tensor& a, Diagnosis::State& state, Good&& good, Bad&& bad) {
  const Sizes s(a);
  const Stack<T> stack(a, state.batch);
  for_members(static_cast<std::int64_t>(state.verdicts.size()), s.longest, [&](std::int64_t i) {
    const Spectral<T> svd(s.m, s.n, stack[i], Parts::values);
    Verdict& v = state.verdicts[static_cast<std::size_t>(i)];
    v.method = Method::svd;
    svd.judge(v);
    v.status == Status::ok ? good(i, svd, stack[i]) : bad(i);
  });
}

constexpr std::string_view kAdvice = "Look at the matrix: its singular values could not be found.";

// σ₁/σₙ; infinite for a matrix that is proved singular.
void forward_cond(Call& c) {
  const Tensor& x = c.in[0];
  const Sizes s(x);
  const DType work = working_dtype(c.key, s.longest), dtype = c.out[0].dtype();
  auto state = new_state(c, batch_of(x), names_of(c, 1));
  const Tensor a = brought(x, work);
  Result out(c.out[0], real_of(work));
  with_float(work, [&]<class T>(T) {
    using R = typename kernels::RealOf<T>::type;
    R* const to = out.data<R>();
    const auto good = [&](std::int64_t i, const Spectral<T>& svd, kernels::View<T> m) {
      Verdict& v = state->verdicts[static_cast<std::size_t>(i)];
      const std::vector<double>& sigma = svd.scaled_sigma();
      const double last = sigma.empty() ? 0 : sigma.back(), first = sigma.empty() ? 0 : sigma[0];
      const bool suspicious = last <= 1e3 * static_cast<double>(s.longest) * kUnit<T> * first && s.longest <= kExact;
      const bool deficient = suspicious && kernels::exact_rank<T>(s.m, s.n, m) < std::min(s.m, s.n);
      v.exactly_singular = deficient;
      to[i] = sigma.empty() ? R(0)
              : deficient   ? std::numeric_limits<R>::infinity()
                            : static_cast<R>(conclude_condition<T>(condition_number<T>(s.m, s.n, m, sigma, kEnough),
                                                                 s.longest, dtype, v));
    };
    run<T>(a, *state, good, [&](std::int64_t i) { to[i] = std::numeric_limits<R>::quiet_NaN(); });
  });
  out.finish();
  settle(c, std::move(state), policy_of(c, 0), kAdvice, false);
}

void forward_rank(Call& c) {
  const Tensor& x = c.in[0];
  const Sizes s(x);
  const DType work = working_dtype(c.key, s.longest);
  const Cutoff cutoff = cutoff_of(c, 0, c.key, s.longest);
  auto state = new_state(c, batch_of(x), names_of(c, 3));
  state->cutoff = {cutoff.rtol, cutoff.atol};
  const Tensor a = brought(x, work);
  auto* const to = reinterpret_cast<std::int64_t*>(c.out[0].node()->data);
  with_float(work, [&]<class T>(T) {
    const auto good = [&](std::int64_t i, const Spectral<T>& svd, kernels::View<T>) {
      to[i] = svd.rank(cutoff(svd.largest()));
    };
    run<T>(a, *state, good, [&](std::int64_t i) { to[i] = -1; });
  });
  settle(c, std::move(state), policy_of(c, 2), kAdvice);
}

void flow(const FlowQuery& q, Visit visit) {
  const Sizes s(q.call.in[0]);
  flow_members(q, s.m * s.n, 1, visit);
}

// σ₁/σₙ has the cotangents of both values; where they tie, even shares.
Tensors vjp(const Backward& b) {
  const Tensor& a = b.in[0];
  if (a.size() == 0) return {zeros_for(b.facts[0])};
  const auto part = [&](Which which) {
    const Tensor kept = values_that_are(which, a), count = maximum(each(kept[{ellipsis, 1}]), 1);
    find_uneven(b, kept, 1,
                which == Which::largest ? "the largest singular value is repeated"
                                        : "the least singular value is repeated, or zero");
    find_close(b, a, kept, which == Which::least);
    return divide(spectral_value(SpectralFunction::signs, kept, a), astype(count, real_of(a.dtype())));
  };
  const Tensor least = each(matrix_norm(a, {.ord = -2})), y = each(b.out[0]);
  const double allowed = 1 / near_enough(b, a);
  unrecorded([&] {
    const double most = astype(max(where(isfinite(b.out[0]), b.out[0], 0)), f64).item<double>();
    if (most > allowed)
      find_loss(b, "WP-GRD-012", most, allowed,
                say("the condition is ", most,
                    ": the least singular value, by which the gradient is divided, has lost as many digits."),
                "Use a wider dtype.");
  });
  const Tensor own = subtract(part(Which::largest), multiply(part(Which::least), y));
  return {multiply(divide(own, least), each(b.g()))};
}

std::vector<Sample> samples(const Op& op, bool rank) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr rtol = {}, Attr if_ill = "raise", double atol = 0) {
    std::vector<Attr> attrs{if_ill, Attr()};
    if (rank) attrs.insert(attrs.begin(), {rtol, Attr(atol)});
    out.push_back({{sample_tensor(d, shape, v)}, attrs, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds)) add(d, {2, 2}, {4, 1, 2, 3}, {});
  for (const DType d : {f32, f64, c64, c128}) add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "rectangular");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {2, 2}, {1, 1, 1.00001, 1.00001}, "singular");
  add(f64, {0, 2}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", {}, "nan");
  if (rank) add(f64, {2, 2}, {1, 0, 0, 0.01}, "rtol drops a singular value", 0.1);
  if (rank) add(f64, {2, 2}, {1, 0, 0, 0.01}, "atol drops a singular value", {}, "raise", 0.1);
  return out;
}

Op measure(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = flow;
  op.branches.insert(op.branches.end(), {"rectangular", "a batch", "singular", "empty", "not finite"});
  return op;
}

}  // namespace

const Op op_linalg_cond = measure({
    .name = "cond",
    .doc = "The condition of each matrix, its largest singular value over its smallest; infinite if that is exactly "
           "zero.",
    .attrs = {policy_attr(), names_attr()},
    .infer = infer_cond,
    .forward = forward_cond,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .samples = [] { return samples(op_linalg_cond, false); },
});

const Op op_linalg_matrix_rank = measure({
    .name = "matrix_rank",
    .doc = "How many singular values of each matrix are above rtol times the largest and above atol; -1 where a "
           "matrix has none "
           "(if_ill = nan).",
    .attrs = {rtol_attr(), atol_attr(), policy_attr(), names_attr()},
    .infer = infer_rank,
    .forward = forward_rank,
    .no_derivative = "a rank is an integer: it changes by jumps only.",
    .branches = {"rtol drops a singular value", "atol drops a singular value"},
    .samples = [] { return samples(op_linalg_matrix_rank, true); },
});

}  // namespace wp
