#include <optional>

#include "kernels/bidiagonal.hpp"
#include "kernels/householder.hpp"
#include "kernels/lapack_call.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, T)                                                                                                  \
  void p##gesdd_(const char* job, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, const Int* ldu,      \
                 T* vt, const Int* ldvt, T* work, const Int* lwork, Int* iwork, Int* info, Length);                  \
  void p##gesvd_(const char* job_u, const char* job_v, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, \
                 const Int* ldu, T* vt, const Int* ldvt, T* work, const Int* lwork, Int* info, Length, Length);      \
  void p##gesvj_(const char* kind, const char* job_u, const char* job_v, const Int* m, const Int* n, T* a,           \
                 const Int* lda, T* s, const Int* mv, T* v, const Int* ldv, T* work, const Int* lwork, Int* info,    \
                 Length, Length, Length);                                                                            \
  void p##bdsdc_(const char* uplo, const char* job, const Int* n, T* d, T* e, T* u, const Int* ldu, T* vt,           \
                 const Int* ldvt, T* q, Int* iq, T* work, Int* iwork, Int* info, Length, Length);
WP_OF(s, float)
WP_OF(d, double)
#undef WP_OF
#define WP_OF(p, R, T)                                                                                               \
  void p##gesdd_(const char* job, const Int* m, const Int* n, T* a, const Int* lda, R* s, T* u, const Int* ldu,      \
                 T* vt, const Int* ldvt, T* work, const Int* lwork, R* rwork, Int* iwork, Int* info, Length);        \
  void p##gesvd_(const char* job_u, const char* job_v, const Int* m, const Int* n, T* a, const Int* lda, R* s, T* u, \
                 const Int* ldu, T* vt, const Int* ldvt, T* work, const Int* lwork, R* rwork, Int* info, Length,     \
                 Length);                                                                                            \
  void p##gesvj_(const char* kind, const char* job_u, const char* job_v, const Int* m, const Int* n, T* a,           \
                 const Int* lda, R* s, const Int* mv, T* v, const Int* ldv, T* work, const Int* lwork, R* rwork,     \
                 const Int* lrwork, Int* info, Length, Length, Length);
WP_OF(c, float, std::complex<float>)
WP_OF(z, double, std::complex<double>)
#undef WP_OF
}

