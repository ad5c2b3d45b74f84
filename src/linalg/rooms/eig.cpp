#include <cmath>

#include "base/text.hpp"
#include "kernels/lapack.hpp"
#include "linalg/bounds.hpp"
#include "linalg/eig_rule.hpp"
#include "linalg/eigenvalue_clusters.hpp"
#include "linalg/interpret.hpp"
#include "linalg/members.hpp"
#include "linalg/schur_form.hpp"
#include "linalg/similar.hpp"
#include "linalg/solving.hpp"
#include "linalg/system.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_eig;
extern const Op op_linalg_eigvals;
namespace {

using namespace linalg;

void infer(Call& c) {
  const std::int64_t n = square_size(c.in[0], "x");
  need_countable(c);
  c.key = float_result(c.in[0].dtype());
  Dims values = batch_of(c.in[0]);
  values.push_back(n);
  c.output(complex_of(c.key), values);
  if (c.op.outputs.size() == 2) c.output(complex_of(c.key), c.in[0].shape());
}

// What is known of the eigenvalues of one member.
struct Sensitivity {
  std::vector<double> condition, error;
};

// |λ̂ − λ| ≤ condition·‖E‖ to first order; for any E ≤ (‖A‖ + ‖A + E‖)^(1−1/n) ‖E‖^(1/n) (Elsner 1985). E is the
// backward error of the balanced matrix; those that are `known` are exact.
template <class T>
Sensitivity sensitivity(std::int64_t n, const std::vector<lapack::Complex<T>>& left,
                        const std::vector<lapack::Complex<T>>& right, const std::vector<lapack::Real<T>>& rcond,
                        const typename lapack::EigOutputs<T>::Balanced& balanced, const std::vector<char>& known) {
  const double u = std::numeric_limits<lapack::Real<T>>::epsilon() / 2, norm = static_cast<double>(balanced.norm);
  const double backward = growth_of_errors(n) * u * norm, order = 1 / static_cast<double>(n);
  const double worst = std::pow(2 * norm, 1 - order) * std::pow(backward, order);
  Sensitivity s;
  for (std::int64_t j = 0; j < n; ++j) {
    std::complex<double> product = 0;
    for (std::int64_t i = 0; i < n; ++i)
      product += std::conj(std::complex<double>(left[static_cast<std::size_t>(i + j * n)])) *
                 std::complex<double>(right[static_cast<std::size_t>(i + j * n)]);
    s.condition.push_back(1 / std::abs(product));
    s.error.push_back(known[static_cast<std::size_t>(j)]
                          ? 0
                          : std::min(backward / static_cast<double>(rcond[static_cast<std::size_t>(j)]), worst));
  }
  return s;
}

// Which eigenvalues permuting alone finds: they are elements of the diagonal. Of A as it is given: what scaling loses
// may be what ties one to others.
template <class T>
std::vector<char> isolated(std::int64_t n, kernels::View<T> a,
                           const typename lapack::EigOutputs<T>::Balanced& balanced) {
  const auto zero = [&](std::int64_t i, std::int64_t j) {
    const auto at = [&](std::int64_t k) { return balanced.order[static_cast<std::size_t>(k)]; };
    return a.data[at(i) * a.rows + at(j) * a.columns] == T(0);
  };
  std::vector<char> out(static_cast<std::size_t>(n), 0);
  std::int64_t high = n, low = 0;
  for (bool alone = true; alone && high > balanced.high; high -= alone ? 1 : 0)
    for (std::int64_t j = 0; j < high - 1; ++j) alone = alone && zero(high - 1, j);
  for (bool alone = true; alone && low < balanced.low; low += alone ? 1 : 0)
    for (std::int64_t i = low + 1; i < high; ++i) alone = alone && zero(i, low);
  for (std::int64_t i = 0; i < n; ++i) out[static_cast<std::size_t>(i)] = i < low || i >= high || high - low == 1;
  return out;
}

double largest_of(const std::vector<std::complex<double>>& values) {
  double most = 0;
  for (const std::complex<double> v : values) most = std::max(most, std::abs(v));
  return most;
}

// Ill-conditioned: fewer digits of the largest eigenvalue's size are sure than others promise (6 in f64), or none of
// an eigenvalue's own, and the matrix' rounding is not all that is to blame.
void judge(const std::vector<std::complex<double>>& values, const Sensitivity& s, double norm, double u, Verdict& v) {
  const double largest = largest_of(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool none = s.error[i] > 0.1 * std::abs(values[i]) && s.error[i] > std::sqrt(u) * norm;
    const double digits = none ? 0 : digits_of(s.error[i] > 0 ? s.error[i] / largest : 0, u);
    if (status_of(digits, -1, u) == Status::ok) continue;
    v.status = Status::ill_conditioned;
    v.digits = std::min(std::isnan(v.digits) ? digits : v.digits, digits);
    v.rcond = std::min(std::isnan(v.rcond) ? 1 : v.rcond, 1 / s.condition[i]);
  }
}

constexpr std::int64_t kClusters = 300;  // rows up to which doubtful eigenvalues are looked at together

// Values and, if v, vectors of one member as columns of row-major v.
template <class T>
Sensitivity decompose(std::int64_t n, kernels::View<T> a, lapack::Complex<T>* w, lapack::Complex<T>* v,
                      Verdict& verdict) {
  using C = lapack::Complex<T>;
  verdict.method = Method::eigen;
  const Similar<T> x(n, a);
  verdict.status = x.finite ? Status::ok : Status::nonfinite_input;
  if (!x.finite || n == 0) return {};
  std::vector<C> left(static_cast<std::size_t>(n * n)), right(left.size());
  std::vector<lapack::Real<T>> rcond(static_cast<std::size_t>(n));
  typename lapack::EigOutputs<T>::Balanced balanced;
  lapack::EigOutputs<T> out{left.data(), n, right.data(), n, rcond.data()};
  out.balanced = &balanced;
  interpret(Routine::eig, lapack::eig<T>(lapack::Balance::both, n, x.data.data(), n, w, out), n, n, verdict);
  if (verdict.status != Status::ok) return {};
  x.restore(n, left.data(), true);
  x.restore(n, right.data(), false);
  const std::vector<char> known = isolated<T>(n, a, balanced);
  Sensitivity s = sensitivity<T>(n, left, right, rcond, balanced, known);
  const std::vector<std::complex<double>> values(w, w + n);
  const double norm = static_cast<double>(balanced.norm),
               doubt = std::sqrt(kUnit<T>) * std::min(norm, largest_of(values));
  if (n <= kClusters && *std::max_element(s.error.begin(), s.error.end()) > doubt)
    bound_clusters(n, {x.data.data(), x.data.data() + n * n}, growth_of_errors(n) * kUnit<T>, doubt, values, s.error);
  judge(values, s, norm, kUnit<T>, verdict);
  for (double& e : s.error) e = std::ldexp(e, -x.exponent);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = balanced.order[static_cast<std::size_t>(i)];
    w[i] = known[static_cast<std::size_t>(i)] ? C(a.data[at * (a.rows + a.columns)]) : times_power(w[i], -x.exponent);
  }
  if (v) put_rows(n, n, right.data(), n, 0, v);
  return s;
}

