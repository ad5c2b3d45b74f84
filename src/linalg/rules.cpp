#include "linalg/rules.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernels/condition.hpp"
#include "linalg/stack.hpp"
#include "linalg/verdict.hpp"
#include "ops/products.hpp"
#include "ops/shapes.hpp"
#include "tensor/note.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {

Tensor adjoint(const Tensor& x) {
  return conj_of(matrix_transpose(x));
}
Tensor product(const Tensor& a, const Tensor& b, const Tensor& c) {
  return matmul(matmul(a, b), c);
}
Tensor hermitian(const Tensor& x) {
  return multiply(add(x, adjoint(x)), 0.5);
}
Tensor identity(std::int64_t n, DType dtype) {
  return eye(n, {.dtype = dtype});
}
Tensor on_diagonal(const Tensor& x) {
  return multiply(expand_dims(x, {.axis = -1}), identity(x.shape().back(), x.dtype()));
}
Tensor as_columns(const Tensor& x, bool vector) {
  return vector ? expand_dims(x, {.axis = -1}) : x;
}
Tensor from_columns(const Tensor& x, bool vector) {
  return vector ? squeeze(x, -1) : x;
}
Tensor each(const Tensor& x) {
  return expand_dims(x, {.axis = {-2, -1}});
}
Tensor sum_of(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : !b.defined() ? a : add(a, b);
}

Tensor meant_hermitian(const Tensor& a, const Attr& uplo) {
  if (!uplo) return hermitian(a);
  const Tensor part = uplo.text() == "lower" ? tril(a, {.k = -1}) : triu(a, {.k = 1});
  return add(add(part, adjoint(part)), hermitian(tril(triu(a))));
}
Tensor hermitian_cotangent(const Tensor& g, const Attr& uplo) {
  const Tensor s = hermitian(g);
  if (!uplo) return s;
  return uplo.text() == "lower" ? add(tril(s), tril(s, {.k = -1})) : add(triu(s), triu(s, {.k = 1}));
}
Tensor assumed_cotangent(const Tensor& a, const Tensor& g, std::string_view assume) {
  if (assume == "triangular") {
    const Tensor lower = all(equal(triu(a, {.k = 1}), 0.0), {.axis = {-2, -1}, .keepdims = true});
    return where(lower, tril(g), triu(g));
  }
  if (assume == "lower") return tril(g);
  if (assume == "upper") return triu(g);
  if (assume == "diagonal") return tril(triu(g));
  return assume == "symmetric" || assume == "spd" ? hermitian(g) : g;
}

void no_derivative_here(std::string why, std::string_view advice) {
  refuse<GradientError>("WP-GRD-011", std::move(why), std::string(advice));
}

namespace {
// A⁻¹, in twice the precision where the plain one could lack more than three digits.
Diagnosed<Tensor> good_inverse(const Tensor& a, std::string_view assume) {
  Diagnosed<Tensor> plain = diagnosed::inv(a, {.if_ill = "ignore", .assume = assume});
  const std::vector<double> rcond = plain.diagnosis.rcond().to_vector<double>();
  const auto good = [](double r) { return r >= 1e-3; };
  if (std::all_of(rcond.begin(), rcond.end(), good)) return plain;
  Diagnosed<Tensor> all = diagnosed::inv(a, {.assume = assume, .accuracy = "high"});
  if (std::any_of(rcond.begin(), rcond.end(), good)) {
    Dims each = batch_of(a);
    each.push_back(1);
    each.push_back(1);
    all.value = where(greater_equal(Tensor::from(rcond, each), 1e-3), plain.value, all.value);
  }
  return all;
}
}  // namespace

