// The Fortran and C symbols of ScaLAPACK. Arguments in ScaLAPACK's order; hidden lengths of Fortran's texts are last.
#pragma once
#include <mpi.h>

#include <complex>
#include <cstddef>

extern "C" {
void PB_freebuf_();  // lets go of the workspace that PBLAS keeps
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
int Csys2blacs_handle(MPI_Comm comm);

using wp_int = const int*;
#define WP_SCALAPACK(p, T, R, q)                                                                                     \
  void p##getrf_(wp_int m, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, int* pivots, int* info);                 \
  void p##getrs_(const char* trans, wp_int n, wp_int k, const T* a, wp_int ia, wp_int ja, wp_int da, wp_int pivots,  \
                 T* b, wp_int ib, wp_int jb, wp_int db, int* info, std::size_t);                                     \
  void p##getri_(wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, wp_int pivots, T* work, wp_int lwork, int* iwork,  \
                 wp_int liwork, int* info);                                                                          \
  void p##potrf_(const char* uplo, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, int* info, std::size_t);         \
  void p##potrs_(const char* uplo, wp_int n, wp_int k, const T* a, wp_int ia, wp_int ja, wp_int da, T* b, wp_int ib, \
                 wp_int jb, wp_int db, int* info, std::size_t);                                                      \
  void p##potri_(const char* uplo, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, int* info, std::size_t);         \
  void p##trtrs_(const char* uplo, const char* trans, const char* diag, wp_int n, wp_int k, const T* a, wp_int ia,   \
                 wp_int ja, wp_int da, T* b, wp_int ib, wp_int jb, wp_int db, int* info, std::size_t, std::size_t,   \
                 std::size_t);                                                                                       \
  void p##trtri_(const char* uplo, const char* diag, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, int* info,     \
                 std::size_t, std::size_t);                                                                          \
  void p##geqrf_(wp_int m, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, T* tau, T* work, wp_int lwork,           \
                 int* info);                                                                                         \
  void p##q##mqr_(const char* side, const char* trans, wp_int m, wp_int n, wp_int k, const T* a, wp_int ia,          \
                  wp_int ja, wp_int da, const T* tau, T* c, wp_int ic, wp_int jc, wp_int dc, T* work, wp_int lwork,  \
                  int* info, std::size_t, std::size_t);                                                              \
  void p##q##gqr_(wp_int m, wp_int n, wp_int k, T* a, wp_int ia, wp_int ja, wp_int da, const T* tau, T* work,        \
                  wp_int lwork, int* info);                                                                          \
  void p##gemm_(const char* ta, const char* tb, wp_int m, wp_int n, wp_int k, const T* alpha, const T* a, wp_int ia, \
                wp_int ja, wp_int da, const T* b, wp_int ib, wp_int jb, wp_int db, const T* beta, T* c, wp_int ic,   \
                wp_int jc, wp_int dc);                                                                               \
  void p##gemr2d_(wp_int m, wp_int n, const T* a, wp_int ia, wp_int ja, wp_int da, T* b, wp_int ib, wp_int jb,       \
                  wp_int db, wp_int context);
WP_SCALAPACK(ps, float, float, or)
WP_SCALAPACK(pd, double, double, or)
WP_SCALAPACK(pc, std::complex<float>, float, un)
WP_SCALAPACK(pz, std::complex<double>, double, un)
#undef WP_SCALAPACK

#define WP_REAL(p, T)                                                                                             \
  void p##gesvd_(const char* ju, const char* jv, wp_int m, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, T* s, \
                 T* u, wp_int iu, wp_int ju2, wp_int du, T* vt, wp_int iv, wp_int jv2, wp_int dv, T* work,        \
                 wp_int lwork, int* info, std::size_t, std::size_t);                                              \
  void p##syevd_(const char* jobz, const char* uplo, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, T* w, T* z, \
                 wp_int iz, wp_int jz, wp_int dz, T* work, wp_int lwork, int* iwork, wp_int liwork, int* info,    \
                 std::size_t, std::size_t);                                                                       \
  void p##tran_(wp_int m, wp_int n, const T* alpha, const T* a, wp_int ia, wp_int ja, wp_int da, const T* beta,   \
                T* c, wp_int ic, wp_int jc, wp_int dc);
WP_REAL(ps, float)
WP_REAL(pd, double)
#undef WP_REAL

#define WP_COMPLEX(p, T, R)                                                                                       \
  void p##gesvd_(const char* ju, const char* jv, wp_int m, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, R* s, \
                 T* u, wp_int iu, wp_int ju2, wp_int du, T* vt, wp_int iv, wp_int jv2, wp_int dv, T* work,        \
                 wp_int lwork, R* rwork, int* info, std::size_t, std::size_t);                                    \
  void p##heevd_(const char* jobz, const char* uplo, wp_int n, T* a, wp_int ia, wp_int ja, wp_int da, R* w, T* z, \
                 wp_int iz, wp_int jz, wp_int dz, T* work, wp_int lwork, R* rwork, wp_int lrwork, int* iwork,     \
                 wp_int liwork, int* info, std::size_t, std::size_t);                                             \
  void p##tranu_(wp_int m, wp_int n, const T* alpha, const T* a, wp_int ia, wp_int ja, wp_int da, const T* beta,  \
                 T* c, wp_int ic, wp_int jc, wp_int dc);                                                          \
  void p##tranc_(wp_int m, wp_int n, const T* alpha, const T* a, wp_int ia, wp_int ja, wp_int da, const T* beta,  \
                 T* c, wp_int ic, wp_int jc, wp_int dc);
WP_COMPLEX(pc, std::complex<float>, float)
WP_COMPLEX(pz, std::complex<double>, double)
#undef WP_COMPLEX
}