template <class T>
void run(const Tensor& a, Diagnosis::State& state, const Result& values, const Result* vectors,
         std::vector<Sensitivity>& known) {
  using C = lapack::Complex<T>;
  const std::int64_t n = a.shape().back();
  const Stack<T> stack(a, state.batch);
  for_members(static_cast<std::int64_t>(state.verdicts.size()), n, [&](std::int64_t i) {
    C *const w = values.data<C>() + i * n, *const v = vectors ? vectors->data<C>() + i * n * n : nullptr;
    Verdict& verdict = state.verdicts[static_cast<std::size_t>(i)];
    known[static_cast<std::size_t>(i)] = decompose<T>(n, stack[i], w, v, verdict);
    if (verdict.status <= Status::ill_conditioned) return;
    fill_nan(w, n);
    if (v) fill_nan(v, n * n);
  });
}

// Vectors are off by ‖E‖/sep, the distance of λ from the rest of the matrix (Stewart 1973; as trsna estimates it), in
// the balanced frame; scaling back spreads that by the ratio of the scales.
template <class T>
std::vector<double> vector_errors(std::int64_t n, kernels::View<T> a) {
  const Similar<T> x(n, a);
  std::vector<lapack::Complex<T>> w(static_cast<std::size_t>(n)), left(static_cast<std::size_t>(n * n)), right(left);
  std::vector<lapack::Real<T>> values(w.size()), sep(w.size());
  typename lapack::EigOutputs<T>::Balanced balanced;
  lapack::EigOutputs<T> out{left.data(), n, right.data(), n, values.data(), sep.data()};
  out.balanced = &balanced;
  std::vector<double> errors(w.size(), 2.0);
  if (!x.finite || lapack::eig<T>(lapack::Balance::both, n, x.data.data(), n, w.data(), out) != 0) return errors;
  const double backward = growth_of_errors(n) * kUnit<T> * static_cast<double>(balanced.norm);
  for (std::size_t j = 0; j < sep.size(); ++j)
    if (sep[j] > 0)
      errors[j] =
          std::min(2.0, backward / static_cast<double>(sep[j]) * static_cast<double>(balanced.spread) * x.spread());
  if (n == 1) errors[0] = 0;
  return errors;
}

