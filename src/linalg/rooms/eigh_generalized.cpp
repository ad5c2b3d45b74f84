#include <cmath>

#include "base/text.hpp"
#include "kernels/cholesky.hpp"
#include "kernels/numbers.hpp"
#include "kernels/triangular.hpp"
#include "linalg/eigen.hpp"
#include "linalg/judgement.hpp"
#include "linalg/pencil_rule.hpp"
#include "linalg/prescaled.hpp"
#include "linalg/solving.hpp"
#include "ops/reduce.hpp"

namespace wp {
extern const Op op_linalg_eigh_generalized;
namespace {

using namespace linalg;

Dims batch_both(const Call& c) {
  return broadcast(batch_of(c.in[0]), batch_of(c.in[1]));
}

void infer(Call& c) {
  const std::int64_t n = square_size(c.in[0], "x1");
  if (square_size(c.in[1], "x2") != n)
    refuse<ShapeError>("WP-SHP-017", say("x2 must have as many rows as x1; got x1 ", c.in[0].shape(), ", x2 ",
                                         c.in[1].shape(), "."));
  c.key = float_result(common_dtype(c));
  Dims shape = batch_both(c);
  shape.push_back(n);
  c.output(real_of(c.key), shape);
  shape.push_back(n);
  c.output(c.key, shape);
}

// A x = λ B x by B = L Lᴴ: C y = λ y with C = L⁻¹ A L⁻ᴴ, x = L⁻ᴴ y (Golub & Van Loan 2013, §8.7.2). Rows and columns
// of both are first scaled by powers of two that bring B's diagonal near 1: that changes x only, exactly.
template <class T>
struct Pencil {
  using R = typename Hermitian<T>::Real;
  std::int64_t n;
  Hermitian<T>&a, &b;
  std::vector<int> scaling;
  int exponent = 0;              // A was multiplied by 2^exponent beside
  double inverse = 0, norm = 0;  // ‖B⁻¹‖₁, ‖B‖₁ after scaling

