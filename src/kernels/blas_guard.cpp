// OpenBLAS 0.3.21 reads one element behind the end of a vector: x of A·x with complex A (gemv, not transposed), x or
// y of Hermitian A·x (hemv), x of complex triangular solves (trsv, more than 64 rows). Where memory ends there, the
// process dies. The linker sends calls of these routines here (--wrap, cmake/dependencies.cmake), LAPACK's too; they
// go on with vectors that have room behind them.
#ifdef WP_STATIC_OPENBLAS
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "kernels/gemm.hpp"

namespace wp::blas {
namespace {

using Int = std::int32_t;
using Length = std::size_t;
constexpr Int kOne = 1;
constexpr std::int64_t kRoom = 8;

// A vector of Fortran's, contiguous and with room behind it.
template <class T>
class Roomy {
 public:
  Roomy(Int n, const T* x, Int step) : n_(n), step_(step), data_(std::max(n, 0) + kRoom) {
    for (std::int64_t i = 0; i < n_; ++i) data()[i] = x[at(i)];
    std::fill_n(data() + std::max(n_, 0), kRoom, T(0));
  }
  T* data() { return data_.data(); }
  void give_back(T* x) {
    for (std::int64_t i = 0; i < n_; ++i) x[at(i)] = data()[i];
  }

 private:
  // Vectors with a negative step begin at their other end.
  std::int64_t at(std::int64_t i) const { return step_ < 0 ? (i - n_ + 1) * step_ : i * step_; }
  Int n_, step_;
  kernels::Buffer<T> data_;
};

}  // namespace
}  // namespace wp::blas

extern "C" {
#define WP_GUARDED(gemv, hemv, trsv, T)                                                                              \
  void __real_##gemv(const char*, const wp::blas::Int*, const wp::blas::Int*, const T*, const T*,                    \
                     const wp::blas::Int*, const T*, const wp::blas::Int*, const T*, T*, const wp::blas::Int*,       \
                     wp::blas::Length);                                                                              \
  void __real_##hemv(const char*, const wp::blas::Int*, const T*, const T*, const wp::blas::Int*, const T*,          \
                     const wp::blas::Int*, const T*, T*, const wp::blas::Int*, wp::blas::Length);                    \
  void __real_##trsv(const char*, const char*, const char*, const wp::blas::Int*, const T*, const wp::blas::Int*,    \
                     T*, const wp::blas::Int*, wp::blas::Length, wp::blas::Length, wp::blas::Length);                \
  void __wrap_##gemv(const char* op, const wp::blas::Int* m, const wp::blas::Int* n, const T* alpha, const T* a,     \
                     const wp::blas::Int* lda, const T* x, const wp::blas::Int* incx, const T* beta, T* y,           \
                     const wp::blas::Int* incy, wp::blas::Length length) {                                           \
    if (*op != 'N' && *op != 'n') return __real_##gemv(op, m, n, alpha, a, lda, x, incx, beta, y, incy, length);     \
    wp::blas::Roomy<T> v(*n, x, *incx);                                                                              \
    __real_##gemv(op, m, n, alpha, a, lda, v.data(), &wp::blas::kOne, beta, y, incy, length);                        \
  }                                                                                                                  \
  void __wrap_##hemv(const char* part, const wp::blas::Int* n, const T* alpha, const T* a, const wp::blas::Int* lda, \
                     const T* x, const wp::blas::Int* incx, const T* beta, T* y, const wp::blas::Int* incy,          \
                     wp::blas::Length length) {                                                                      \
    wp::blas::Roomy<T> v(*n, x, *incx), w(*n, y, *incy);                                                             \
    __real_##hemv(part, n, alpha, a, lda, v.data(), &wp::blas::kOne, beta, w.data(), &wp::blas::kOne, length);       \
    w.give_back(y);                                                                                                  \
  }                                                                                                                  \
  void __wrap_##trsv(const char* part, const char* op, const char* unit, const wp::blas::Int* n, const T* a,         \
                     const wp::blas::Int* lda, T* x, const wp::blas::Int* incx, wp::blas::Length l1,                 \
                     wp::blas::Length l2, wp::blas::Length l3) {                                                     \
    wp::blas::Roomy<T> v(*n, x, *incx);                                                                              \
    __real_##trsv(part, op, unit, n, a, lda, v.data(), &wp::blas::kOne, l1, l2, l3);                                 \
    v.give_back(x);                                                                                                  \
  }
WP_GUARDED(cgemv_, chemv_, ctrsv_, std::complex<float>)
WP_GUARDED(zgemv_, zhemv_, ztrsv_, std::complex<double>)
#undef WP_GUARDED
}
#endif
