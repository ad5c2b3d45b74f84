// Derivatives of determinants from singular values: polynomials, so that they exist at singular matrices too.
// With A = U S Vᴴ, δ = det(U Vᴴ) and X̂ = Uᴴ X V:
//   D det[X]      = δ Σᵢ wᵢ X̂ᵢᵢ,                        wᵢ = Π of the other σ
//   D² det[X, E]  = δ Σ_i≠j w_ij (X̂ᵢᵢ Êⱼⱼ − X̂ᵢⱼ Êⱼᵢ),  w_ij = Π of the others
#include <cmath>

#include "linalg/dense.hpp"
#include "linalg/determinant.hpp"
#include "linalg/members.hpp"
#include "linalg/rules.hpp"
#include "linalg/solving.hpp"
#include "linalg/spectral.hpp"
#include "ops/dispatch.hpp"
#include "ops/moves.hpp"
#include "ops/shapes.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {
extern const Op op_cofactors;
namespace {

Tensor cofactors(const Tensor& a, const std::vector<Tensor>& e, const Place& place) {
  if (e.size() > 1)
    no_derivative_here("third derivatives of the determinant of a singular matrix are not known.",
                       "Use slogdet, or a matrix that is not singular.");
  std::vector<const Tensor*> in{&a};
  for (const Tensor& t : e) in.push_back(&t);
  return call1(op_cofactors, Inputs(in.data(), in.size()), Attrs(), place);
}

Dims batch_all(const Call& c) {
  return c.in.size() > 1 ? broadcast(batch_of(c.in[0]), batch_of(c.in[1])) : batch_of(c.in[0]);
}

void infer(Call& c) {
  c.key = c.in[0].dtype();
  Dims shape = batch_all(c);
  shape.push_back(c.in[0].shape().back());
  shape.push_back(c.in[0].shape().back());
  c.output(c.key, shape);
}

// Products of all values but one or two; they leave the range of floats long before the values do.
double without(const std::vector<double>& s, std::int64_t i, std::int64_t j) {
  double m = 1;
  std::int64_t e = 0;
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(s.size()); ++k) {
    if (k == i || k == j) continue;
    int own = 0;
    m = std::frexp(m * s[static_cast<std::size_t>(k)], &own);
    e += own;
  }
  return std::ldexp(m, static_cast<int>(std::clamp<std::int64_t>(e, -5000, 5000)));
}

template <class T>
T unit_determinant(std::int64_t n, kernels::View<T> u) {
  const Determinant d = determinant<T>(n, u);
  const std::complex<double> v = d.mantissa / std::abs(d.mantissa);
  if constexpr (kernels::RealOf<T>::parts == 2)
    return T(static_cast<typename Dense<T>::Real>(v.real()), static_cast<typename Dense<T>::Real>(v.imag()));
  else
    return static_cast<T>(v.real());
}

template <class T>
bool differentiate(std::int64_t n, kernels::View<T> a, const kernels::View<T>* e, T* to) {
  using R = typename Dense<T>::Real;
  const Spectral<T> svd(n, n, a);
  if (svd.status() != Status::ok) return false;
  const Dense<T> u(n, n, svd.u()), vh(n, n, svd.vh());
  Dense<T> m(n, n);
  if (e) {
    const Dense<T> c = u.adjoint() * Dense<T>(n, n, *e) * vh.adjoint();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        if (i == j) continue;
        const R w = static_cast<R>(without(svd.sigma(), i, j));
        m(i, i) += w * c(j, j);
        m(i, j) = -w * c(j, i);
      }
  } else {
    for (std::int64_t i = 0; i < n; ++i) m(i, i) = static_cast<R>(without(svd.sigma(), i, i));
  }
  const T delta = times(unit_determinant<T>(n, svd.u()), unit_determinant<T>(n, svd.vh()));
  // conj(U) M Vᵀ = conj(U) M conj(Vᴴ).
  Dense<T> left(n, n, u.view().conjugated()), right(n, n, vh.view().conjugated());
  const Dense<T> out = left * m * right;
  for (std::int64_t i = 0; i < n * n; ++i) to[i] = times(delta, out.data[static_cast<std::size_t>(i)]);
  return true;
}

void forward(Call& c) {
  const std::int64_t n = c.in[0].shape().back();
  const DType work = working_dtype(c.key, n);
  const Dims batch = batch_all(c);
  Result out(c.out[0], work);
  const Tensor a = brought(c.in[0], work), e = c.in.size() > 1 ? brought(c.in[1], work) : a;
  with_float(work, [&]<class T>(T) {
    const Stack<T> as(a, batch), es(e, batch);
    for_members(count_of(batch), n, [&](std::int64_t i) {
      T* const to = out.data<T>() + i * n * n;
      const kernels::View<T> direction = es[i];
      if (n && !differentiate<T>(n, as[i], c.in.size() > 1 ? &direction : nullptr, to))
        std::fill_n(to, n * n, T(std::numeric_limits<typename kernels::RealOf<T>::type>::quiet_NaN()));
    });
  });
  out.finish();
}

Tensors vjp(const Backward& b) {
  Tensors all(b.in.size());
  const Tensor g = conj_of(b.g());
  std::vector<Tensor> e{g};
  if (b.in.size() > 1) e.push_back(b.in[1]);
  if (b.wants(0)) all[0] = conj_of(cofactors(b.in[0], e, b.place));
  if (b.in.size() > 1 && b.wants(1)) all[1] = conj_of(cofactors(b.in[0], {g}, b.place));
  return all;
}
Tensors jvp(const Forward& f) {
  Tensor sum;
  std::vector<Tensor> e(f.in.begin() + 1, f.in.end());
  if (f.tangents[0].defined()) {
    e.push_back(f.tangents[0]);
    sum = cofactors(f.in[0], e, f.place);
  }
  if (f.in.size() > 1 && f.tangents[1].defined()) sum = sum_of(sum, cofactors(f.in[0], {f.tangents[1]}, f.place));
  return {sum};
}

}  // namespace

const Op op_cofactors = {
    .name = "cofactors",
    .ns = "linalg",
    .group = "linear algebra",
    .doc = "The cofactors of each matrix, or their derivative along a direction. Only rules call it.",
    .params = {{"x", kinds::floating}, {.name = "directions", .kinds = kinds::floating, .variadic = true}},
    .infer = infer,
    .forward = forward,
    .notes = Notes::gives,
    .flow = flow_everything,
    .vjp = vjp,
    .jvp = jvp,
    .saves_inputs = ~0U,
};

Tensor cofactors(const Tensor& a) {
  return cofactors(a, {}, {});
}

}  // namespace wp::linalg