  Status reduce() {
    if (!a.finite || !b.finite) return Status::nonfinite_input;
    for (std::int64_t i = 0; i < n; ++i) {
      const double d = static_cast<double>(std::real(b.matrix[static_cast<std::size_t>(i * n + i)]));
      if (!(d > 0)) return Status::not_spd;
      int e = 0;
      std::frexp(d, &e);
      scaling.push_back(-(e - (e & 1)) / 2);
    }
    exponent = a.largest > 0 ? -headroom() : 0;
    std::vector<int> rows = scaling;
    for (int& e : rows) e += exponent;
    kernels::scale<T, T>(n, n, {a.matrix.data(), n, 1}, rows.data(), scaling.data(), a.matrix.data());
    kernels::scale<T, T>(n, n, {b.matrix.data(), n, 1}, scaling.data(), scaling.data(), b.matrix.data());
    norm = kernels::norms<T>(n, n, {b.matrix.data(), n, 1}).one;
    const kernels::MutableView<T> l{b.matrix.data(), n, 1}, c{a.matrix.data(), n, 1};
    if (kernels::cholesky_factor<T>(n, l) >= 0) return Status::not_spd;
    const auto solve = [&](T* x) { kernels::cholesky_solve<T>(n, 1, l, {x, 1, 1}); };
    inverse = n ? static_cast<double>(kernels::inverse_norm<T>(n, solve, solve).estimate) : 0;
    kernels::solve_triangular<T>({false, false}, n, n, l, c);
    adjoint();
    kernels::solve_triangular<T>({false, false}, n, n, l, c);
    return std::isfinite(kernels::norms<T>(n, n, c).largest) ? Status::ok : Status::not_spd;
  }
  // log₂ of the largest element of A as it will be scaled.
  int headroom() const {
    int most = std::numeric_limits<int>::min();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        if (const T v = a.matrix[static_cast<std::size_t>(i * n + j)]; v != T(0))
          most = std::max(most, std::ilogb(std::max(std::fabs(std::real(v)), std::fabs(std::imag(v)))) +
                                    scaling[static_cast<std::size_t>(i)] + scaling[static_cast<std::size_t>(j)]);
    return most;
  }
  // A ← Aᴴ.
  void adjoint() {
    T* const m = a.matrix.data();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const T below = m[i * n + j], above = m[j * n + i];
        m[i * n + j] = conjugate(above);
        m[j * n + i] = conjugate(below);
      }
  }
  // v ← D L⁻ᴴ v.
  void restore(T* v) const {
    const kernels::View<T> l{b.matrix.data(), n, 1};
    kernels::solve_triangular<T>({true, false}, n, n, l.transposed().conjugated(), {v, n, 1});
    const std::vector<int> none(static_cast<std::size_t>(n), 0);
    kernels::scale<T, T>(n, n, {v, n, 1}, scaling.data(), none.data(), v);
  }
};

template <class T>
Status decompose(std::int64_t n, Hermitian<T>& a, Hermitian<T>& b, typename Hermitian<T>::Real* w, T* v,
                 Verdict& verdict, Bounds& bounds) {
  Pencil<T> pencil{n, a, b, {}};
  if (const Status s = pencil.reduce(); s != Status::ok) return s;
  Hermitian<T> c(n, {a.matrix.data(), n, 1}, {});
  const EigenResult result = hermitian_eigen<T>(n, c, false, w, v);
  result.judge(n, verdict);
  if (result.status != Status::ok) return result.status;
  pencil.restore(v);
  for (std::int64_t i = 0; i < n; ++i) w[i] = std::ldexp(w[i], -pencil.exponent);
  // The reduction is off by u·‖B⁻¹‖·‖B‖·‖C‖ at most (Anderson et al. 1999, §4.8).
  verdict.rcond = n ? 1 / (pencil.inverse * pencil.norm) : 1;
  bounds.absolute = n ? std::ldexp(result.bounds.absolute, -pencil.exponent) / verdict.rcond : 0;
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, static_cast<double>(std::fabs(w[i])));
  verdict.digits = digits_of(bounds.absolute > 0 ? std::min(1.0, bounds.absolute / most) : 0, kUnit<T>);
  return std::min(status_of(verdict.digits, -1, kUnit<T>), Status::ill_conditioned);
}

template <class T>
void run(const Call& c, Diagnosis::State& state, DType work, const Result& values, const Result& vectors,
         std::vector<double>& asymmetry, std::vector<Bounds>& bounds) {
  using R = typename kernels::RealOf<T>::type;
  const std::int64_t n = c.in[0].shape().back();
  const Tensor a = brought(c.in[0], work), b = brought(c.in[1], work);
  const Stack<T> left(a, state.batch), right(b, state.batch);
  const std::string_view uplo = c.attr(0) ? c.attr(0).text() : std::string_view();
  for_members(static_cast<std::int64_t>(state.verdicts.size()), n, [&](std::int64_t i) {
    Hermitian<T> h(n, left[i], uplo), metric(n, right[i], uplo);
    const auto at = static_cast<std::size_t>(i);
    asymmetry[at] = std::max(h.asymmetry, metric.asymmetry);
    R* const w = values.data<R>() + i * n;
    T* const v = vectors.data<T>() + i * n * n;
    Verdict& verdict = state.verdicts[at];
    verdict.structure = Structure::symmetric;
    verdict.method = Method::eigen;
    verdict.status = decompose<T>(n, h, metric, w, v, verdict, bounds[at]);
    if (verdict.status <= Status::ill_conditioned) return;
    fill_nan(w, n);
    fill_nan(v, n * n);
  });
}