Tensor inverse_of_regular(const Backward& b, const Tensor& a, const Tensor& g, std::string_view assume) {
  const auto [inverse, diagnosis] = good_inverse(a, assume);
  const Tensor flat = reshape(g, {g.size()});
  for (std::int64_t i = 0; i < diagnosis.size(); ++i) {
    if (diagnosis.status(i) != Status::singular) continue;
    b.choose();  // forward mode goes back with zeros, and must not end here
    if (value_at(flat, i) == complex128(0)) continue;
    no_derivative_here(say("the matrix", diagnosis.size() > 1 ? say(" ", i, " of ", diagnosis.size()) : std::string(),
                           " is singular: log|det| has no derivative there."),
                       "Use det, whose derivative exists, or add a multiple of the identity.");
  }
  return inverse;
}

Tensor cholesky_cotangent(const Tensor& l, const Tensor& g) {
  const Tensor inner = matmul(adjoint(l), g), lower = tril(inner);
  const Tensor k = hermitian(subtract(lower, multiply(tril(triu(inner)), 0.5)));
  const auto back = [&](const Tensor& t) {
    return diagnosed::solve_triangular(l, t, {.lower = true, .adjoint = true, .if_ill = "ignore"}).value;
  };
  return back(adjoint(back(k)));
}

Tensor rows_matrix(const Tensor& p, DType dtype) {
  return one_hot(maximum(p, 0), p.shape().back(), {.dtype = dtype});
}

bool any_true(const Tensor& mark) {
  return unrecorded([&] { return value_at(any(mark), 0) != complex128(0); });
}

Tensor kept_values(const Dims& batch, const Verdicts& verdicts) {
  Dims shape = batch;
  shape.push_back(2);
  const Tensor out = Tensor::adopt(detail::make_node(i64, shape));
  auto* const to = reinterpret_cast<std::int64_t*>(out.node()->data);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    to[2 * i] = 0;
    to[2 * i + 1] = std::max<std::int64_t>(verdicts.kept(i), 0);
  }
  return out;
}

void keep_counts(const Call& c) {
  const Diagnosis::State& s = *c.beside().diagnosis.state();
  c.beside().residuals = {kept_values(s.batch, s.verdicts)};
}

Tensor scale_of(const Tensor& a) {
  const std::int64_t m = a.shape()[a.shape().size() - 2], n = a.shape().back();
  const DType work = working_dtype(a.dtype(), std::max(m, n));
  const Dims batch = batch_of(a);
  const Tensor out = Tensor::adopt(detail::make_node(real_of(work), batch)), x = brought(a, work);
  with_float(work, [&]<class T>(T) {
    using R = typename kernels::RealOf<T>::type;
    const Stack<T> stack(x, batch);
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const double most = kernels::norms<T>(m, n, stack[i]).largest;
      reinterpret_cast<R*>(out.node()->data)[i] =
          most > 0 && std::isfinite(most) ? std::ldexp(R(1), std::clamp(std::ilogb(most), -1000, 1000)) : R(1);
    }
  });
  return out;
}

Tensor block_derivative(const std::function<Tensor(const Tensor&)>& f, const Tensor& a, const Tensor& e,
                        double most) {
  const std::int64_t n = a.shape().back();
  if (n == 0) return e;
  Dims shape = broadcast(batch_of(a), batch_of(e));
  shape.push_back(n);
  shape.push_back(n);
  const Tensor ratio = unrecorded([&] {
    const bool narrow = real_of(a.dtype()) != f64;
    const double far = narrow ? 0x1p100 : 0x1p1000;
    return clip(divide(minimum(scale_of(a), most), scale_of(e)), 1 / far, far);
  });
  const Tensor scale = each(ratio);
  const Tensor whole = broadcast_to(a, shape), zero = zeros(shape, {.dtype = a.dtype()});
  const Tensor scaled = broadcast_to(multiply(e, scale), shape);
  const Tensor m = concat({concat({whole, scaled}, {.axis = -1}), concat({zero, whole}, {.axis = -1})}, {.axis = -2});
  const Tensor part = f(m)[{ellipsis, slice(0, n), slice(n, none)}];
  return divide(part, scale);
}

}  // namespace wp::linalg
