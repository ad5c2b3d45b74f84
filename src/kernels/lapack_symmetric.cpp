#include "kernels/householder.hpp"
#include "kernels/lapack_call.hpp"
#include "kernels/tridiagonal.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, T)                                                                                                  \
  void p##syevd_(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* w, T* work,               \
                 const Int* lwork, Int* iwork, const Int* liwork, Int* info, Length, Length);                        \
  void p##syevr_(const char* job, const char* range, const char* uplo, const Int* n, T* a, const Int* lda,           \
                 const T* vl, const T* vu, const Int* il, const Int* iu, const T* tolerance, Int* found, T* w, T* z, \
                 const Int* ldz, Int* support, T* work, const Int* lwork, Int* iwork, const Int* liwork, Int* info,  \
                 Length, Length, Length);                                                                            \
  void p##syev_(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* w, T* work,                \
                const Int* lwork, Int* info, Length, Length);                                                        \
  void p##sygvd_(const Int* type, const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* b,       \
                 const Int* ldb, T* w, T* work, const Int* lwork, Int* iwork, const Int* liwork, Int* info, Length,  \
                 Length);                                                                                            \
  void p##sterf_(const Int* n, T* d, T* e, Int* info);                                                               \
  void p##stedc_(const char* job, const Int* n, T* d, T* e, T* z, const Int* ldz, T* work, const Int* lwork,         \
                 Int* iwork, const Int* liwork, Int* info, Length);
WP_OF(s, float)
WP_OF(d, double)
#undef WP_OF
#define WP_OF(p, R, T)                                                                                               \
  void p##heevd_(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, R* w, T* work,               \
                 const Int* lwork, R* rwork, const Int* lrwork, Int* iwork, const Int* liwork, Int* info, Length,    \
                 Length);                                                                                            \
  void p##heevr_(const char* job, const char* range, const char* uplo, const Int* n, T* a, const Int* lda,           \
                 const R* vl, const R* vu, const Int* il, const Int* iu, const R* tolerance, Int* found, R* w, T* z, \
                 const Int* ldz, Int* support, T* work, const Int* lwork, R* rwork, const Int* lrwork, Int* iwork,   \
                 const Int* liwork, Int* info, Length, Length, Length);                                              \
  void p##heev_(const char* job, const char* uplo, const Int* n, T* a, const Int* lda, R* w, T* work,                \
                const Int* lwork, R* rwork, Int* info, Length, Length);                                              \
  void p##hegvd_(const Int* type, const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* b,       \
                 const Int* ldb, R* w, T* work, const Int* lwork, R* rwork, const Int* lrwork, Int* iwork,           \
                 const Int* liwork, Int* info, Length, Length);
WP_OF(c, float, std::complex<float>)
WP_OF(z, double, std::complex<double>)
#undef WP_OF
}

namespace {

// What the divide-and-conquer routines ask for.
template <class T>
struct DivideLengths {
  Size work, reals, integers;
  DivideLengths(bool vectors, Size n)
      : work(is_complex<T> ? (vectors ? 2 * n + n * n : n + 1) : (vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1)),
        reals(!is_complex<T> ? 0
              : vectors      ? 1 + 5 * n + 2 * n * n
                             : n),
        integers(vectors ? 3 + 5 * n : 1) {}
};

// A becomes Z.
template <class T>
int divide(bool vectors, char uplo, Size n, T* a, Size lda, Real<T>* w) {
  const DivideLengths<T> need(vectors, n);
  if (!fit(need.work, need.reals)) return kTooLarge;
  auto reals = scratch<Real<T>>(need.reals);
  Buffer<Int> integers(need.integers);
  const char job = vectors ? 'V' : 'N';
  const auto syevd = pick<T>(ssyevd_, dsyevd_, cheevd_, zheevd_);
  return with_work<T>(need.work, [&](T* work, Int lwork) {
    if constexpr (is_complex<T>)
      return call(syevd, job, uplo, n, a, lda, w, work, lwork, reals.data(), need.reals, integers.data(),
                  need.integers);
    else
      return call(syevd, job, uplo, n, a, lda, w, work, lwork, integers.data(), need.integers);
  });
}

// The steps of syevd, those that take most of the time on the pool. A is destroyed.
template <class T>
int divide_on_pool(Size n, T* a, T* w, T* z, Size ldz) {
  const Size length = 1 + 4 * n + n * n, integer_count = 3 + 5 * n;
  if (!fit(length)) return kTooLarge;
  Buffer<T> e(n), tau(n);
  kernels::tridiagonalise(n, a, n, w, e.data(), tau.data());
  if (!z) return call(pick<T>(ssterf_, dsterf_, nullptr, nullptr), n, w, e.data());
  {
    Buffer<T> work(length);
    Buffer<Int> integers(integer_count);
    const int info = call(pick<T>(sstedc_, dstedc_, nullptr, nullptr), 'I', n, w, e.data(), z, ldz, work.data(),
                          length, integers.data(), integer_count);
    if (info != 0) return info;
  }
  kernels::apply_householder<T>(n - 1, n, n - 1, a + 1, n, tau.data(), {z + 1, 1, ldz});
  return 0;
}

template <class T>
T largest_below(Size n, const T* a) {
  T largest = 0;
  for (Size j = 0; j < n; ++j)
    for (Size i = j; i < n; ++i) largest = std::max(largest, std::abs(a[i + j * n]));
  return largest;
}

// A is destroyed; an incomplete set of values counts as not converged.
template <class T>
int relative(char uplo, Size n, T* a, Size lda, Real<T>* w, T* z, Size ldz) {
  const Size least = (is_complex<T> ? 2 : 26) * n, real_count = is_complex<T> ? 24 * n : 1, integer_count = 10 * n;
  if (!fit(least, real_count)) return kTooLarge;
  Buffer<Real<T>> reals(real_count);
  Buffer<Int> integers(integer_count), support(2 * n);
  const Real<T> zero = 0;
  Int found = 0;
  const char job = z ? 'V' : 'N';
  const auto syevr = pick<T>(ssyevr_, dsyevr_, cheevr_, zheevr_);
  const int info = with_work<T>(least, [&](T* work, Int lwork) {
    const auto run = [&](auto... more) {
      return call(syevr, job, 'A', uplo, n, a, lda, zero, zero, Int{0}, Int{0}, zero, &found, w, z, z ? ldz : Size{1},
                  support.data(), work, lwork, more..., integers.data(), integer_count);
    };
    if constexpr (is_complex<T>)
      return run(reals.data(), real_count);
    else
      return run();
  });
  return info == 0 && found < n ? 1 : info;
}

// A becomes Z.
template <class T>
int by_qr(bool vectors, char uplo, Size n, T* a, Size lda, Real<T>* w) {
  auto reals = scratch<Real<T>>(is_complex<T> ? 3 * n : 0);
  const char job = vectors ? 'V' : 'N';
  const auto syev = pick<T>(ssyev_, dsyev_, cheev_, zheev_);
  return with_work<T>(is_complex<T> ? 2 * n : 3 * n, [&](T* work, Int lwork) {
    if constexpr (is_complex<T>)
      return call(syev, job, uplo, n, a, lda, w, work, lwork, reals.data());
    else
      return call(syev, job, uplo, n, a, lda, w, work, lwork);
  });
}

}  // namespace

