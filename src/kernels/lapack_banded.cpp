#include "kernels/lapack_call.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, T)                                                                                             \
  void p##gbtrf_(const Int* m, const Int* n, const Int* kl, const Int* ku, T* band, const Int* ld, Int* pivots, \
                 Int* info);                                                                                    \
  void p##gbtrs_(const char* op, const Int* n, const Int* kl, const Int* ku, const Int* columns, const T* band, \
                 const Int* ld, const Int* pivots, T* b, const Int* ldb, Int* info, Length);                    \
  void p##gttrf_(const Int* n, T* below, T* diagonal, T* above, T* above2, Int* pivots, Int* info);             \
  void p##gttrs_(const char* op, const Int* n, const Int* columns, const T* below, const T* diagonal,           \
                 const T* above, const T* above2, const Int* pivots, T* b, const Int* ldb, Int* info, Length);
WP_OF(s, float)
WP_OF(d, double)
WP_OF(c, std::complex<float>)
WP_OF(z, std::complex<double>)
#undef WP_OF
}

template <class T>
int lu_banded(Size n, Size kl, Size ku, T* band, Size ld, Pivot* pivots) {
  if (!fit(n, kl, ku, ld)) return kTooLarge;
  for (Size j = 0; j < n; ++j) {  // the kl rows above the band are only written
    const Size first = std::max<Size>(0, j - ku), last = std::min(n - 1, j + kl);
    if (!finite_line(last - first + 1, band + kl + ku + first - j + j * ld)) return kNotFinite;
  }
  return n == 0 ? 0 : call(pick<T>(sgbtrf_, dgbtrf_, cgbtrf_, zgbtrf_), n, n, kl, ku, band, ld, pivots);
}

template <class T>
int lu_banded_solve(Op op, Size n, Size kl, Size ku, Size columns, const T* band, Size ld, const Pivot* pivots, T* b,
                    Size ldb) {
  if (n == 0 || columns == 0) return 0;
  return call(pick<T>(sgbtrs_, dgbtrs_, cgbtrs_, zgbtrs_), letter<T>(op), n, kl, ku, columns, band, ld, pivots, b,
              ldb);
}

template <class T>
int lu_tridiagonal(Size n, T* below, T* diagonal, T* above, T* above2, Pivot* pivots) {
  if (n == 0) return 0;
  return call(pick<T>(sgttrf_, dgttrf_, cgttrf_, zgttrf_), n, below, diagonal, above, above2, pivots);
}

template <class T>
int lu_tridiagonal_solve(Op op, Size n, Size columns, const T* below, const T* diagonal, const T* above,
                         const T* above2, const Pivot* pivots, T* b, Size ldb) {
  if (n == 0 || columns == 0) return 0;
  return call(pick<T>(sgttrs_, dgttrs_, cgttrs_, zgttrs_), letter<T>(op), n, columns, below, diagonal, above, above2,
              pivots, b, ldb);
}

#define WP_INSTANTIATE(T)                                                                           \
  template int lu_banded(Size, Size, Size, T*, Size, Pivot*);                                       \
  template int lu_banded_solve(Op, Size, Size, Size, Size, const T*, Size, const Pivot*, T*, Size); \
  template int lu_tridiagonal(Size, T*, T*, T*, T*, Pivot*);                                        \
  template int lu_tridiagonal_solve(Op, Size, Size, const T*, const T*, const T*, const T*, const Pivot*, T*, Size);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
