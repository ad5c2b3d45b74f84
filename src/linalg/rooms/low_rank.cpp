#include <cmath>

#include "linalg/quotients.hpp"
#include "linalg/rules.hpp"
#include "linalg/subspace.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_low_rank;
namespace {

using namespace linalg;

void infer(Call& c) {
  need_matrices(c.in[0], "x");
  if (c.attr(0).integer() < 0)
    refuse<ArgumentError>("WP-ARG-001", say("rank must not be negative; got ", c.attr(0).integer(), "."));
  c.key = float_result(c.in[0].dtype());
  c.output(c.key, c.in[0].shape());
}

// U diag(σ₁ … σ_k) Vᴴ (Eckart & Young 1936). A change of x is magnified by up to σ_k/(σ_k − σ_k+1).
template <class T>
void approximate(Job<T>& job, std::int64_t k) {
  Verdict& v = job.verdict;
  v.method = Method::svd;
  if (k >= std::min(job.m, job.n)) return job.put(job.matrix());
  const Spectral<T> svd(job.m, job.n, job.a);
  svd.judge(v);
  if (v.status != Status::ok) return;
  const std::vector<double>& s = svd.sigma();
  Dense<T> left(job.m, k), right(k, job.n);
  for (std::int64_t j = 0; j < k; ++j) {
    const auto sigma = static_cast<typename Dense<T>::Real>(s[static_cast<std::size_t>(j)]);
    for (std::int64_t i = 0; i < job.m; ++i) left(i, j) = svd.u().data[i * svd.u().rows + j] * sigma;
    std::copy_n(svd.vh().data + j * job.n, job.n, right.row(j));
  }
  job.put(left * right);
  if (k == 0) return;
  const double last = s[static_cast<std::size_t>(k - 1)], next = s[static_cast<std::size_t>(k)];
  if (last == 0) return;
  const double condition = last > next ? last / (last - next) : HUGE_VAL;
  conclude(v, "approximation", condition, Dense<T>::u * (s[0] / last) * condition, Dense<T>::u);
  if (v.status == Status::ok || last <= static_cast<double>(std::max(job.m, job.n)) * 2 * Dense<T>::u * s[0]) {
    v.status = Status::ok;  // what is lost there is rounding
    return;
  }
  v.status = Status::ill_conditioned;
  char text[160];
  std::snprintf(text, sizeof text, "has singular values %.17g and %.17g on both sides of rank %lld: ", last, next,
                static_cast<long long>(k));
  v.reason = say(text, "other approximations are as good as this one.");
}

void forward(Call& c) {
  const Advice advice{policy_of(c, 1), "Choose a rank where the singular values fall (svdvals)."};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) { approximate(job, c.attr(0).integer()); });
}

Tensors vjp(const Backward& b) {
  const Dims& s = b.shape(0);
  const std::int64_t k = b.attr(0).integer();
  if (k >= std::min(s[s.size() - 2], s.back())) return {b.g()};
  bool tied = false;
  const double allowed = near_enough(b, b.in[0]);
  unrecorded([&] {
    const Tensor sigma = diagnosed::svdvals(b.in[0]).value, first = sigma[{ellipsis, 0}];
    const double n = static_cast<double>(std::max(s[s.size() - 2], s.back()));
    const Tensor gap = k > 0 ? subtract(sigma[{ellipsis, k - 1}], sigma[{ellipsis, k}]) : first;
    tied = any_true(less_equal(gap, multiply(first, 8 * n * round_off(working_dtype(first.dtype(), s.back())))));
    if (!tied) find_near(b, gap, first, allowed);
  });
  if (k > 0 && tied)
    no_derivative_here(say("singular values on both sides of rank ", k, " are equal: there is no derivative."),
                       "Choose a rank where the singular values fall (svdvals).");
  return {spectral_cotangent(SpectralFunction::values, Tensor{std::int64_t{0}, k}, b.in[0], b.g())};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::int64_t k,
                       std::string_view covers, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {k, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_low_rank.params[0].kinds)) {
      add(d, {3, 2}, {4, 1, 2, 3, 5, 7}, 1, "tall");
      add(d, {3, 2}, {4, 1, 2, 3, 5, 7}, 2, "full rank: x");
    }
  for (const DType d : {f32, f64, c64, c128}) add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, 1, "wide");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, 1, "a batch");
  add(f64, {2, 2}, {4, 1, 2, 3}, 0, "rank 0: zeros");
  add(f64, {3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 2, "rank deficient");
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, 1, "far from 1");
  add(f64, {2, 2}, {1, 0, 0, 1}, 1, "a tie: not unique", "nan");
  add(f64, {0, 2}, {0}, 1, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, 1, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_low_rank = of_matrices({
    .name = "low_rank",
    .doc = "The best approximation of each matrix by one of at most the given rank: its leading singular values and "
           "vectors.",
    .attrs = {{.name = "rank", .type = AttrType::integer, .doc = "The rank, at least 0.", .required = true},
              policy_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .branches = {"tall", "wide", "full rank: x", "a batch", "rank 0: zeros", "rank deficient", "far from 1",
                 "a tie: not unique", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
