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

extern "C" {
// Visible, as the linker sends ScaLAPACK's calls here too (cmake/mpi.cmake).
#define WP_SEEN [[gnu::visibility("default")]]
#define WP_GUARDED(gemv, hemv, trsv, T)                                                                              \
  void __real_##gemv(const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*, const Int*,      \
                     const T*, T*, const Int*, Length);                                                              \
  void __real_##hemv(const char*, const Int*, const T*, const T*, const Int*, const T*, const Int*, const T*, T*,    \
                     const Int*, Length);                                                                            \
  void __real_##trsv(const char*, const char*, const char*, const Int*, const T*, const Int*, T*, const Int*,        \
                     Length, Length, Length);                                                                        \
  WP_SEEN void __wrap_##gemv(const char* op, const Int* m, const Int* n, const T* alpha, const T* a, const Int* lda, \
                             const T* x, const Int* incx, const T* beta, T* y, const Int* incy, Length length) {     \
    if (*op != 'N' && *op != 'n') return __real_##gemv(op, m, n, alpha, a, lda, x, incx, beta, y, incy, length);     \
    Roomy<T> v(*n, x, *incx);                                                                                        \
    __real_##gemv(op, m, n, alpha, a, lda, v.data(), &kOne, beta, y, incy, length);                                  \
  }                                                                                                                  \
  WP_SEEN void __wrap_##hemv(const char* part, const Int* n, const T* alpha, const T* a, const Int* lda, const T* x, \
                             const Int* incx, const T* beta, T* y, const Int* incy, Length length) {                 \
    Roomy<T> v(*n, x, *incx), w(*n, y, *incy);                                                                       \
    __real_##hemv(part, n, alpha, a, lda, v.data(), &kOne, beta, w.data(), &kOne, length);                           \
    w.give_back(y);                                                                                                  \
  }                                                                                                                  \
  WP_SEEN void __wrap_##trsv(const char* part, const char* op, const char* unit, const Int* n, const T* a,           \
                             const Int* lda, T* x, const Int* incx, Length l1, Length l2, Length l3) {               \
    Roomy<T> v(*n, x, *incx);                                                                                        \
    __real_##trsv(part, op, unit, n, a, lda, v.data(), &kOne, l1, l2, l3);                                           \
    v.give_back(x);                                                                                                  \
  }
WP_GUARDED(cgemv_, chemv_, ctrsv_, std::complex<float>)
WP_GUARDED(zgemv_, zhemv_, ztrsv_, std::complex<double>)
#undef WP_GUARDED
}

}  // namespace wp::blas
#endif