void forward(Call& c) {
  const DType work = working_dtype(c.key, c.in[0].shape().back());
  auto state = new_state(c, batch_both(c));
  state->matrix = Tensor();
  std::vector<double> asymmetry(state->verdicts.size());
  std::vector<Bounds> bounds(state->verdicts.size());
  Result values(c.out[0], real_of(work)), vectors(c.out[1], work);
  with_float(work, [&]<class T>(T) { run<T>(c, *state, work, values, vectors, asymmetry, bounds); });
  values.finish();
  vectors.finish();
  report_asymmetry(c, asymmetry, c.key);
  c.beside().keeps_after = true;
  StackBounds all{std::move(bounds)};
  if (work != c.key) all.rounding = round_off(c.key);
  keep_bounds(c, *state, c.out[0], std::move(all));
  settle(c, std::move(state), policy_of(c, 1), "x2 must be positive definite: add a small multiple of the identity.");
}

// All of both members, or the triangles that are read.
void flow(const FlowQuery& q, Visit visit) {
  const Dims batch = batch_both(q.call), own = batch_of(q.call.in[q.input]);
  const std::int64_t n = q.call.in[0].shape().back();
  const std::int64_t member = own_member(q.element / (q.output == 0 ? n : n * n), batch, own);
  const Attr& uplo = q.call.attr(0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (!uplo || (uplo.text() == "lower" ? j <= i : j >= i)) visit((member * n + i) * n + j);
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  using Values = std::vector<complex128>;
  const auto add = [&](DType d, const Dims& sa, const Values& a, const Dims& sb, const Values& b,
                       std::string_view covers, Attr uplo = {}, Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, sa, a), sample_tensor(d, sb, b)}, {uplo, if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_eigh_generalized.params[0].kinds))
      add(d, {2, 2}, {4, 1, 1, 5}, {2, 2}, {3, 1, 1, 2}, {});
  for (const DType d : {c64, c128}) add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, {2, 2}, {3, {0, 1}, {0, -1}, 2}, {});
  add(f64, {2, 2, 2}, {4, 1, 1, 3, 1, 5, 5, 2}, {2, 2}, {3, 1, 1, 2}, "batches broadcast");
  add(f64, {2, 2}, {4, 1, 7, 5}, {2, 2}, {3, 1, 8, 2}, "one triangle", "upper");
  add(f64, {2, 2}, {1, 1e-100, 1e-100, 1e-190}, {2, 2}, {1, 0, 0, 1e-200}, "badly scaled");
  add(f64, {2, 2}, {4, 1, 1, 5}, {2, 2}, {1, 2, 2, 1}, "not positive definite", {}, "nan");
  add(f64, {2, 2}, {6, 2, 2, 4}, {2, 2}, {3, 1, 1, 2}, "repeated");
  add(f64, {0, 0}, {0}, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, HUGE_VAL, 1}, {2, 2}, {3, 1, 1, 2}, "not finite", {}, "nan");
  return out;
}

}  // namespace

const Op op_linalg_eigh_generalized = {
    .name = "eigh_generalized",
    .ns = "linalg",
    .group = "linear algebra",
    .doc =
        "The eigenvalues w, rising, and eigenvectors v (columns) of x1 v = w x2 v for symmetric or Hermitian x1 and "
        "positive definite x2; conj(v)ᵀ x2 v = 1. Leading axes broadcast.",
    .params = {{"x1", kinds::numeric}, {"x2", kinds::numeric}},
    .attrs = {uplo_attr(), policy_attr()},
    .outputs = {"eigenvalues", "eigenvectors"},
    .infer = infer,
    .forward = forward,
    .diagnoses = true,
    .notes = Notes::gives,
    .flow = flow,
    .vjp = vjp_eigh_generalized,
    .jvp = jvp_eigh_generalized,
    .saves_outputs = 3,
    .branches = {"batches broadcast", "one triangle", "badly scaled", "not positive definite", "repeated", "empty",
                 "not finite"},
    .samples = samples,
};

}  // namespace wp