namespace {

// Where a decomposition goes.
template <class T>
struct Target {
  Vectors vectors;
  Size m, n;
  Real<T>* s;
  T* u;
  Size ldu;
  T* vh;
  Size ldvh;
};

// A leading dimension for what is not wanted: Fortran checks it all the same.
Size ld(Vectors vectors, Size given) {
  return vectors == Vectors::none ? 1 : given;
}
char letter(Vectors vectors) {
  return vectors == Vectors::none ? 'N' : vectors == Vectors::thin ? 'S' : 'A';
}

template <class T>
int divide(const Target<T>& t, const T* a, Size lda) {
  if constexpr (!is_complex<T>)
    if (const std::optional<int> info = on_pool(t, a, lda)) return *info;
  const Size m = t.m, n = t.n, k = std::min(m, n), most = std::max(m, n);
  const bool none = t.vectors == Vectors::none;
  const Size least = is_complex<T> ? (none ? 2 * k + most : k * k + 3 * k + most)
                                   : (none ? 3 * k + std::max(most, 7 * k) : 4 * k * k + 7 * k + most);
  const Size reals = !is_complex<T> ? 0 : none ? 7 * k : std::max(5 * k * k + 5 * k, 2 * most * k + 2 * k * k + k);
  if (!fit(least, reals)) return kTooLarge;
  Buffer<T> copied(m * n);
  copy(m, n, a, lda, copied.data(), m);
  Buffer<Int> iwork(8 * k);
  auto rwork = scratch<Real<T>>(reals);
  const auto gesdd = pick<T>(sgesdd_, dgesdd_, cgesdd_, zgesdd_);
  return with_work<T>(least, [&](T* work, Int lwork) {
    const auto run = [&](auto... more) {
      return call(gesdd, letter(t.vectors), m, n, copied.data(), m, t.s, t.u, ld(t.vectors, t.ldu), t.vh,
                  ld(t.vectors, t.ldvh), work, lwork, more..., iwork.data());
    };
    if constexpr (is_complex<T>)
      return run(rwork.data());
    else
      return run();
  });
}

// The steps of gesdd, those that take most of the time on the pool, for m ≥ n; U thin. A, m × n, is destroyed.
template <class T>
int divide_on_pool(const Target<T>& t, T* a) {
  const Size m = t.m, n = t.n, length = 3 * n * n + 4 * n;
  if (!fit(length)) return kTooLarge;
  const bool none = t.vectors == Vectors::none;
  Buffer<T> p(n * n), e(n), tau_q(n), tau_p(n);
  kernels::bidiagonalise<T>(m, n, a, m, p.data(), n, t.s, e.data(), tau_q.data(), tau_p.data());
  {
    Buffer<T> work(none ? 4 * n : length);
    Buffer<Int> integers(8 * n);
    const char job = none ? 'N' : 'I';
    const int info =
        call(pick<T>(sbdsdc_, dbdsdc_, nullptr, nullptr), 'U', job, n, t.s, e.data(), t.u, none ? Size{1} : t.ldu,
             t.vh, none ? Size{1} : t.ldvh, nullptr, nullptr, work.data(), integers.data());
    if (info != 0 || none) return info;
  }
  for (Size j = 0; j < n; ++j) std::fill_n(t.u + j * t.ldu + n, m - n, T(0));
  kernels::apply_householder<T>(m, n, n, a, m, tau_q.data(), {t.u, 1, t.ldu});
  kernels::apply_householder<T>(n - 1, n, n - 1, p.data() + 1, n, tau_p.data(), {t.vh + t.ldvh, t.ldvh, 1});
  return 0;
}
// The same for any shape but very tall ones and full factors that are not square: those are LAPACK's.
template <class T>
std::optional<int> on_pool(const Target<T>& t, const T* a, Size lda) {
  const Size m = t.m, n = t.n, k = std::min(m, n);
  if (k < kOnPool || std::max(m, n) > 8 * k / 5 || (t.vectors == Vectors::full && m != n)) return {};
  Buffer<T> copied(m * n);
  const bool wide = m < n, none = t.vectors == Vectors::none;
  wide ? adjoint(m, n, a, lda, copied.data(), n) : copy(m, n, a, lda, copied.data(), m);
  T largest = 0;
  for (Size i = 0; i < m * n; ++i) largest = std::max(largest, std::abs(copied.data()[i]));
  if (!moderate(largest)) return {};
  if (!wide) return divide_on_pool(t, copied.data());
  auto v = scratch<T>(none ? 0 : n * k), uh = scratch<T>(none ? 0 : k * k);
  if (const int info = divide_on_pool<T>({t.vectors, n, m, t.s, v.data(), n, uh.data(), k}, copied.data()))
    return info;
  if (none) return 0;
  adjoint(n, k, v.data(), n, t.vh, t.ldvh);
  adjoint(k, k, uh.data(), k, t.u, t.ldu);
  return 0;
}

template <class T>
int by_qr(const Target<T>& t, const T* a, Size lda) {
  const Size m = t.m, n = t.n, k = std::min(m, n), most = std::max(m, n);
  const Size least = is_complex<T> ? 2 * k + most : std::max(3 * k + most, 5 * k);
  if (!fit(least)) return kTooLarge;
  Buffer<T> copied(m * n);
  copy(m, n, a, lda, copied.data(), m);
  auto rwork = scratch<Real<T>>(is_complex<T> ? 5 * k : 0);
  const auto gesvd = pick<T>(sgesvd_, dgesvd_, cgesvd_, zgesvd_);
  const char job = letter(t.vectors);
  return with_work<T>(least, [&](T* work, Int lwork) {
    const auto run = [&](auto... more) {
      return call(gesvd, job, job, m, n, copied.data(), m, t.s, t.u, ld(t.vectors, t.ldu), t.vh,
                  ld(t.vectors, t.ldvh), work, lwork, more...);
    };
    if constexpr (is_complex<T>)
      return run(rwork.data());
    else
      return run();
  });
}

// Whether column j of the n × n matrix X has length 1.
template <class T>
bool has_length_one(Size n, const T* x, Size j) {
  double sum = 0;
  for (Size i = 0; i < n; ++i) sum += static_cast<double>(std::norm(x[j * n + i]));
  return std::fabs(sum - 1) <= 64.0 * static_cast<double>(n) * std::numeric_limits<Real<T>>::epsilon();
}

// L = X·diag(s)·Yᴴ for a lower triangular n × n matrix L, which becomes X. `rank` is the number of columns of X that
// were computed: those of singular values that are not zero, nor denormal (of a singular matrix the noise may go down
// to those), where columns have lost their digits. y null: not wanted.
template <class T>
int gesvj(bool vectors, Size n, T* l, Real<T>* s, T* y, Size& rank) {
  const char job_u = vectors ? 'U' : 'N', job_v = y ? 'V' : 'N';
  const Size length = std::max<Size>(2 * n, 6);
  if (!fit(length)) return kTooLarge;
  Buffer<T> work(length);
  Buffer<Real<T>> rwork(length);
  const auto f = pick<T>(sgesvj_, dgesvj_, cgesvj_, zgesvj_);
  const auto run = [&](auto... more) {
    return call(f, 'L', job_u, job_v, n, n, l, n, s, Int{0}, y, n, work.data(), length, more...);
  };
  int info;
  const Real<T>* said;
  if constexpr (is_complex<T>) {
    info = run(rwork.data(), length);
    said = rwork.data();
  } else {
    info = run();
    said = work.data();
  }
  if (info != 0) return info;
  for (Size i = 0; i < n; ++i) s[i] *= said[0];  // the singular values are said[0]·s
  rank = static_cast<Size>(std::lround(said[1]));
  while (vectors && rank > 0 && !has_length_one(n, l, rank - 1)) --rank;
  return 0;
}

// Columns rank … n − 1 of the n × n matrix X become an orthonormal basis of the complement of those before.
template <class T>
int complete(Size n, Size rank, T* x) {
  Buffer<T> q(n * n);
  Buffer<T> tau(n);
  copy(n, rank, x, n, q.data(), n);
  if (const int info = qr(n, rank, q.data(), n, tau.data())) return info;
  if (const int info = householder_product(n, n, rank, q.data(), n, tau.data())) return info;
  copy(n, n - rank, q.data() + rank * n, n, x + rank * n, n);
  return 0;
}

// Rows in the order of their falling largest elements: with it pivoted QR is stable row by row (Cox & Higham 1998).
// Returns the largest of all.
template <class T>
Real<T> sort_rows(Size m, Size n, const T* a, Size lda, T* sorted, Size* rows) {
  Buffer<Real<T>> most(m);
  std::fill_n(most.data(), m, Real<T>(0));
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) {
      const T x = a[i + j * lda];
      most.data()[i] = std::max({most.data()[i], std::abs(std::real(x)), std::abs(std::imag(x))});
    }
  for (Size i = 0; i < m; ++i) rows[i] = i;
  std::stable_sort(rows, rows + m, [&](Size p, Size q) { return most.data()[p] > most.data()[q]; });
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < m; ++i) sorted[i + j * m] = a[rows[i] + j * lda];
  return most.data()[rows[0]];
}
// Tiny matrices times a power of two, which is exact: gesvj's own scaling fails among the denormals. Returns its
// exponent.
template <class T>
int lift(Real<T> largest, Size count, T* a) {
  if (largest == 0 || largest > std::sqrt(std::numeric_limits<Real<T>>::min())) return 0;
  const int by = -std::ilogb(largest), half = by / 2;  // 2^by may be beyond the largest number
  const Real<T> first = std::ldexp(Real<T>(1), half), second = std::ldexp(Real<T>(1), by - half);
  for (Size i = 0; i < count; ++i) a[i] = a[i] * first * second;
  return by;
}