// Neighbours in the order of the values that their errors do not tell apart; low and high are moduli.
std::vector<Cluster> clusters_of(const complex128* w, const std::vector<double>& error) {
  std::vector<Cluster> out;
  for (std::size_t i = 1; i < error.size(); ++i) {
    if (std::abs(w[i] - w[i - 1]) > 2 * (error[i] + error[i - 1])) continue;
    const auto at = static_cast<std::int64_t>(i);
    const double size = std::abs(w[i]), before = std::abs(w[i - 1]);
    if (out.empty() || out.back().last != at - 1) out.push_back({at - 1, at, before, before});
    out.back() = {out.back().first, at, std::min(out.back().low, size), std::max(out.back().high, size)};
  }
  return out;
}

void forward(Call& c) {
  const DType work = working_dtype(c.key, c.in[0].shape().back());
  const Tensor a = brought(c.in[0], work);
  auto state = new_state(c, batch_of(c.in[0]));
  const bool both = c.out.size() == 2;
  c.beside().keeps_after = true;
  Result values(c.out[0], complex_of(work)), vectors(c.out[both ? 1 : 0], complex_of(work));
  std::vector<Sensitivity> known(state->verdicts.size());
  with_float(work, [&]<class T>(T) { run<T>(a, *state, values, both ? &vectors : nullptr, known); });
  values.finish();
  if (both) vectors.finish();
  const double rounding = real_of(work) != real_of(complex_of(c.key)) ? round_off(complex_of(c.key)) : 0;
  state->spectrum = [known = std::move(known), w = packed(c.out[0], c128), a, both, batch = state->batch, work,
                     rounding](std::int64_t member, Member& m) {
    const Sensitivity& s = known[static_cast<std::size_t>(member)];
    const auto n = static_cast<std::int64_t>(s.error.size());
    if (n == 0) return;
    std::vector<double> error = s.error;
    const auto* const at = reinterpret_cast<const complex128*>(w.node()->data) + member * n;
    for (std::size_t i = 0; i < error.size(); ++i) error[i] += rounding * std::abs(at[i]);
    m.value_error = Tensor::from(error, {n});
    m.eigenvalue_condition = Tensor::from(s.condition, {n});
    m.clusters = clusters_of(at, error);
    if (!both) return;
    std::vector<double> off;
    with_float(work, [&]<class T>(T) { off = vector_errors<T>(n, Stack<T>(a, batch)[member]); });
    for (double& e : off) e = std::min(2.0, e + rounding);
    m.vector_error = Tensor::from(off, {n});
  };
  settle(c, std::move(state), policy_of(c, 0),
         "Its eigenvalues depend on the last digit of the matrix: use schur, or eigh if it should be symmetric.");
}

std::vector<Sample> samples(const Op& op) {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op.params[0].kinds))
      add(d, {3, 3}, {4, 1, 2, 5, 1, 0, 3, 1, 5}, {});
  for (const DType d : {c64, c128}) add(d, {2, 2}, {4, {1, 2}, {3, -2}, 5}, {});
  add(f64, {3, 3}, {0, 0, 1, 1, 0, 0, 0, 1, 0}, "a pair of complex eigenvalues");
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 1, 5, 5, 2}, "a batch");
  add(f64, {2, 2}, {1, 1e12, 2e-12, 3}, "badly scaled");
  add(f64, {3, 3}, {2, 1, 5, 0, 2, 7, 0, 0, 3}, "defective, triangular: exact");
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, "near overflow");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

Op decomposition(Op op) {
  op.ns = "linalg";
  op.group = "linear algebra";
  op.params = {{"x", kinds::numeric}};
  op.attrs = {policy_attr()};
  op.infer = infer;
  op.forward = forward;
  op.diagnoses = true;
  op.notes = Notes::gives;
  op.flow = flow_matrices;
  op.branches = {"a pair of complex eigenvalues",
                 "a batch",
                 "badly scaled",
                 "defective, triangular: exact",
                 "near overflow",
                 "empty",
                 "not finite"};
  return op;
}

}  // namespace

const Op op_linalg_eig = decomposition({
    .name = "eig",
    .doc = "The eigenvalues and right eigenvectors (columns of length 1) of each square matrix, both complex. The "
           "diagnosis has the condition and an error bound of each eigenvalue; one of which no digit is sure is a "
           "finding.",
    .outputs = {"eigenvalues", "eigenvectors"},
    .vjp = vjp_eig,
    .saves_inputs = 1,
    .saves_outputs = 3,
    .samples = [] { return samples(op_linalg_eig); },
});

const Op op_linalg_eigvals = decomposition({
    .name = "eigvals",
    .doc = "The complex eigenvalues of each square matrix, judged as eig does.",
    .vjp = vjp_eigvals,
    .saves_inputs = 1,
    .samples = [] { return samples(op_linalg_eigvals); },
});

}  // namespace wp
