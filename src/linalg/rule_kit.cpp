#include "linalg/rule_kit.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/text.hpp"
#include "wellposed/creation.hpp"
#include "wellposed/index.hpp"
#include "wellposed/ops.hpp"

namespace wp::linalg {

Tensor skew(const Tensor& z) {
  return multiply(subtract(z, adjoint(z)), 0.5);
}
Tensor row(const Tensor& s) {
  return expand_dims(s, {.axis = -2});
}
Tensor column(const Tensor& s) {
  return expand_dims(s, {.axis = -1});
}
Tensor recombined(const Tensor& u, const Tensor& s, const Tensor& v) {
  return matmul(multiply(u, row(s)), adjoint(v));
}
Tensor minus(const Tensor& a, const Tensor& b) {
  return !b.defined() ? a : !a.defined() ? negative(b) : subtract(a, b);
}
Tensor size_of(const Tensor& x) {
  return wp::max(wp::abs(x), {.axis = {-2, -1}, .keepdims = true});
}
double largest(const Tensor& x) {
  return x.defined() && x.size() ? astype(wp::max(wp::abs(x)), f64).item<double>() : 0;
}
Tensor noise_like(const Tensor& x, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  std::normal_distribution<double> normal;
  std::vector<complex128> v(static_cast<std::size_t>(x.size()));
  for (complex128& e : v) e = {normal(draw), is_complex(x.dtype()) ? normal(draw) : 0};
  const Tensor all = Tensor::from(v, x.shape());
  return astype(is_complex(x.dtype()) ? all : real(all), x.dtype());
}
double eps_of(const Backward& b, DType dtype) {
  return std::max(finfo(real_of(dtype)).eps, b.eps_after());
}
double gauge_rounding(double eps, std::int64_t n) {
  return std::ldexp(eps, 13) * static_cast<double>(n);
}
double gauge_rounding(DType dtype, std::int64_t n) {
  return gauge_rounding(finfo(real_of(dtype)).eps, n);
}

Tensor leading(const Tensor& x, std::int64_t k) {
  return x.shape().back() == k ? x : Tensor(x[{ellipsis, slice(0, k)}]);
}
Tensor trailing(const Tensor& x, std::int64_t k) {
  return x.shape().back() == k ? Tensor() : Tensor(x[{ellipsis, slice(k, none)}]);
}

void must_vanish(const Backward& b, const Tensor& k, const Tensor& tolerance, std::string_view what) {
  b.choose();
  const Unrecorded here;
  if (bool(wp::any(greater(wp::abs(k), tolerance)))) refuse_gauge(what, largest(k), largest(tolerance));
}
void refuse_gauge(std::string_view what, double measured, double tolerance) {
  refuse<GaugeError>("WP-GRD-007",
                     say("the loss depends on ", what, ", which the matrix does not determine (measured ", measured,
                         ", rounding ", tolerance, "): it has no derivative."),
                     "Use what does not depend on it: projector, polar, low_rank, eigh_apply, svd_apply.");
}

}  // namespace wp::linalg
