#include <cmath>

#include "linalg/banded.hpp"
#include "linalg/determinant.hpp"
#include "linalg/each.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/kept.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_logdet;
namespace {

using namespace linalg;

void infer(Call& c) {
  square_size(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(real_of(c.key), batch_of(c.in[0]));
}

// No eigenvalue is below zero by more than rounding.
template <class T>
bool semidefinite(const Dense<T>& a) {
  std::vector<typename Dense<T>::Real> w;
  Dense<T> z;
  return eigen(a, w, z) && w.front() >= -4 * static_cast<double>(a.n) * Dense<T>::u * a.frobenius();
}

// Whether all pivots of A = L D Lᴴ are positive, in O(n) for a fixed band.
template <class T>
bool positive_band(Dense<T> a) {
  const std::int64_t width = narrow_band<T>(a.n, std::as_const(a).view()).below;
  for (std::int64_t k = 0; k < a.n; ++k) {
    if (!(std::real(a(k, k)) > 0)) return false;
    const std::int64_t end = std::min(a.n, k + width + 1);
    for (std::int64_t i = k + 1; i < end; ++i) {
      const T factor = a(i, k) / a(k, k);
      for (std::int64_t j = k + 1; j <= i; ++j) a(i, j) -= factor * conjugate(a(j, k));
    }
  }
  return true;
}

// log det of a positive definite matrix: Cholesky decides whether it is one, or the pivots of a band.
template <class T>
double log_of(const Dense<T>& a, const System<T>* kept, double u, Verdict& v) {
  const bool decides =
      kept && (kept->verdict().method == Method::cholesky || kept->verdict().structure == Structure::diagonal ||
               kept->verdict().structure == Structure::banded);
  const Determinant d = determinant<T>(a.n, a.view(), decides ? kept : nullptr);
  v = d.verdict;
  if (v.exactly_singular && semidefinite(a)) return -HUGE_VAL;
  bool positive = v.method == Method::cholesky || v.structure == Structure::diagonal ||
                  (v.structure == Structure::banded && positive_band(a));
  for (std::int64_t i = 0; i < a.n; ++i) positive = positive && std::real(a(i, i)) > 0;
  if (!positive || !(d.mantissa.real() > 0)) {
    v.status = Status::not_spd;
    return 0;
  }
  judge_log(d.log, u, v);
  return d.log;
}

void forward(Call& c) {
  const std::string_view uplo = c.attr(0) ? c.attr(0).text() : std::string_view();
  std::vector<double> asymmetry(static_cast<std::size_t>(count_of(batch_of(c.in[0]))));
  const Advice advice{policy_of(c, 1), "Use slogdet, or add a small multiple of the identity.", false,
                      [&] { report_asymmetry(c, asymmetry, c.in[0].dtype()); }, names_of(c, 2)};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    using R = typename Dense<T>::Real;
    const Hermitian<T> h(job.n, job.a, uplo);
    asymmetry[static_cast<std::size_t>(job.member)] = h.asymmetry;
    const KeptFor<T> kept(factors_of(c), batch_of(c.in[0]));
    *job.template to<R>() =
        static_cast<R>(log_of(Dense<T>(job.n, job.n, {h.matrix.data(), job.n, 1}),
                              kept ? &kept.system(job.member) : nullptr, round_off(c.key), job.verdict));
  });
}

// log det has the derivative A⁻¹.
Tensors vjp(const Backward& b) {
  find_lost_digits(b);
  const Tensor a = meant_hermitian(b.in[0], b.attr(0));
  const Tensor inverse = inverse_of_regular(b, a, b.g(), "symmetric");
  return {hermitian_cotangent(multiply(each(b.g()), inverse), b.attr(0))};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr uplo = {}, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {uplo, if_ill, Attr()}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_logdet.params[0].kinds))
      add(d, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 9}, {});
  for (const DType d : {c64, c128}) add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, {});
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 30, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {4, 7, 1, 3}, "one triangle", "lower");
  add(f64, {2, 2}, {40, 7, 1, 3}, "one triangle", "upper");
  add(f64, {2, 2}, {1e-200, 0, 0, 1e-200}, "a determinant beyond the range of floats");
  add(f64, {2, 2}, {1, 1, 1, 1}, "singular: -inf");
  add(f64, {2, 2}, {1, 2, 2, 1}, "not positive definite: nan", {}, "nan");
  add(f64, {2, 2}, {-1, 0, 0, -1}, "not positive definite: nan", {}, "nan");
  add(f64, {0, 0}, {0}, "empty: 0");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, "not finite", {}, "nan");
  return out;
}

Op measured(Op op) {
  op = of_matrices(std::move(op));
  op.flow = [](const FlowQuery& q, Visit visit) { flow_hermitian(q, q.call.attr(0), visit); };
  return op;
}

}  // namespace

const Op op_linalg_logdet = measured({
    .name = "logdet",
    .doc = "The logarithm of the determinant of each symmetric or Hermitian positive definite matrix; -inf for a "
           "semidefinite one that is proved singular.",
    .attrs = {uplo_attr(), policy_attr(), names_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .branches = {"a batch", "one triangle", "a determinant beyond the range of floats", "singular: -inf",
                 "not positive definite: nan", "empty: 0", "not finite"},
    .samples = samples,
});

}  // namespace wp
