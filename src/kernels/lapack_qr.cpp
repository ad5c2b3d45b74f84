#include "kernels/householder.hpp"
#include "kernels/lapack_call.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, q, T)                                                                                              \
  void p##geqrf_(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work, const Int* lwork, Int* info);   \
  void p##q##gqr_(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work,            \
                  const Int* lwork, Int* info);                                                                     \
  void p##q##mqr_(const char* side, const char* op, const Int* m, const Int* n, const Int* k, const T* a,           \
                  const Int* lda, const T* tau, T* c, const Int* ldc, T* work, const Int* lwork, Int* info, Length, \
                  Length);                                                                                          \
  void p##larfg_(const Int* n, T* first, T* rest, const Int* step, T* tau);
WP_OF(s, or, float)
WP_OF(d, or, double)
WP_OF(c, un, std::complex<float>)
WP_OF(z, un, std::complex<double>)
#undef WP_OF
#define WP_OF(p, T)                                                                                                 \
  void p##geqp3_(const Int* m, const Int* n, T* a, const Int* lda, Int* columns, T* tau, T* work, const Int* lwork, \
                 Int* info);
WP_OF(s, float)
WP_OF(d, double)
#undef WP_OF
#define WP_OF(p, R, T)                                                                                              \
  void p##geqp3_(const Int* m, const Int* n, T* a, const Int* lda, Int* columns, T* tau, T* work, const Int* lwork, \
                 R* rwork, Int* info);
WP_OF(c, float, std::complex<float>)
WP_OF(z, double, std::complex<double>)
#undef WP_OF
}

namespace {
// Matrices with fewer reflectors are left to LAPACK.
constexpr Size kBlocked = 2 * kernels::kHouseholderBlock;
}  // namespace

template <class T>
int qr(Size m, Size n, T* a, Size lda, T* tau) {
  if (m == 0 || n == 0) return 0;
  if (std::min(m, n) >= kBlocked) {
    kernels::householder_qr(m, n, a, lda, tau);
    return 0;
  }
  const auto geqrf = pick<T>(sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_);
  return with_work<T>(n, [&](T* work, Int lwork) { return call(geqrf, m, n, a, lda, tau, work, lwork); });
}

template <class T>
T reflector(Size n, T* x) {
  const Int size = static_cast<Int>(n), step = 1;
  T tau;
  const blas::Gate gate;
  pick<T>(slarfg_, dlarfg_, clarfg_, zlarfg_)(&size, x, x + 1, &step, &tau);
  return tau;
}

template <class T>
int qr_pivoted(Size m, Size n, T* a, Size lda, Size* columns, T* tau) {
  if (!fit_matrix(m, n, lda)) return kTooLarge;
  for (Size j = 0; j < n; ++j) columns[j] = j;
  if (m == 0 || n == 0) return 0;
  if (!finite(m, n, a, lda)) return kNotFinite;
  Buffer<Int> order(n);
  std::fill_n(order.data(), n, Int{0});  // all columns are free
  auto reals = scratch<Real<T>>(is_complex<T> ? 2 * n : 0);
  const auto geqp3 = pick<T>(sgeqp3_, dgeqp3_, cgeqp3_, zgeqp3_);
  const int info = with_work<T>(is_complex<T> ? n + 1 : 3 * n + 1, [&](T* work, Int lwork) {
    if constexpr (is_complex<T>)
      return call(geqp3, m, n, a, lda, order.data(), tau, work, lwork, reals.data());
    else
      return call(geqp3, m, n, a, lda, order.data(), tau, work, lwork);
  });
  if (info == 0)
    for (Size j = 0; j < n; ++j) columns[j] = order.data()[j] - 1;
  return info;
}

template <class T>
int householder_product(Size m, Size n, Size k, T* a, Size lda, const T* tau) {
  if (m == 0 || n == 0) return 0;
  if (k >= kBlocked) {
    kernels::householder_q(m, n, k, a, lda, tau);
    return 0;
  }
  const auto orgqr = pick<T>(sorgqr_, dorgqr_, cungqr_, zungqr_);
  return with_work<T>(n, [&](T* work, Int lwork) { return call(orgqr, m, n, k, a, lda, tau, work, lwork); });
}

template <class T>
int apply_q(Side side, Op op, Size m, Size n, Size k, const T* a, Size lda, const T* tau, T* c, Size ldc) {
  if (m == 0 || n == 0 || k == 0) return 0;
  const auto ormqr = pick<T>(sormqr_, dormqr_, cunmqr_, zunmqr_);
  const char at = static_cast<char>(side);
  return with_work<T>(side == Side::left ? n : m, [&](T* work, Int lwork) {
    return call(ormqr, at, letter<T>(op), m, n, k, a, lda, tau, c, ldc, work, lwork);
  });
}

#define WP_INSTANTIATE(T)                                                 \
  template int qr(Size, Size, T*, Size, T*);                              \
  template T reflector(Size, T*);                                         \
  template int qr_pivoted(Size, Size, T*, Size, Size*, T*);               \
  template int householder_product(Size, Size, Size, T*, Size, const T*); \
  template int apply_q(Side, Op, Size, Size, Size, const T*, Size, const T*, T*, Size);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