// Pᵣ·A·P = Q·R, then one-sided Jacobi on Rᴴ = X·diag(s)·Yᴴ: A = Pᵣᵀ·Q·Y · diag(s) · (P·X)ᴴ for m ≥ n (Drmač & Veselić
// 2008, without the second factorisation).
template <class T>
int jacobi_tall(const Target<T>& t, const T* a, Size lda) {
  const Size m = t.m, n = t.n;
  Buffer<T> factor(m * n), tau(n), x(n * n);
  Buffer<Size> rows(m), columns(n);
  const int lifted = lift(sort_rows(m, n, a, lda, factor.data(), rows.data()), m * n, factor.data());
  if (const int info = qr_pivoted(m, n, factor.data(), m, columns.data(), tau.data())) return info;
  std::fill_n(x.data(), n * n, T(0));
  for (Size j = 0; j < n; ++j) adjoint(j + 1, 1, factor.data() + j * m, m, x.data() + j, n);
  Size rank = 0;
  const bool none = t.vectors == Vectors::none;
  auto y = scratch<T>(none ? 0 : n * n);
  if (const int info = gesvj<T>(!none, n, x.data(), t.s, none ? nullptr : y.data(), rank)) return info;
  if (lifted != 0) std::for_each_n(t.s, n, [&](Real<T>& s) { s = std::ldexp(s, -lifted); });
  if (none) return 0;
  if (rank < n)
    if (const int info = complete(n, rank, x.data())) return info;
  for (Size j = 0; j < n; ++j)  // row of (P·X)ᴴ
    for (Size i = 0; i < n; ++i) t.vh[j + columns.data()[i] * t.ldvh] = conjugate(x.data()[i + j * n]);
  const Size width = t.vectors == Vectors::full ? m : n;
  Buffer<T> u(m * width);
  std::fill_n(u.data(), m * width, T(0));
  copy(n, n, y.data(), n, u.data(), m);
  for (Size j = n; j < width; ++j) u.data()[j + j * m] = T(1);
  if (const int info = apply_q(Side::left, Op::none, m, width, n, factor.data(), m, tau.data(), u.data(), m))
    return info;
  for (Size j = 0; j < width; ++j)
    for (Size i = 0; i < m; ++i) t.u[rows.data()[i] + j * t.ldu] = u.data()[i + j * m];
  return 0;
}
template <class T>
int jacobi(const Target<T>& t, const T* a, Size lda) {
  const Size m = t.m, n = t.n;
  if (m >= n) return jacobi_tall(t, a, lda);
  const Size width = t.vectors == Vectors::full ? n : m;  // Aᴴ = V·diag(s)·Uᴴ
  const bool none = t.vectors == Vectors::none;
  Buffer<T> turned(n * m);
  auto v = scratch<T>(none ? 0 : n * width), uh = scratch<T>(none ? 0 : m * m);
  adjoint(m, n, a, lda, turned.data(), n);
  if (const int info = jacobi_tall<T>({t.vectors, n, m, t.s, v.data(), n, uh.data(), m}, turned.data(), n))
    return info;
  if (none) return 0;
  adjoint(n, width, v.data(), n, t.vh, t.ldvh);
  adjoint(m, m, uh.data(), m, t.u, t.ldu);
  return 0;
}

