#include <vector>

#include "kernels/lapack_call.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, R, T)                                                                                          \
  void p##trsyl_(const char* op_a, const char* op_b, const Int* sign, const Int* m, const Int* n, const T* a,   \
                 const Int* lda, const T* b, const Int* ldb, T* c, const Int* ldc, R* scale, Int* info, Length, \
                 Length);
WP_OF(s, float, float)
WP_OF(d, double, double)
WP_OF(c, float, std::complex<float>)
WP_OF(z, double, std::complex<double>)
#undef WP_OF
#define WP_OF(p, T)                                                                                                \
  void p##gees_(const char* job, const char* sort, const void* select, const Int* n, T* a, const Int* lda,         \
                Int* chosen, T* wr, T* wi, T* z, const Int* ldz, T* work, const Int* lwork, Int* bwork, Int* info, \
                Length, Length);
WP_OF(s, float)
WP_OF(d, double)
#undef WP_OF
#define WP_OF(p, R, T)                                                                                               \
  void p##gees_(const char* job, const char* sort, const void* select, const Int* n, T* a, const Int* lda,           \
                Int* chosen, T* w, T* z, const Int* ldz, T* work, const Int* lwork, R* rwork, Int* bwork, Int* info, \
                Length, Length);
WP_OF(c, float, std::complex<float>)
WP_OF(z, double, std::complex<double>)
#undef WP_OF
}

template <class T>
int schur(Size n, T* a, Size lda, Complex<T>* w, T* z, Size ldz) {
  if (!fit_matrix(n, n, lda) || !fit(ldz)) return kTooLarge;
  if (n == 0) return 0;
  if (!finite(n, n, a, lda)) return kNotFinite;
  Buffer<Real<T>> reals(2 * n);  // real T: the parts of w
  Buffer<Int> unused(n);
  Int chosen = 0;
  const char job = z ? 'V' : 'N';
  const Size ld = z ? ldz : 1;
  const auto gees = pick<T>(sgees_, dgees_, cgees_, zgees_);
  const int info = with_work<T>(3 * n, [&](T* work, Int lwork) {
    if constexpr (is_complex<T>)
      return call(gees, job, 'N', nullptr, n, a, lda, &chosen, w, z, ld, work, lwork, reals.data(), unused.data());
    else
      return call(gees, job, 'N', nullptr, n, a, lda, &chosen, reals.data(), reals.data() + n, z, ld, work, lwork,
                  unused.data());
  });
  if constexpr (!is_complex<T>)
    if (info >= 0)
      for (Size i = 0; i < n; ++i) w[i] = {reals.data()[i], reals.data()[n + i]};
  return info;
}

namespace {

// A copy, column-major with rows close together, and one column more: the dot products of complex vectors in OpenBLAS
// 0.3.21 read one element past the last, a stride away.
template <class T>
std::vector<T> with_room(Size rows, Size columns, const T* a, Size lda) {
  std::vector<T> copy(static_cast<std::size_t>(rows * (columns + 1)));
  for (Size j = 0; j < columns; ++j) std::copy_n(a + j * lda, rows, copy.data() + j * rows);
  return copy;
}

}  // namespace

template <class T>
int sylvester(Op op_a, Op op_b, int sign, Size m, Size n, const T* a, Size lda, const T* b, Size ldb, T* c, Size ldc,
              Real<T>* scale) {
  *scale = 1;
  if (m == 0 || n == 0) return 0;
  const auto trsyl = pick<T>(strsyl_, dtrsyl_, ctrsyl_, ztrsyl_);
  const auto left = with_room<T>(m, m, a, lda), right = with_room<T>(n, n, b, ldb);
  std::vector<T> x = with_room<T>(m, n, c, ldc);
  const int info = call(trsyl, letter<T>(op_a), letter<T>(op_b), Int{sign}, m, n, left.data(), m, right.data(), n,
                        x.data(), m, scale);
  for (Size j = 0; j < n; ++j) std::copy_n(x.data() + j * m, m, c + j * ldc);
  return info;
}

#define WP_INSTANTIATE(T)                                    \
  template int schur(Size, T*, Size, Complex<T>*, T*, Size); \
  template int sylvester(Op, Op, int, Size, Size, const T*, Size, const T*, Size, T*, Size, Real<T>*);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
