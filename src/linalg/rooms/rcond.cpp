#include <cmath>

#include "kernels/condition.hpp"
#include "kernels/lu.hpp"
#include "kernels/modular.hpp"
#include "linalg/each.hpp"
#include "linalg/explain.hpp"
#include "linalg/judgement.hpp"
#include "linalg/quad.hpp"
#include "linalg/quotients.hpp"
#include "ops/derivative.hpp"
#include "ops/reduce.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/ops.hpp"

namespace wp {
extern const Op op_linalg_rcond;
namespace {

using namespace linalg;

// A number that is not 0 and has too few digits in its dtype.
void find_too_small(DType dtype, Verdict& v) {
  if (v.status != Status::ok || v.exactly_singular || !(v.rcond < least_normal(dtype))) return;
  v.status = Status::overflow;
  v.reason = say("has a reciprocal condition below the range of ", dtype, ", and not 0.");
}

void infer(Call& c) {
  square_size(c.in[0], "x");
  c.key = float_result(c.in[0].dtype());
  c.output(real_of(c.key), batch_of(c.in[0]));
}

// The same where the factors, and with them `estimate`, may be off by rounding: by 113-bit elimination; what that
// does not reach is told, unless units alone make the number small. scaled: 2^e·A.
template <class T>
double in_113_bits(const Dense<T>& scaled, int e, kernels::View<T> given, double estimate, Verdict& v) {
  const std::int64_t n = scaled.n;
  if (const auto inverse = quad_inverse<T>(n, given)) {
    v.method = Method::quad_lu;
    const double norm = kernels::norms<T>(n, n, {inverse->x.data(), n, 1}).one;
    return std::ldexp(1 / scaled.norm1() / norm, e + inverse->power);
  }
  if (in_doubt<T>(n, System<T>(n, given, Options()).verdict().rcond)) {
    v.status = Status::ill_conditioned;
    v.digits = 0;
    v.reason = say("has a reciprocal condition of about ", few_digits(estimate), " or less: no digit of it is sure.");
  }
  return estimate;
}

// 1/(‖A‖₁‖A⁻¹‖₁) from the factors; the norm of the inverse is an estimate from below (Higham 1988), attained by w.
template <class T>
double reciprocal(const Dense<T>& given, Verdict& v, T* w) {
  const std::int64_t n = given.n;
  if (n == 0) return HUGE_VAL;
  Dense<T> a = given;
  const int e = scaling_exponent(a);
  a.shift(e);
  const Dense<T> scaled = a;
  const double norm = a.norm1();
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
  v.method = Method::lu;
  double result = 0;
  if (kernels::lu_factor<T>(n, n, a.data.data(), n, pivots.data()) < 0) {
    const auto solve = [&](T* x, kernels::Form form) {
      kernels::lu_solve<T>(form, n, 1, a.view(), pivots.data(), {x, 1, 1});
    };
    const auto found = kernels::inverse_norm<T>(
        n, [&](T* x) { solve(x, kernels::Form::plain); }, [&](T* x) { solve(x, kernels::Form::adjoint); });
    const double inverse = found.estimate;
    result = std::isfinite(inverse) && inverse > 0 ? 1 / norm / inverse : 0;
    const Dense<T> back = scaled * Dense<T>(n, 1, {found.vector.data(), 1, 1});
    if (result > 0) std::copy(back.data.begin(), back.data.end(), w);
  }
  if (in_doubt<T>(n, result)) {
    v.exactly_singular = n <= kExact && kernels::exactly_singular<T>(n, given.view());
    result = v.exactly_singular ? 0 : in_113_bits(scaled, e, given.view(), result, v);
  }
  return v.rcond = result;
}

void forward(Call& c) {
  const Advice advice{policy_of(c, 0), "Look at the matrix.", false};
  Dims shape = c.in[0].shape();
  shape.pop_back();
  const std::int64_t n = shape.back();
  const Tensor w = Tensor::adopt(detail::make_node(working_dtype(c.key, n), shape));
  with_float(w.dtype(), [&]<class T>(T) { std::fill_n(reinterpret_cast<T*>(w.node()->data), w.size(), T(1)); });
  for_each_matrix(c, advice, [&]<class T>(Job<T>& job) {
    using R = typename Dense<T>::Real;
    T* const own = reinterpret_cast<T*>(w.node()->data) + job.member * n;
    *job.template to<R>() = static_cast<R>(reciprocal(job.matrix(), job.verdict, own));
    find_too_small(c.out[0].dtype(), job.verdict);
  });
  c.beside().residuals = {brought(w, c.key)};
}

// ‖A‖₁ and its derivative, of columns that tie an even share: a subgradient.
struct ColumnNorm {
  Tensor value, slope;
  explicit ColumnNorm(const Tensor& a) : value(matrix_norm(a, {.ord = 1})) {
    const Tensor mark = unrecorded([&] {
      const Tensor sums = sum(abs(a), {.axis = -2, .keepdims = true});
      return equal(sums, max(sums, {.axis = -1, .keepdims = true}));
    });
    const Tensor share = sum(astype(mark, value.dtype()), {.axis = -1, .keepdims = true});
    slope = multiply(sign(a), where(mark, divide(1.0, share), 0.0));
  }
};

// r = ‖w‖₁/(‖A‖₁‖y‖₁), y = A⁻¹w, with the w that attained the estimate: dr/r = −d‖A‖₁/‖A‖₁ − d‖y‖₁/‖y‖₁, dy = −A⁻¹dA
// y. The distance to the singular matrices has a kink where it is 0.
Tensors vjp(const Backward& b) {
  if (b.in[0].size() == 0) return {zeros_for(b.facts[0])};
  const auto n = static_cast<double>(b.shape(0).back());
  const double least = 4 * n * round_off(working_dtype(b.dtype(0), b.shape(0).back()));  // 0 to within rounding
  const Tensor singular = unrecorded([&] { return less_equal(b.out[0], least); });
  if (any_true(singular))
    find_kink(b, 0, 0, "the matrix is singular, and rcond has a kink there: the gradient is the subgradient 0.");
  const Tensor scale = each(unrecorded([&] { return scale_of(b.in[0]); })), w = column(b.residuals[0]);
  const Tensor a = where(each(singular), identity(b.in[0].shape().back(), b.dtype(0)), divide(b.in[0], scale));
  const Tensor y = diagnosed::solve(a, w, {.if_ill = "ignore"}).value;
  const Tensor size = sum(abs(y), {.axis = {-2, -1}, .keepdims = true});
  const Tensor z = diagnosed::solve(adjoint(a), sign(y), {.if_ill = "ignore"}).value;
  const ColumnNorm norm(a);
  const Tensor r = divide(divide(sum(abs(w), {.axis = {-2, -1}, .keepdims = true}), each(norm.value)), size);
  const Tensor own =
      subtract(matmul(multiply(z, r), adjoint(divide(y, size))), multiply(norm.slope, divide(r, each(norm.value))));
  return {where(each(singular), 0, multiply(each(b.g()), divide(own, scale)))};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType d, const Dims& shape, const std::vector<complex128>& v, std::string_view covers,
                       Attr if_ill = "raise") {
    out.push_back({{sample_tensor(d, shape, v)}, {if_ill}, covers});
  };
  for (int k = 0; k < kDTypes; ++k)
    if (const auto d = static_cast<DType>(k); is(d, op_linalg_rcond.params[0].kinds))
      add(d, {3, 3}, {4, 1, 2, 1, 5, 3, 2, 3, 9}, {});
  for (const DType d : {c64, c128}) add(d, {2, 2}, {{4, 1}, 1, {2, -1}, 3}, {});
  add(f64, {2, 2, 2}, {4, 1, 2, 3, 1, 5, 0.5, 4}, "a batch");
  add(f64, {2, 2}, {1, 1, 1.00001, 1.00001}, "singular: 0");
  add(f64, {2, 2}, {0, 0, 0, 0}, "singular: 0");
  add(f64, {2, 2}, {4.1, 2.8, 9.676, 6.608}, "nearly singular");
  add(f64, {2, 2}, {1e300, 2e300, 3e300, 5e300}, "far from 1");
  add(f64, {2, 2}, {1e150, 0, 0, 1e-150}, "badly scaled");
  add(f64, {0, 0}, {0}, "empty: inf");
  add(f64, {2, 2}, {1, HUGE_VAL, 0, 1}, "not finite", "nan");
  return out;
}

}  // namespace

const Op op_linalg_rcond = of_matrices({
    .name = "rcond",
    .doc = "The reciprocal condition 1/(‖x‖₁‖x⁻¹‖₁) of each square matrix as it is given, estimated from its factors "
           "(never too small but for rounding, nearly always within a factor 3); 0 for a matrix that is singular.",
    .attrs = {policy_attr()},
    .infer = infer,
    .forward = forward,
    .vjp = vjp,
    .saves_inputs = 1,
    .saves_outputs = 1,
    .branches = {"a batch", "singular: 0", "nearly singular", "far from 1", "badly scaled", "empty: inf",
                 "not finite"},
    .samples = samples,
});

}  // namespace wp
