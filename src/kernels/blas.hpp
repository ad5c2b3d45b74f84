// The BLAS underneath: typed calls on raw strided memory. It runs on the calling thread only; the pool owns the
// tiles.
#pragma once
#include <cstdint>
#include <string>

#include "wellposed/dtype.hpp"

namespace wp::blas {

// Element (i, j) is data[i * rows + j * columns].
template <class T>
struct Matrix {
  T* data;
  std::int64_t rows, columns;  // strides in elements
};

// Whether a BLAS takes an m × n view as it is: one stride is 1, the other leaves room for a line, all fit 32 bits.
// Others must be copied first.
template <class T>
bool fits(const Matrix<T>& a, std::int64_t m, std::int64_t n) noexcept;

// C = alpha·A·B + beta·C with A m × k, B k × n, C m × n; each view must fit. C is not read when beta is 0.
// T: float, double, complex64, complex128.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
          Matrix<T> c);
// y = alpha·A·x + beta·y with A m × n. Strides of x and y may be negative: x and y point at element 0.
template <class T>
void gemv(std::int64_t m, std::int64_t n, T alpha, Matrix<const T> a, const T* x, std::int64_t x_stride, T beta, T* y,
          std::int64_t y_stride);
// Σ xᵢ yᵢ, nothing conjugated. Strides may be negative, not 0: x and y point at element 0.
template <class T>
T dot(std::int64_t n, const T* x, std::int64_t x_stride, const T* y, std::int64_t y_stride);

// "Zen", "SkylakeX": the kernels OpenBLAS runs; empty for another BLAS.
std::string core_name();
// "OpenBLAS 0.3.21 … DYNAMIC_ARCH …"; empty for another BLAS.
std::string config();
// How the core came to be chosen.
enum class CoreChoice : std::uint8_t {
  own,        // by OpenBLAS itself
  user,       // OPENBLAS_CORETYPE was set
  corrected,  // OpenBLAS did not know the CPU and fell back to old kernels; it was told which to use
  wrong,      // the same, but it could not be told (it was loaded before this library)
};
CoreChoice core_choice() noexcept;
// Whether OpenBLAS runs kernels for less than the CPU has.
bool core_is_older();

}  // namespace wp::blas
