// Matrices that are meant to be Hermitian. T: float, double, complex64, complex128.
#pragma once
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// Which elements say what the matrix is: both mirror images, their mean where they differ; or one triangle.
enum class Side : std::uint8_t { both, lower, upper };
struct Mirrored {
  double largest = 0;  // max(|re|, |im|) of what is meant, NaN left out
  double apart = 0;    // the largest part by which an element below the diagonal differs from it; 0 for one triangle
  bool finite = true;
};
// The matrix that an n × n A means, into the lower triangle of `to` (rows `row` apart); the diagonal becomes real.
// a.conjugate is not read.
template <class T>
Mirrored mirror(std::int64_t n, View<T> a, Side side, T* to, std::int64_t row);

}  // namespace wp::kernels
