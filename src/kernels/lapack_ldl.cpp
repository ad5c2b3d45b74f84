#include "kernels/lapack_call.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, q, T)                                                                                               \
  void p##q##trf_rook_(const char* uplo, const Int* n, T* a, const Int* lda, Int* pivots, T* work, const Int* lwork, \
                       Int* info, Length);                                                                           \
  void p##q##trs_rook_(const char* uplo, const Int* n, const Int* columns, const T* a, const Int* lda,               \
                       const Int* pivots, T* b, const Int* ldb, Int* info, Length);
WP_OF(s, sy, float)
WP_OF(d, sy, double)
WP_OF(c, sy, std::complex<float>)
WP_OF(z, sy, std::complex<double>)
WP_OF(c, he, std::complex<float>)
WP_OF(z, he, std::complex<double>)
#undef WP_OF
}

template <class T>
int ldl(Form form, Size n, T* a, Size lda, Pivot* pivots) {
  if (!fit_matrix(n, n, lda)) return kTooLarge;
  if (n == 0) return 0;
  if (!finite(Triangle::lower, n, a, lda)) return kNotFinite;
  const auto f = form == Form::hermitian ? pick<T>(ssytrf_rook_, dsytrf_rook_, chetrf_rook_, zhetrf_rook_)
                                         : pick<T>(ssytrf_rook_, dsytrf_rook_, csytrf_rook_, zsytrf_rook_);
  return with_work<T>(n, [&](T* work, Int lwork) { return call(f, 'L', n, a, lda, pivots, work, lwork); });
}

template <class T>
int ldl_solve(Form form, Size n, Size columns, const T* a, Size lda, const Pivot* pivots, T* b, Size ldb) {
  if (n == 0 || columns == 0) return 0;
  const auto f = form == Form::hermitian ? pick<T>(ssytrs_rook_, dsytrs_rook_, chetrs_rook_, zhetrs_rook_)
                                         : pick<T>(ssytrs_rook_, dsytrs_rook_, csytrs_rook_, zsytrs_rook_);
  return call(f, 'L', n, columns, a, lda, pivots, b, ldb);
}

template <class T>
void ldl_unpack(Size n, const T* a, Size lda, const Pivot* pivots, T* l, Size ld, T* diagonal, T* below, Size* rows) {
  for (Size i = 0; i < n; ++i) rows[i] = i;
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < n; ++i) l[i + j * ld] = i > j ? a[i + j * lda] : T(i == j ? 1 : 0);
  std::fill_n(below, std::max<Size>(n - 1, 0), T(0));
  // LAPACK's L is P₀L₀P₁L₁…: the exchanges of a block are moved to the left, through the columns before it.
  const auto exchange = [&](Size k, Size before) {
    const Size p = std::abs(pivots[k]) - 1;
    if (p == k) return;
    for (Size j = 0; j < before; ++j) std::swap(l[k + j * ld], l[p + j * ld]);
    std::swap(rows[k], rows[p]);
  };
  for (Size k = 0; k < n; ++k) {
    diagonal[k] = a[k + k * lda];
    exchange(k, k);
    if (pivots[k] > 0) continue;
    below[k] = a[k + 1 + k * lda];
    l[k + 1 + k * ld] = T(0);
    diagonal[k + 1] = a[k + 1 + (k + 1) * lda];
    exchange(k + 1, k);
    ++k;
  }
}

template <class T>
Inertia inertia(Size n, const T* a, Size lda, const Pivot* pivots) {
  Inertia count;
  const auto add = [&](Real<T> sign) { ++(sign > 0 ? count.positive : sign < 0 ? count.negative : count.zero); };
  for (Size k = 0; k < n; ++k) {
    const Real<T> first = std::real(a[k + k * lda]);
    if (pivots[k] > 0) {
      add(first);
      continue;
    }
    const Real<T> off = std::abs(a[k + 1 + k * lda]), second = std::real(a[k + 1 + (k + 1) * lda]);
    const Real<T> det = (first / off) * (second / off) - 1;  // of the block, divided by off²; off ≠ 0
    add(det < 0 ? Real<T>(1) : first + second);
    add(det < 0 ? Real<T>(-1) : det > 0 ? first + second : Real<T>(0));
    ++k;
  }
  return count;
}

#define WP_INSTANTIATE(T)                                                                \
  template int ldl(Form, Size, T*, Size, Pivot*);                                        \
  template int ldl_solve(Form, Size, Size, const T*, Size, const Pivot*, T*, Size);      \
  template void ldl_unpack(Size, const T*, Size, const Pivot*, T*, Size, T*, T*, Size*); \
  template Inertia inertia(Size, const T*, Size, const Pivot*);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
