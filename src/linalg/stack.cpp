#include "linalg/stack.hpp"

#include <limits>

#include "base/text.hpp"

namespace wp::linalg {

Dims batch_of(const Tensor& a, std::int64_t trailing) {
  return Dims(a.shape().begin(), a.shape().end() - trailing);
}

std::int64_t count_of(const Dims& batch) {
  std::int64_t n = 1;
  for (const std::int64_t d : batch) n *= d;
  return n;
}

std::int64_t square_size(const Tensor& a, std::string_view name) {
  const Dims& s = a.shape();
  if (s.size() < 2 || s[s.size() - 1] != s[s.size() - 2])
    refuse<ShapeError>("WP-SHP-016", say(name, " must be square, [..., n, n]; got ", s, "."),
                       s.size() >= 2 ? "For other shapes use lstsq or pinv." : "");
  return s.back();
}

template <class T>
Stack<T>::Stack(const Tensor& a, const Dims& batch, std::int64_t trailing)
    : data_(reinterpret_cast<const T*>(a.node()->data)), batch_(batch), strides_(batch.size(), 0) {
  const Dims& s = a.strides();
  rows_ = s[s.size() - static_cast<std::size_t>(trailing)];
  columns_ = trailing == 2 ? s.back() : 1;
  const std::size_t own = s.size() - static_cast<std::size_t>(trailing), shift = batch.size() - own;
  for (std::size_t k = 0; k < own; ++k)
    if (a.shape()[k] != 1) strides_[k + shift] = s[k];
}
template class Stack<float>;
template class Stack<double>;
template class Stack<complex64>;
template class Stack<complex128>;

DType working_dtype(DType dtype, std::int64_t n) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return n <= kWidened ? f64 : f32;
    case DType::c64: return n <= kWidened ? c128 : c64;
    case DType::c128: return c128;
    default: return f64;
  }
}

double round_off(DType dtype) {
  switch (real_of(dtype)) {
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::f32: return 0x1p-24;
    default: return 0x1p-53;
  }
}

double least_normal(DType dtype) {
  switch (real_of(dtype)) {
    case DType::f16: return 0x1p-14;
    case DType::bf16:
    case DType::f32: return 0x1p-126;
    default: return 0x1p-1022;
  }
}

double largest_number(DType dtype) {
  switch (real_of(dtype)) {
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    case DType::f32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

double least_number(DType dtype) {
  return 2 * round_off(dtype) * least_normal(dtype);
}

}  // namespace wp::linalg
