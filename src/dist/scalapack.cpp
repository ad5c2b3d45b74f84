#include "dist/scalapack.hpp"

#include <mpi.h>

#include <cmath>
#include <functional>
#include <memory>

#include "dist/scalapack_calls.hpp"
#include "dist/stage.hpp"
#include "dist/team.hpp"
#include "kernels/each_float.hpp"

namespace wp::dist::scalapack {
namespace {

// WP_CALL(getrf, T, …): psgetrf_, pdgetrf_, pcgetrf_ or pzgetrf_.
#define WP_CALL(name, T, ...)                      \
  if constexpr (std::is_same_v<T, float>)          \
    ps##name##_(__VA_ARGS__);                      \
  else if constexpr (std::is_same_v<T, double>)    \
    pd##name##_(__VA_ARGS__);                      \
  else if constexpr (std::is_same_v<T, complex64>) \
    pc##name##_(__VA_ARGS__);                      \
  else                                             \
    pz##name##_(__VA_ARGS__)
// The same with one name for real and another for complex numbers.
#define WP_CALL2(real, complex, T, ...)            \
  if constexpr (std::is_same_v<T, float>)          \
    ps##real##_(__VA_ARGS__);                      \
  else if constexpr (std::is_same_v<T, double>)    \
    pd##real##_(__VA_ARGS__);                      \
  else if constexpr (std::is_same_v<T, complex64>) \
    pc##complex##_(__VA_ARGS__);                   \
  else                                             \
    pz##complex##_(__VA_ARGS__)

constexpr int one = 1;
constexpr char lower = 'L', left = 'L', yes = 'V', no = 'N';

template <class T>
inline constexpr double kFlops = kernels::RealOf<T>::parts == 2 ? 4 : 1;  // real ones of a complex one
double share(double flops) {
  return flops / size();
}
template <class T>
char transposition(bool adjoint) {
  return !adjoint ? 'N' : kernels::RealOf<T>::parts == 2 ? 'C' : 'T';
}
int as_int(std::int64_t v) {
  return static_cast<int>(v);
}

// Memory of a routine: there on all ranks before any of them enters it, or on none.
template <class T>
class Work {
 public:
  explicit Work(std::int64_t n) {
    together([&] { memory_ = std::make_unique<kernels::Buffer<T>>(n); });
  }
  T* data() const noexcept { return memory_->data(); }

