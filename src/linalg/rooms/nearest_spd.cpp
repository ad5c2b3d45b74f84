#include <cmath>

#include "kernels/cholesky.hpp"
#include "kernels/convert.hpp"
#include "kernels/modular.hpp"
#include "linalg/each.hpp"
#include "linalg/hermitian.hpp"
#include "linalg/judgement.hpp"
#include "linalg/quotients.hpp"
#include "linalg/rules.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_nearest_spd;
namespace {

using namespace linalg;

constexpr int kBisections = 6;

// What the result holds: X stands for 2^e times it, and `to` is its dtype.
struct Held {
  int e;
  DType to;
  template <class T>
  Dense<T> operator()(Dense<T> x) const {
    if (to == dtype_v<T> && e == 0) return x;
    const auto n = static_cast<std::int64_t>(x.data.size());
    std::vector<std::byte> narrow(x.data.size() * size_of(to));
    x.shift(-e);
    kernels::convert(narrow.data(), to, x.data.data(), dtype_v<T>, 1, n);
    kernels::convert(x.data.data(), dtype_v<T>, narrow.data(), to, 1, n);
    x.shift(e);
    return x;
  }
};

// Of the matrix as given: what Cholesky says, but for matrices that are exactly singular.
template <class T>
bool positive_definite(const Dense<T>& x) {
  Dense<T> l = x;
  if (kernels::cholesky_factor<T>(x.n, l.view()) >= 0) return false;
  return x.n > kExact || kernels::proved_nonsingular<T>(x.n, x.view());
}

// A proof: Cholesky succeeds on X − cI with c above its rounding errors, (n + 2) u tr X (Rump 2006, theorem 2.3).
template <class T>
bool proved_definite(Dense<T> x) {
  double trace = 0;
  for (std::int64_t i = 0; i < x.n; ++i) trace += static_cast<double>(std::real(x(i, i)));
  const double c = (1 + kernels::RealOf<T>::parts) * static_cast<double>(x.n + 2) * Dense<T>::u * trace;
  for (std::int64_t i = 0; i < x.n; ++i) x(i, i) -= T(static_cast<typename Dense<T>::Real>(c));
  return kernels::cholesky_factor<T>(x.n, x.view()) < 0;
}

template <class T>
Dense<T> raised(const Dense<T>& x, double shift, const Held& held) {
  Dense<T> out = x;
  for (std::int64_t i = 0; i < x.n; ++i) out(i, i) += T(static_cast<typename Dense<T>::Real>(shift));
  return held(std::move(out));
}

// The smallest multiple of the identity, to within 2 %, with which X is proved positive definite as the result holds
// it.
template <class T>
double least_shift(const Dense<T>& x, const Held& held) {
  const double size = x.largest() > 0 ? x.largest() : 1;
  double high = round_off(held.to) * size / 16, low = 0;
  while (!proved_definite(raised(x, high, held)) && high < size) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (proved_definite(raised(x, middle, held)) ? high : low) = middle;
  }
  return high;
}

// Z max(Λ, 0) Zᴴ is the semidefinite matrix nearest to (A + Aᴴ)/2 in the Frobenius norm (Higham 1988, theorem 2.1).
template <class T>
void nearest(Job<T>& job, const Dense<T>& given, DType to) {
  using R = typename Dense<T>::Real;
  Verdict& v = job.verdict;
  v.structure = Structure::spd;
  v.method = Method::cholesky;
  Dense<T> a = given;
  const int e = scaling_exponent(a);
  a.shift(e);
  const Held held{e, to};
  v.ridge = 0;
  v.backward_error = 0;
  v.kept = given.n;
  if (positive_definite(held(a))) return job.put(given);
  std::vector<R> w;
  Dense<T> z;
  v.method = Method::eigen;
  if (!eigen(a, w, z, &v)) return;
  v.kept = std::count_if(w.begin(), w.end(), [](R value) { return value > 0; });
  for (R& value : w) value = std::max(value, R(0));
  Dense<T> x = recombined(z, w);
  v.ridge = least_shift(x, held);
  x = raised(x, v.ridge, held);
  v.ridge = std::ldexp(v.ridge, -e);
  Dense<T> distance = x;
  distance -= a;
  v.backward_error = a.largest() > 0 ? distance.frobenius() / a.frobenius() : 0;
  x.shift(-e);
  job.put(x);
}

