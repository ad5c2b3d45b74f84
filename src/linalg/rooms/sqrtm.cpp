#include <cmath>

#include "kernels/lapack.hpp"
#include "linalg/each.hpp"
#include "linalg/interpret.hpp"
#include "linalg/lost_digits.hpp"
#include "linalg/rules.hpp"
#include "linalg/schur_form.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_sqrtm;
namespace {

using namespace linalg;

template <class T>
double rounding_of(const Dense<T>& a) {
  return 4 * static_cast<double>(a.n) * Dense<T>::u * a.frobenius();
}

// An eigenvalue of 2^e·A.
void refuse_negative(Verdict& v, double eigenvalue, int e) {
  v.status = Status::undefined;
  v.reason = say("has the eigenvalue ", std::ldexp(eigenvalue, -e), ": its square root is not real.");
}

// V √λ Vᴴ. λ within rounding of 0 is 0; then ‖√A − √B‖ ≤ √‖A − B‖ bounds the error (Bhatia 1997, theorem X.1.1), else
// the condition ½ √(λ₁/λₙ).
template <class T>
void hermitian_root(const Dense<T>& a, int e, Dense<T>& x, Verdict& v) {
  using R = typename Dense<T>::Real;
  std::vector<R> w;
  Dense<T> z;
  v.structure = Structure::symmetric;
  v.method = Method::eigen;
  if (!eigen(a, w, z, &v)) return;
  const double rounding = rounding_of(a), most = std::max<double>(std::fabs(w.front()), std::fabs(w.back()));
  if (w.front() >= -rounding) {
    for (R& value : w) value = std::sqrt(std::max(value, R(0)));
    x = recombined(z, w);
  } else if constexpr (kernels::RealOf<T>::parts == 2) {
    std::vector<T> roots;
    for (const R value : w) roots.push_back(value < 0 ? T(0, std::sqrt(-value)) : T(std::sqrt(value)));
    x = recombined(z, roots);
    for (R& value : w) value = std::sqrt(std::fabs(value));
  } else {
    return refuse_negative(v, w.front(), e);
  }
  const double least = *std::min_element(w.begin(), w.end()), u = Dense<T>::u;
  const double condition = least > 0 ? std::sqrt(most) / least / 2 : HUGE_VAL;
  conclude(v, "square root", condition, most > 0 ? std::min(u * condition, std::sqrt(u)) : u, u);
}

// ‖L‖/‖U‖ with U L + L U = E: the relative change of the root U that a change E of U² makes (Higham 2008, §6.1).
// What is below the root of its own uncertainty is not known: it counts as that.
template <class S>
double relative_change(Dense<S> root, const Dense<S>& e) {
  const std::int64_t n = root.n;
  const double size = root.frobenius();
  for (std::int64_t i = 0; i < n; ++i)
    if (const double least = std::sqrt(std::abs(e(i, i))); std::abs(root(i, i)) < least)
      root(i, i) = static_cast<typename Dense<S>::Real>(least);
  const Dense<S> u = root.transposed();  // column-major
  Dense<S> change = e.transposed();
  typename Dense<S>::Real scale = 1;
  lapack::sylvester<S>(lapack::Op::none, lapack::Op::none, 1, n, n, u.data.data(), n, u.data.data(), n,
                       change.data.data(), n, &scale);
  return change.frobenius() / scale / size;
}

template <class T>
void general_root(const Dense<T>& a, int e, Dense<T>& x, Verdict& v) {
  const double rounding = rounding_of(a);
  v.method = Method::eigen;
  const Spectrum s = with_schur(a, [&]<class S>(SchurForm<S> form, const Spectrum& spectrum) {
    constexpr bool real = kernels::RealOf<T>::parts == 1;
    if (real && spectrum.most_negative < -rounding) return refuse_negative(v, spectrum.most_negative, e);
    for (std::int64_t i = 0; real && i < a.n; ++i)
      if (std::imag(form.t(i, i)) == 0 && std::real(form.t(i, i)) < 0) form.t(i, i) = S(0);
    const Dense<S> doubt = form.z.adjoint() * as<S>(uncertainty(a, form)) * form.z;
    const bool exact = a.upper() || spectrum.given_real;
    const bool moved = put_on_cut(form.t, exact ? Dense<S>(a.n, a.n) : doubt);
    bool exists = true;
    const Dense<S> root = triangular_root(form.t, &exists);
    if (exists && root.finite()) {
      x = turned_back<T>(form, root);
      const double error = 2 * relative_change(root, doubt);
      conclude(v, "square root", error / Dense<T>::u, error, Dense<T>::u);
      return moved ? on_the_cut(v) : void();
    }
    v.status = Status::undefined;
    v.reason = "has no square root: its eigenvalue 0 is defective.";
  });
  interpret(Routine::schur, s.info, a.n, a.n, v);
}

void forward(Call& c) {
  const Advice advice{policy_of(c, 0),
                      "For a negative eigenvalue give a complex matrix, astype(x, c128); for lost digits one of "
                      "better condition, or a "
                      "wider dtype."};
  for_each_matrix(c, advice, []<class T>(Job<T>& job) {
    Dense<T> a = job.matrix(), x(job.n, job.n);
    const int e = scaling_exponent(a, true);
    a.shift(e);
    if (a.largest() > 0) {
      a.hermitian() ? hermitian_root(a, e, x, job.verdict) : general_root(a, e, x, job.verdict);
      Dense<T> residual = x * x;
      residual -= a;
      job.verdict.backward_error = residual.frobenius() / a.frobenius();
    }
    x.shift(-e / 2);
    job.put(x);
  });
}

// X dX + dX X = dA.
Tensors vjp(const Backward& b) {
  const auto at = [&](const Tensor& root) {
    const Tensor x = adjoint(root);
    return diagnosed::solve_sylvester(x, x, b.g()).value;
  };
  const Tensor g = at(b.out[0]);
  find_unsteady(
      b, b.out[0], 2, [&] { return matmul(b.out[0], b.out[0]); }, b.out[0], b.g(), g,
      [&](const Tensor& a) { return at(diagnosed::sqrtm(a).value); });
  return {g};
}
Tensors jvp(const Forward& f) {
  return {diagnosed::solve_sylvester(f.out[0], f.out[0], f.tangents[0]).value};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_sqrtm.params[0].kinds)) {
      add(d, {2, 2}, {4, 1, 1, 3}, "positive definite");
      add(d, {2, 2}, {4, 1, 2, 3}, {});
    }
  for (const DType d : {c64, c128}) {
    add(d, {2, 2}, {{4, 1}, 1, {2, -1}, 3}, {});
    add(d, {2, 2}, {4, {1, 2}, {1, -2}, 5}, "positive definite");
    add(d, {2, 2}, {1, 2, 2, 1}, "a negative eigenvalue");
    add(d, {2, 2}, {-4, 1, 0, 3}, "a negative eigenvalue");
  }
  add(f64, {3, 3}, {1, 2, 0, -2, 1, 1, 0, 0.5, 5}, "complex eigenvalues");
  add(f64, {3, 3}, {4, 1, 7, 0, 9, 2, 0, 0, 16}, "triangular");
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 4}, "a batch");
  add(f64, {2, 2}, {1, 1, 1, 1}, "semidefinite");
  add(f64, {2, 2}, {0, 0, 0, 0}, "semidefinite");
  add(f64, {2, 2}, {1e-300, 2e-301, 0, 5e-300}, "far from 1");
  add(f64, {2, 2}, {1e300, 2e300, 1e299, 5e300}, "far from 1");
  add(f64, {2, 2}, {1, 2, 2, 1}, "no real root: nan", "nan");
  add(f64, {2, 2}, {-4, 1, 0, 3}, "no real root: nan", "nan");
  add(f64, {2, 2}, {0, 1, 0, 0}, "no root: nan", "nan");
  add(f64, {0, 0}, {0}, "empty");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_sqrtm = of_matrices({
    .name = "sqrtm",
    .doc = "The principal square root of each square matrix, by its Schur form, or by its eigenvalues if it is "
           "symmetric or Hermitian. A real matrix with a negative eigenvalue has no real root: it is refused "
           "(if_ill), a "
           "complex one is not.",
    .attrs = {policy_attr()},
    .infer = infer_square,
    .forward = forward,
    .vjp = vjp,
    .jvp = jvp,
    .saves_outputs = 1,
    .branches = {"positive definite", "a negative eigenvalue", "complex eigenvalues", "triangular", "a batch",
                 "semidefinite", "far from 1", "no real root: nan", "no root: nan", "empty", "not finite"},
    .samples = samples,
});

}  // namespace wp
