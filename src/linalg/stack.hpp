// Stacks of matrices: the last two axes of a tensor, one member after the other.
#pragma once
#include "kernels/gemm.hpp"
#include "ops/op.hpp"

namespace wp::linalg {

// The leading axes.
Dims batch_of(const Tensor& a, std::int64_t trailing = 2);
std::int64_t count_of(const Dims& batch);
// Refuses what is not [..., n, n]; returns n.
std::int64_t square_size(const Tensor& a, std::string_view name);

// Members of a tensor over a batch that its own leading axes broadcast to.
template <class T>
class Stack {
 public:
  Stack(const Tensor& a, const Dims& batch, std::int64_t trailing = 2);
  // With one trailing axis the member is a column.
  kernels::View<T> operator[](std::int64_t member) const {
    std::int64_t at = 0;
    for (std::size_t k = batch_.size(); k-- > 0;) {
      at += member % batch_[k] * strides_[k];
      member /= batch_[k];
    }
    return {data_ + at, rows_, columns_};
  }

 private:
  const T* data_;
  Dims batch_, strides_;
  std::int64_t rows_, columns_;
};

// a in the dtype that linear algebra computes in: f32 or c64 of at most kWidened rows in f64 or c128 (the verdicts
// then hold for the matrix as given), f16 and bf16 as f32.
inline constexpr std::int64_t kWidened = 300;
DType working_dtype(DType dtype, std::int64_t n);
// The unit round-off of a dtype: 2⁻⁵³ for f64.
double round_off(DType dtype);
// The least normal number of a dtype, and the least of all: 2⁻¹⁰²² and 2⁻¹⁰⁷⁴ for f64. And the largest.
double least_normal(DType dtype);
double least_number(DType dtype);
double largest_number(DType dtype);

// Calls f(T{}) with the type of f32, f64, c64 or c128.
template <class F>
decltype(auto) with_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::c64: return f(complex64{});
    case DType::c128: return f(complex128{});
    default: return f(double{});
  }
}

}  // namespace wp::linalg