void forward(Call& c) {
  const std::string_view uplo = c.attr(0) ? c.attr(0).text() : std::string_view();
  const Advice advice{policy_of(c, 1), "Look at the matrix: its eigenvalues could not be found."};
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    const Hermitian<T> h(job.n, job.a, uplo);
    nearest(job, Dense<T>(job.n, job.n, {h.matrix.data(), job.n, 1}), c.key);
  });
  keep_counts(c);
}

// max(λ, 0) has a kink at 0.
void find_edge(const Backward& b, const Tensor& a) {
  const Unrecorded here;
  const Tensor size = abs(diagnosed::eigvalsh(a).value), most = max(size, {.axis = -1, .keepdims = true});
  const double rounding = 8 * static_cast<double>(a.shape().back()) * finfo(real_of(a.dtype())).eps;
  if (any_true(less_equal(size, multiply(most, rounding))))
    find_kink(
        b, 0, 0,
        "the nearest matrix has a kink where an eigenvalue is 0. The gradient is a subgradient: that of cutting "
        "it off, or of keeping it.");
}

// Eigenvalues below 0 are cut off; the multiple of the identity that is added is rounding.
Tensors vjp(const Backward& b) {
  const Tensor& kept = b.residuals[0];
  const Tensor cut = not_equal(kept[{ellipsis, 1}], b.shape(0).back());
  if (!any_true(cut)) return {hermitian_cotangent(b.g(), b.attr(0))};
  const Tensor a = meant_hermitian(b.in[0], b.attr(0));
  find_edge(b, a);
  return {hermitian_cotangent(spectral_cotangent(SpectralFunction::positive, kept, a, b.g()), b.attr(0))};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr uplo = {}, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {uplo, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_nearest_spd.params[0].kinds)) {
      add(d, {2, 2}, {4, 1, 1, 3}, "positive definite: itself");
      add(d, {3, 3}, {1, 2, 3, 2, 1, 4, 3, 4, 1}, "indefinite");
    }
  for (const DType d : {c64, c128}) add(d, {2, 2}, {1, {1, 2}, {1, -2}, 2}, "indefinite");
  add(f64, {2, 2}, {1, 1, 1, 1}, "semidefinite");
  add(f64, {2, 2}, {1, 3, 2, 1}, "not symmetric: its symmetric part");
  add(f64, {2, 2}, {1, 9, 2, 1}, "one triangle", "lower");
  add(f64, {2, 2}, {-1, 0, 0, -1}, "negative definite");
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 1, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {1e300, 2e300, 2e300, 1e300}, "far from 1");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, "not finite", {}, "nan");
  return out;
}

Op repaired(Op op) {
  op = of_matrices(std::move(op));
  op.flow = [](const FlowQuery& q, Visit visit) { flow_hermitian(q, q.call.attr(0), visit); };
  return op;
}

}  // namespace

const Op op_linalg_nearest_spd = repaired({
    .name = "nearest_spd",
    .doc = "The symmetric or Hermitian positive definite matrix nearest to each x in the Frobenius norm: that of its "
           "symmetric part without negative eigenvalues, plus the smallest multiple of the identity (ridge in the "
           "diagnosis) with which cholesky proves it. backward_error is the relative distance.",
    .attrs = {uplo_attr(), policy_attr()},
    .infer = infer_square,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .branches = {"positive definite: itself", "indefinite", "semidefinite", "not symmetric: its symmetric part",
                 "one triangle", "negative definite", "a batch", "far from 1", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
