#include <cmath>

#include "linalg/each.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/spectral.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_polar;
namespace {

using namespace linalg;

void infer(Call& c) {
  const Tensor& x = c.in[0];
  need_matrices(x, "x");
  c.key = float_result(x.dtype());
  Dims square = x.shape();
  if (c.attr(0).text() == "right")
    square[square.size() - 2] = square.back();
  else
    square.back() = square[square.size() - 2];
  c.output(c.key, x.shape());
  c.output(c.key, square);
}

// x = U P: U = U₁V₁ᴴ and P = V₁ Σ V₁ᴴ of the thin singular value decomposition; or x = P U with P = U₁ Σ U₁ᴴ.
template <class T>
void decompose(Job<T>& job, bool right) {
  using R = typename Dense<T>::Real;
  const std::int64_t k = std::min(job.m, job.n);
  Verdict& v = job.verdict;
  v.method = Method::svd;
  if (k == 0) {
    const std::int64_t size = right ? job.n : job.m;
    return job.put(Dense<T>(size, size), 1);
  }
  const Spectral<T> svd(job.m, job.n, job.a);
  svd.judge(v);
  if (v.status != Status::ok) return;
  job.put(Dense<T>(job.m, k, svd.u()) * Dense<T>(k, job.n, svd.vh()));
  std::vector<R> sigma;
  for (const double s : svd.sigma()) sigma.push_back(static_cast<R>(s));
  const Dense<T> basis = right ? Dense<T>(k, job.n, svd.vh()).adjoint() : Dense<T>(job.m, k, svd.u());
  job.put(recombined(basis, sigma), 1);
  // ‖ΔU‖ ≤ 2‖ΔA‖/(σ_k + σ_k−1), rectangular ‖ΔA‖/σ_k (Higham 2008, theorems 8.9 and 8.10).
  const std::vector<double>& s = svd.sigma();
  const double least = job.m == job.n && k > 1 ? (s[s.size() - 1] + s[s.size() - 2]) / 2 : s.back();
  const double condition = least > 0 ? s[0] / least : HUGE_VAL;
  conclude(v, "polar factor U", condition, Dense<T>::u * condition, Dense<T>::u);
  if (v.status == Status::singular) v.status = Status::ill_conditioned;  // one of many U; P is right
}

void forward(Call& c) {
  const bool right = c.attr(0).text() == "right";
  const Advice advice{policy_of(c, 1), "U is not determined where x has (nearly) no rank; P is right all the same."};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) { decompose(job, right); });
}

// Of a tall A = U P, Uᴴ U = 1: dU = U Ω + (1 − U Uᴴ) dA P⁻¹ with Ω P + P Ω = Uᴴ dA − dAᴴ U. Nothing is divided by a
// difference of singular values.
Tensor isometry_cotangent(const Tensor& a, const Tensor& u, const Tensor& g) {
  const Tensor uh = adjoint(u), p = hermitian(matmul(uh, a)), inner = matmul(uh, g);
  const Tensor k = subtract(inner, adjoint(inner));  // twice its skew part
  const auto [turn, diagnosis] = diagnosed::solve_sylvester(p, p, k);
  for (std::int64_t i = 0; i < diagnosis.size(); ++i)
    if (diagnosis.status(i) == Status::singular)
      no_derivative_here("a matrix has (nearly) no full rank: its polar factors have no derivative.",
                         "Use svd_apply or low_rank, or add what makes the rank full.");
  Tensor own = matmul(u, turn);
  if (u.shape()[u.shape().size() - 2] != u.shape().back()) {
    const Tensor outside = subtract(g, matmul(u, inner));
    own = add(own, adjoint(diagnosed::solve(p, adjoint(outside)).value));
  }
  return own;
}

// P = Uᴴ A (right) or A Uᴴ (left), so that its cotangent S goes to U as A S or S A, and to A as U S or S U.
Tensors vjp(const Backward& b) {
  const Tensor &a = b.in[0], &u = b.out[0];
  if (a.size() == 0) return {zeros_for(b.facts[0])};
  const bool right = b.attr(0).text() == "right", tall = a.shape()[a.shape().size() - 2] >= a.shape().back();
  Tensor g = b.cotangents[0], direct;
  if (b.cotangents[1].defined()) {
    const Tensor s = hermitian(b.cotangents[1]);
    g = sum_of(g, right ? matmul(a, s) : matmul(s, a));
    direct = right ? matmul(u, s) : matmul(s, u);
  }
  const auto at = [&](const Tensor& x, const Tensor& isometry) {
    return tall ? isometry_cotangent(x, isometry, g)
                : adjoint(isometry_cotangent(adjoint(x), adjoint(isometry), adjoint(g)));
  };
  const Tensor own = at(a, u);
  find_unsteady(
      b, a, 1, [&] { return a; }, u, g, own, [&](const Tensor& x) { return at(x, diagnosed::polar(x).value.U); });
  return {sum_of(own, direct)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr side = "right", Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {side, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_polar.params[0].kinds)) {
      add(d, {2, 2}, {4, 1, 2, 3}, {});
      add(d, {2, 2}, {4, 1, 2, 3}, "left", "left");
    }
  for (const DType d : {f32, f64, c64, c128})
    for (const char* const side : {"right", "left"}) {
      add(d, {3, 2}, {{4, 1}, 1, 2, {3, -1}, 5, 7}, "tall", side);
      add(d, {2, 3}, {4, {1, 2}, 2, 3, 5, 7}, "wide", side);
    }
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 2}, "a batch");
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, "far from 1");
  add(f64, {2, 2}, {1e-160, 2e-160, 3e-160, 4e-160}, "far from 1");
  add(f64, {2, 2}, {1, 1, 1, 1}, "rank deficient");
  add(f64, {3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "U is not determined", "right", "nan");
  add(f64, {0, 2}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "right", "nan");
  return out;
}

}  // namespace

const Op op_linalg_polar = of_matrices({
    .name = "polar",
    .doc = "The polar decomposition x = U P of each matrix: U has orthonormal columns (rows, if x is wide), P is "
           "symmetric or Hermitian and positive semidefinite; with side = left x = P U.",
    .attrs = {{.name = "side",
               .type = AttrType::text,
               .fallback = "right",
               .doc = "On which side of U the factor P stands.",
               .choices = {"right", "left"}},
              policy_attr()},
    .outputs = {"U", "P"},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"left", "tall", "wide", "a batch", "far from 1", "rank deficient", "U is not determined", "empty",
                 "not finite"},
    .samples = samples,
});

}  // namespace wp
