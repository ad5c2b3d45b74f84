// Matrices of tests/matrices.hpp as tensors, and back.
#pragma once
#include "listening.hpp"
#include "matrices.hpp"
#include "ops/moves.hpp"
#include "wellposed/wellposed.hpp"

namespace matrices {

template <class T>
wp::Tensor tensor(const Matrix<T>& a) {
  std::vector<T> values;
  for (Size i = 0; i < a.m; ++i)
    for (Size j = 0; j < a.n; ++j) values.push_back(a(i, j));
  return wp::Tensor::from(values, {a.m, a.n});
}
template <class T>
Matrix<T> matrix(const wp::Tensor& t) {
  Matrix<T> a(t.shape(0), t.shape(1), 0);
  const wp::Tensor c = wp::contiguous(t);
  for (Size i = 0; i < a.m; ++i)
    for (Size j = 0; j < a.n; ++j) a(i, j) = reinterpret_cast<const T*>(c.node()->data)[i * a.n + j];
  return a;
}
inline double at(const wp::Tensor& t, Size i, Size j) {
  return t[{i, j}].item<double>();
}
template <class W>
bool any_nan(const Matrix<W>& a) {
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i)
      if (std::isnan(std::abs(a(i, j)))) return true;
  return false;
}
template <class W>
Matrix<W> operator+(Matrix<W> a, const Matrix<W>& b) {
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i) a(i, j) += b(i, j);
  return a;
}
template <class W>
Matrix<W> operator*(Matrix<W> a, long double f) {
  for (Size j = 0; j < a.n; ++j)
    for (Size i = 0; i < a.m; ++i) a(i, j) *= f;
  return a;
}
inline bool same_bits(const wp::Tensor& a, const wp::Tensor& b) {
  const wp::Tensor x = wp::contiguous(a), y = wp::contiguous(b);
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.size() == 0 || std::memcmp(x.node()->data, y.node()->data, x.nbytes()) == 0);
}
// The findings that f reports.
template <class F>
std::vector<wp::Finding> told(F&& f) {
  const wp::tests::Listening listening;
  f();
  return listening.told;
}

}  // namespace matrices
