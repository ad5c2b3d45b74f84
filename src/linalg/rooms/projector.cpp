#include <cmath>

#include "linalg/rules.hpp"
#include "linalg/subspace.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_projector;
namespace {

using namespace linalg;

void infer(Call& c) {
  const Tensor& x = c.in[0];
  need_matrices(x, "x");
  c.key = float_result(x.dtype());
  Dims shape = x.shape();
  shape.back() = shape[shape.size() - 2];
  c.output(c.key, shape);
}

void forward(Call& c) {
  const Dims& s = c.in[0].shape();
  const Cutoff cutoff = cutoff_of(c, 0, c.key, std::max(s[s.size() - 2], s.back()));
  const Advice advice{policy_of(c, 2), kSubspaceAdvice};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    const Spectral<T> svd(job.m, job.n, job.a);
    job.verdict.method = Method::svd;
    svd.judge(job.verdict);
    if (job.verdict.status != Status::ok) return;
    const std::int64_t rank = rank_of(svd, cutoff);
    job.verdict.kept = rank;
    judge_subspace(svd, rank, job.verdict);
    const Dense<T> basis(job.m, rank, svd.u());
    job.put(recombined(basis, std::vector<typename Dense<T>::Real>(static_cast<std::size_t>(rank), 1)));
  });
  keep_counts(c);
}

Tensors vjp(const Backward& b) {
  const Tensor& a = b.in[0];
  if (a.size() == 0) return {zeros_for(b.facts[0])};
  const Tensor outside = subtract(identity(a.shape()[a.shape().size() - 2], a.dtype()), b.out[0]);
  return {projector_cotangent(b.residuals[0], a, outside, b.g())};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr rtol = {}, Attr if_ill = "raise", double atol = 0) {
    out.push_back({{sample_tensor(d, shape, v)}, {rtol, atol, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_projector.params[0].kinds))
      add(d, {3, 2}, {4, 1, 2, 3, 5, 7}, "tall");
  for (const DType d : {f32, f64, c64, c128}) {
    add(d, {3, 3}, {{1, 1}, 2, 3, {2, 2}, 4, 6, 1, 0, {0, -1}}, "rank deficient");
    add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide");
  }
  add(f64, {2, 2, 1}, {1, 2, 3, -4}, "a batch");
  add(f64, {2, 2}, {0, 0, 0, 0}, "rank 0");
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "rtol drops a singular value", 0.1);
  add(f64, {2, 2}, {1, 0, 0, 0.01}, "atol drops a singular value", {}, "raise", 0.1);
  add(f64, {2, 1}, {3e300, 4e300}, "far from 1");
  add(f64, {2, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", {}, "nan");
  return out;
}

}  // namespace

const Op op_linalg_projector = of_matrices({
    .name = "projector",
    .doc =
        "The orthogonal projector onto the range of each matrix, [..., m, m]: singular values up to rtol times the "
        "largest, or atol, do not count.",
    .attrs = {rtol_attr(), atol_attr(), policy_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"tall", "wide", "rank deficient", "a batch", "rank 0", "rtol drops a singular value",
                 "atol drops a singular value", "far from 1", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
