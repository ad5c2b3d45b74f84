#include "linalg/rule_kit.hpp"

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
Tensor minus(const Tensor& a, const Tensor& b) {
  return !b.defined() ? a : !a.defined() ? negative(b) : subtract(a, b);
}
Tensor size_of(const Tensor& x) {
  return wp::max(wp::abs(x), {.axis = {-2, -1}, .keepdims = true});
}
double largest(const Tensor& x) {
  return x.defined() && x.size() ? astype(wp::max(wp::abs(x)), f64).item<double>() : 0;
}

Tensor leading(const Tensor& x, std::int64_t k) {
  return x.shape().back() == k ? x : Tensor(x[{ellipsis, slice(0, k)}]);
}
Tensor trailing(const Tensor& x, std::int64_t k) {
  return x.shape().back() == k ? Tensor() : Tensor(x[{ellipsis, slice(k, none)}]);
}

}  // namespace wp::linalg