template <class T>
int eigh_by(EighMethod method, Triangle triangle, Size n, const T* a, Size lda, Real<T>* w, T* z, Size ldz) {
  if (!fit_matrix(n, n, lda) || !fit(ldz)) return kTooLarge;
  if (n == 0) return 0;
  if (method == EighMethod::divide && !fit(DivideLengths<T>(z, n).work, DivideLengths<T>(z, n).reals))
    return kTooLarge;
  if (!finite(triangle, n, a, lda)) return kNotFinite;
  if constexpr (!is_complex<T>)
    if (method == EighMethod::divide && n >= kOnPool) {
      Buffer<T> lower(n * n);
      triangle == Triangle::lower ? copy(n, n, a, lda, lower.data(), n) : adjoint(n, n, a, lda, lower.data(), n);
      if (moderate(largest_below(n, lower.data()))) return divide_on_pool(n, lower.data(), w, z, ldz);
    }
  const bool inside = z && method != EighMethod::relative;  // the copy of A becomes Z
  auto copied = scratch<T>(inside ? 0 : n * n);
  T* const work = inside ? z : copied.data();
  const Size ld = inside ? ldz : n;
  copy(n, n, a, lda, work, ld);
  const char uplo = static_cast<char>(triangle);
  switch (method) {
    case EighMethod::divide: return divide(z != nullptr, uplo, n, work, ld, w);
    case EighMethod::qr: return by_qr(z != nullptr, uplo, n, work, ld, w);
    case EighMethod::relative: break;
  }
  return relative(uplo, n, work, ld, w, z, ldz);
}

template <class T>
int eigh(Triangle triangle, Size n, const T* a, Size lda, Real<T>* w, T* z, Size ldz, EighMethod* used) {
  const auto by = [&](EighMethod method) {
    return [&, method] { return eigh_by(method, triangle, n, a, lda, w, z, ldz); };
  };
  int which = 0;
  const int info = first_that_works(which, by(EighMethod::divide), by(EighMethod::qr));
  if (used) *used = static_cast<EighMethod>(which);
  return info;
}

template <class T>
int eigh_generalised(bool vectors, Triangle triangle, Size n, T* a, Size lda, T* b, Size ldb, Real<T>* w) {
  if (!fit_matrix(n, n, lda) || !fit(ldb)) return kTooLarge;
  if (n == 0) return 0;
  const DivideLengths<T> need(vectors, n);
  if (!fit(need.work, need.reals)) return kTooLarge;
  if (!finite(triangle, n, a, lda) || !finite(triangle, n, b, ldb)) return kNotFinite;
  auto reals = scratch<Real<T>>(need.reals);
  Buffer<Int> integers(need.integers);
  const char job = vectors ? 'V' : 'N', uplo = static_cast<char>(triangle);
  const auto sygvd = pick<T>(ssygvd_, dsygvd_, chegvd_, zhegvd_);
  return with_work<T>(need.work, [&](T* work, Int lwork) {
    if constexpr (is_complex<T>)
      return call(sygvd, Int{1}, job, uplo, n, a, lda, b, ldb, w, work, lwork, reals.data(), need.reals,
                  integers.data(), need.integers);
    else
      return call(sygvd, Int{1}, job, uplo, n, a, lda, b, ldb, w, work, lwork, integers.data(), need.integers);
  });
}

#define WP_INSTANTIATE(T)                                                               \
  template int eigh_by(EighMethod, Triangle, Size, const T*, Size, Real<T>*, T*, Size); \
  template int eigh(Triangle, Size, const T*, Size, Real<T>*, T*, Size, EighMethod*);   \
  template int eigh_generalised(bool, Triangle, Size, T*, Size, T*, Size, Real<T>*);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
