// Matrices for tests of derivatives, and how far two are apart.
#pragma once
#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "wellposed/wellposed.hpp"

namespace wp {

inline Tensor adjoint(const Tensor& x) {
  return matrix_transpose(conj(x));
}
inline Tensor hermitian(const Tensor& x) {
  return (x + adjoint(x)) * 0.5;
}
inline Tensor times(const Tensor& a, const Tensor& b, const Tensor& c) {
  return matmul(matmul(a, b), c);
}
inline Tensor row(const Tensor& s) {
  return expand_dims(s, {.axis = -2});
}
// Re ⟨w, y⟩
inline Tensor against(const Tensor& w, const Tensor& y) {
  return sum(real(conj(w) * y));
}
// The largest difference, in parts of the largest element of b.
inline double relative(const Tensor& a, const Tensor& b) {
  const double off = astype(wp::max(wp::abs(a - b)), f64).item<double>(),
               size = astype(wp::max(wp::abs(b)), f64).item<double>();
  return off / std::max(size, 1e-30);
}

// One draw after the other.
class Draw {
 public:
  explicit Draw(unsigned seed) : g_(seed) {}
  Tensor normal(const Dims& shape, DType dtype = f64) {
    const Tensor re = reals(shape);
    return is_complex(dtype) ? astype(astype(re, c128) + reals(shape) * complex128(0, 1), dtype) : astype(re, dtype);
  }
  // Orthonormal columns, f64 or c128.
  Tensor orthogonal(std::int64_t m, std::int64_t k, DType dtype = f64) { return linalg::qr(normal({m, k}, dtype)).Q; }
  // With these singular values (their first min(m, n)), and with these eigenvalues.
  Tensor with_values(std::int64_t m, std::int64_t n, std::vector<double> s, DType dtype = f64) {
    const std::int64_t k = std::min(m, n);
    const DType wide = is_complex(dtype) ? c128 : f64;
    s.resize(static_cast<std::size_t>(k));
    const Tensor u = orthogonal(m, k, wide), v = orthogonal(n, k, wide);
    return astype(matmul(u * Tensor::from(s, {k}), adjoint(v)), dtype);
  }
  Tensor with_eigenvalues(const std::vector<double>& l, DType dtype = f64) {
    const auto n = static_cast<std::int64_t>(l.size());
    const Tensor v = orthogonal(n, n, is_complex(dtype) ? c128 : f64);
    return astype(hermitian(matmul(v * Tensor::from(l, {n}), adjoint(v))), dtype);
  }

 private:
  Tensor reals(const Dims& shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& x : v) x = normal_(g_);
    return Tensor::from(v, shape);
  }
  std::mt19937_64 g_;
  std::normal_distribution<double> normal_;
};
inline Tensor normal(const Dims& shape, unsigned seed) {
  return Draw(seed).normal(shape);
}

inline Tensor gradient_by(const std::function<Tensor(const Tensor&)>& f, const Tensor& a) {
  GradientTape tape;
  tape.watch(a);
  return tape.gradient(f(a), a);
}
// The derivative along v of the gradient.
inline Tensor hessian_product(const std::function<Tensor(const Tensor&)>& f, const Tensor& a, const Tensor& v) {
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(f(a), a);
  return outer.gradient(against(v, g), a);
}

}  // namespace wp