 private:
  std::unique_ptr<kernels::Buffer<T>> memory_;
};

// Asks for the size of the workspace with lwork = −1, then runs. The least that routines say is sometimes too little
// by a block (2.2.1): a block more is given.
template <class T>
int with_work(std::int64_t extra, const std::function<void(T* work, const int* lwork, int* info)>& call) {
  int info = 0, query = -1;
  T wanted[8] = {};
  call(wanted, &query, &info);
  if (info != 0) return info;
  const int lwork = static_cast<int>(std::max(1.0, static_cast<double>(std::real(wanted[0])))) + as_int(extra);
  const Work<T> work(lwork);
  call(work.data(), &lwork, &info);
  return info;
}

}  // namespace

int new_context(int rows, int columns) {
  int context = Csys2blacs_handle(world());
  Cblacs_gridinit(&context, "Row", rows, columns);
  return context;
}

template <class T>
int getrf(Local<T> a, std::vector<int>& pivots) {
  const Stage stage("p?getrf");
  const int m = as_int(a.row.n), n = as_int(a.column.n);
  pivots.assign(static_cast<std::size_t>(a.rows() + a.row.block), 0);
  int info = 0;
  WP_CALL(getrf, T, &m, &n, a.data, &one, &one, a.descriptor.data(), pivots.data(), &info);
  const double k = std::min(m, n), l = std::max(m, n);
  count_flops(share(kFlops<T> * (k * k * (l - k / 3))));
  return info;
}

template <class T>
int getrs(bool adjoint, Local<T> factors, const std::vector<int>& pivots, Local<T> x) {
  const Stage stage("p?getrs");
  const char trans = transposition<T>(adjoint);
  const int n = as_int(factors.row.n), k = as_int(x.column.n);
  int info = 0;
  WP_CALL(getrs, T, &trans, &n, &k, factors.data, &one, &one, factors.descriptor.data(), pivots.data(), x.data, &one,
          &one, x.descriptor.data(), &info, 1);
  count_flops(share(kFlops<T> * 2.0 * n * n * k));
  return info;
}

template <class T>
int getri(Local<T> factors, const std::vector<int>& pivots) {
  const Stage stage("p?getri");
  const int n = as_int(factors.row.n);
  count_flops(share(kFlops<T> * 4.0 / 3 * n * n * n));
  int info = 0, query = -1, iwanted = 0;
  T wanted[8] = {};
  WP_CALL(getri, T, &n, factors.data, &one, &one, factors.descriptor.data(), pivots.data(), wanted, &query, &iwanted,
          &query, &info);
  const int lwork = static_cast<int>(std::real(wanted[0])) + as_int(factors.row.block),
            liwork = iwanted + as_int(factors.row.block);
  const Work<T> work(lwork);
  const Work<int> iwork(liwork);
  WP_CALL(getri, T, &n, factors.data, &one, &one, factors.descriptor.data(), pivots.data(), work.data(), &lwork,
          iwork.data(), &liwork, &info);
  return info;
}

template <class T>
int potrf(Local<T> a) {
  const Stage stage("p?potrf");
  const int n = as_int(a.row.n);
  int info = 0;
  WP_CALL(potrf, T, &lower, &n, a.data, &one, &one, a.descriptor.data(), &info, 1);
  count_flops(share(kFlops<T> / 3 * n * n * n));
  return info;
}

template <class T>
int potrs(Local<T> factors, Local<T> x) {
  const Stage stage("p?potrs");
  const int n = as_int(factors.row.n), k = as_int(x.column.n);
  int info = 0;
  WP_CALL(potrs, T, &lower, &n, &k, factors.data, &one, &one, factors.descriptor.data(), x.data, &one, &one,
          x.descriptor.data(), &info, 1);
  count_flops(share(kFlops<T> * 2.0 * n * n * k));
  return info;
}

template <class T>
int potri(Local<T> factors) {
  const Stage stage("p?potri");
  const int n = as_int(factors.row.n);
  int info = 0;
  WP_CALL(potri, T, &lower, &n, factors.data, &one, &one, factors.descriptor.data(), &info, 1);
  count_flops(share(kFlops<T> * 2.0 / 3 * n * n * n));
  return info;
}

template <class T>
int trtrs(bool upper, bool adjoint, bool unit, Local<T> a, Local<T> x, std::int64_t order) {
  const Stage stage("p?trtrs");
  const char uplo = upper ? 'U' : 'L', trans = transposition<T>(adjoint), diag = unit ? 'U' : 'N';
  const int n = as_int(order), k = as_int(x.column.n);
  int info = 0;
  WP_CALL(trtrs, T, &uplo, &trans, &diag, &n, &k, a.data, &one, &one, a.descriptor.data(), x.data, &one, &one,
          x.descriptor.data(), &info, 1, 1, 1);
  count_flops(share(kFlops<T> * n * n * k));
  return info;
}

template <class T>
int trtri(bool upper, Local<T> a) {
  const Stage stage("p?trtri");
  const char uplo = upper ? 'U' : 'L';
  const int n = as_int(a.row.n);
  int info = 0;
  WP_CALL(trtri, T, &uplo, &no, &n, a.data, &one, &one, a.descriptor.data(), &info, 1, 1);
  count_flops(share(kFlops<T> / 3 * n * n * n));
  return info;
}

template <class T>
int geqrf(Local<T> a, std::vector<T>& tau) {
  const Stage stage("p?geqrf");
  const int m = as_int(a.row.n), n = as_int(a.column.n);
  tau.assign(static_cast<std::size_t>(a.columns() + a.column.block), T(0));
  const double k = std::min(m, n), l = std::max(m, n);
  count_flops(share(kFlops<T> * 2 * k * k * (l - k / 3)));
  return with_work<T>(a.row.block, [&](T* work, const int* lwork, int* info) {
    WP_CALL(geqrf, T, &m, &n, a.data, &one, &one, a.descriptor.data(), tau.data(), work, lwork, info);
  });
}

template <class T>
int apply_q(bool adjoint, std::int64_t reflectors, Local<T> a, const std::vector<T>& tau, Local<T> c) {
  const Stage stage("p?ormqr");
  const char trans = transposition<T>(adjoint);
  const int m = as_int(c.row.n), n = as_int(c.column.n), k = as_int(reflectors);
  count_flops(share(kFlops<T> * 4.0 * m * n * k));
  return with_work<T>(a.row.block * a.row.block, [&](T* work, const int* lwork, int* info) {
    WP_CALL2(ormqr, unmqr, T, &left, &trans, &m, &n, &k, a.data, &one, &one, a.descriptor.data(), tau.data(), c.data,
             &one, &one, c.descriptor.data(), work, lwork, info, 1, 1);
  });
}

template <class T>
int make_q(std::int64_t reflectors, Local<T> a, const std::vector<T>& tau) {
  const Stage stage("p?orgqr");
  const int m = as_int(a.row.n), n = as_int(a.column.n), k = as_int(reflectors);
  count_flops(share(kFlops<T> * (4.0 * m * n * k - 2.0 * (m + n) * k * k + 4.0 / 3 * k * k * k)));
  return with_work<T>(a.row.block * a.row.block, [&](T* work, const int* lwork, int* info) {
    WP_CALL2(orgqr, ungqr, T, &m, &n, &k, a.data, &one, &one, a.descriptor.data(), tau.data(), work, lwork, info);
  });
}

template <class T>
int gesvd(Local<T> a, std::vector<Real<T>>& s, Local<T>* u, Local<T>* vh) {
  const Stage stage("p?gesvd");
  const int m = as_int(a.row.n), n = as_int(a.column.n);
  const char job = u ? yes : no;
  s.assign(static_cast<std::size_t>(std::min(m, n)), 0);
  std::vector<Real<T>> rwork(static_cast<std::size_t>(1 + 4 * std::max(m, n)));
  T none[1] = {};
  const int* const du = u ? u->descriptor.data() : a.descriptor.data();
  const int* const dv = vh ? vh->descriptor.data() : a.descriptor.data();
  T* const pu = u ? u->data : none;
  T* const pv = vh ? vh->data : none;
  const double k = std::min(m, n), l = std::max(m, n);
  count_flops(share(kFlops<T> * (u ? 22 : 4) * l * k * k));
  return with_work<T>(4 * a.row.block * a.row.block, [&](T* work, const int* lwork, int* info) {
    if constexpr (kernels::RealOf<T>::parts == 2) {
      WP_CALL(gesvd, T, &job, &job, &m, &n, a.data, &one, &one, a.descriptor.data(), s.data(), pu, &one, &one, du, pv,
              &one, &one, dv, work, lwork, rwork.data(), info, 1, 1);
    } else {
      WP_CALL(gesvd, T, &job, &job, &m, &n, a.data, &one, &one, a.descriptor.data(), s.data(), pu, &one, &one, du, pv,
              &one, &one, dv, work, lwork, info, 1, 1);
    }
  });
}

template <class T>
int eigh(Local<T> a, std::vector<Real<T>>& w, Local<T>& z) {
  const Stage stage("p?syevd");
  const int n = as_int(a.row.n);
  w.assign(static_cast<std::size_t>(n), 0);
  count_flops(share(kFlops<T> * 9.0 * n * n * n));
  int info = 0, query = -1, iwanted[4] = {};
  T wanted[8] = {};
  [[maybe_unused]] Real<T> rwanted[8] = {};
  const auto call = [&](T* work, const int* lwork, Real<T>* rwork, const int* lrwork, int* iwork, const int* liwork) {
    if constexpr (kernels::RealOf<T>::parts == 2) {
      WP_CALL2(heevd, heevd, T, &yes, &lower, &n, a.data, &one, &one, a.descriptor.data(), w.data(), z.data, &one,
               &one, z.descriptor.data(), work, lwork, rwork, lrwork, iwork, liwork, &info, 1, 1);
    } else {
      WP_CALL2(syevd, syevd, T, &yes, &lower, &n, a.data, &one, &one, a.descriptor.data(), w.data(), z.data, &one,
               &one, z.descriptor.data(), work, lwork, iwork, liwork, &info, 1, 1);
    }
  };
  call(wanted, &query, rwanted, &query, iwanted, &query);
  if (info != 0) return info;
  // What the query says is less than p?ormtr needs, which then leaves the vectors of the tridiagonal matrix.
  const int block = as_int(a.row.block), extra = block * as_int(a.rows() + a.columns() + 4 * block) + 2 * n;
  const int lwork = static_cast<int>(std::real(wanted[0])) + extra, lrwork = static_cast<int>(rwanted[0]) + extra,
            liwork = iwanted[0] + 8 * n + 2 * block;
  const Work<T> work(lwork);
  const Work<Real<T>> rwork(lrwork);
  const Work<int> iwork(liwork);
  call(work.data(), &lwork, rwork.data(), &lrwork, iwork.data(), &liwork);
  return info;
}

template <class T>
void gemm(bool adjoint_a, bool adjoint_b, T alpha, Local<T> a, Local<T> b, T beta, Local<T> c) {
  const Stage stage("p?gemm");
  const char ta = transposition<T>(adjoint_a), tb = transposition<T>(adjoint_b);
  const int m = as_int(c.row.n), n = as_int(c.column.n), k = as_int(adjoint_a ? a.row.n : a.column.n);
  WP_CALL(gemm, T, &ta, &tb, &m, &n, &k, &alpha, a.data, &one, &one, a.descriptor.data(), b.data, &one, &one,
          b.descriptor.data(), &beta, c.data, &one, &one, c.descriptor.data());
  count_flops(share(kFlops<T> * 2.0 * m * n * k));
}

template <class T>
void transpose(bool conjugate, Local<T> a, Local<T> to) {
  const Stage stage("p?tran");
  const int m = as_int(to.row.n), n = as_int(to.column.n);
  const T unit(1), zero(0);
  if (m == 0 || n == 0) return;
  if constexpr (kernels::RealOf<T>::parts == 2) {
    if (conjugate) {
      WP_CALL2(tranc, tranc, T, &m, &n, &unit, a.data, &one, &one, a.descriptor.data(), &zero, to.data, &one, &one,
               to.descriptor.data());
    } else {
      WP_CALL2(tranu, tranu, T, &m, &n, &unit, a.data, &one, &one, a.descriptor.data(), &zero, to.data, &one, &one,
               to.descriptor.data());
    }
  } else {
    WP_CALL2(tran, tran, T, &m, &n, &unit, a.data, &one, &one, a.descriptor.data(), &zero, to.data, &one, &one,
             to.descriptor.data());
  }
}

template <class T>
void redistribute(std::int64_t rows, std::int64_t columns, Local<T> a, Corner from, Local<T> to, Corner into,
                  int context) {
  const Stage stage("p?gemr2d");
  const int m = as_int(rows), n = as_int(columns), ia = as_int(from.row) + 1, ja = as_int(from.column) + 1,
            ib = as_int(into.row) + 1, jb = as_int(into.column) + 1;
  if (m == 0 || n == 0) return;
  WP_CALL(gemr2d, T, &m, &n, a.data, &ia, &ja, a.descriptor.data(), to.data, &ib, &jb, to.descriptor.data(),
          &context);
}

#define WP_INSTANTIATE(T)                                                              \
  template int getrf(Local<T>, std::vector<int>&);                                     \
  template int getrs(bool, Local<T>, const std::vector<int>&, Local<T>);               \
  template int getri(Local<T>, const std::vector<int>&);                               \
  template int potrf(Local<T>);                                                        \
  template int potrs(Local<T>, Local<T>);                                              \
  template int potri(Local<T>);                                                        \
  template int trtrs(bool, bool, bool, Local<T>, Local<T>, std::int64_t);              \
  template int trtri(bool, Local<T>);                                                  \
  template int geqrf(Local<T>, std::vector<T>&);                                       \
  template int apply_q(bool, std::int64_t, Local<T>, const std::vector<T>&, Local<T>); \
  template int make_q(std::int64_t, Local<T>, const std::vector<T>&);                  \
  template int gesvd(Local<T>, std::vector<Real<T>>&, Local<T>*, Local<T>*);           \
  template int eigh(Local<T>, std::vector<Real<T>>&, Local<T>&);                       \
  template void gemm(bool, bool, T, Local<T>, Local<T>, T, Local<T>);                  \
  template void transpose(bool, Local<T>, Local<T>);                                   \
  template void redistribute(std::int64_t, std::int64_t, Local<T>, Corner, Local<T>, Corner, int);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::dist::scalapack