template <class T>
void identity(Size n, T* a, Size lda) {
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < n; ++i) a[i + j * lda] = T(i == j ? 1 : 0);
}

}  // namespace

template <class T>
int svd_by(SvdMethod method, Vectors vectors, Size m, Size n, const T* a, Size lda, Real<T>* s, T* u, Size ldu, T* vh,
           Size ldvh) {
  if (!fit_matrix(m, n, lda) || !fit(ldu, ldvh)) return kTooLarge;
  if (m == 0 || n == 0) {
    if (vectors == Vectors::full) {
      identity(m, u, ldu);
      identity(n, vh, ldvh);
    }
    return 0;
  }
  const Target<T> target{vectors, m, n, s, u, ldu, vh, ldvh};
  if (!finite(m, n, a, lda)) return kNotFinite;
  switch (method) {
    case SvdMethod::divide: return divide(target, a, lda);
    case SvdMethod::qr: return by_qr(target, a, lda);
    case SvdMethod::jacobi: break;
  }
  return jacobi(target, a, lda);
}

template <class T>
int svd(Vectors vectors, Size m, Size n, const T* a, Size lda, Real<T>* s, T* u, Size ldu, T* vh, Size ldvh,
        SvdMethod* used) {
  const auto by = [&](SvdMethod method) {
    return [&, method] { return svd_by(method, vectors, m, n, a, lda, s, u, ldu, vh, ldvh); };
  };
  int which = 0;
  const int info = first_that_works(which, by(SvdMethod::divide), by(SvdMethod::qr));
  if (used) *used = which == 0 ? SvdMethod::divide : SvdMethod::qr;
  return info;
}

template <class T>
int svd_lower(bool vectors, Size n, T* l, Real<T>* s) {
  if (!fit_matrix(n, n, n)) return kTooLarge;
  if (n == 0) return 0;
  if (!finite(n, n, l, n)) return kNotFinite;
  Size rank = n;
  if (const int info = gesvj<T>(vectors, n, l, s, nullptr, rank)) return info;
  return vectors && rank < n ? complete(n, rank, l) : 0;
}

#define WP_INSTANTIATE(T)                                                                            \
  template int svd_lower(bool, Size, T*, Real<T>*);                                                  \
  template int svd_by(SvdMethod, Vectors, Size, Size, const T*, Size, Real<T>*, T*, Size, T*, Size); \
  template int svd(Vectors, Size, Size, const T*, Size, Real<T>*, T*, Size, T*, Size, SvdMethod*);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
