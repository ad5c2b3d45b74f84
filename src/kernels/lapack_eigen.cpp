#include <algorithm>

#include "kernels/lapack_call.hpp"

namespace wp::lapack {

extern "C" {
#define WP_OF(p, T)                                                                                                 \
  void p##geevx_(const char* balance, const char* job_l, const char* job_r, const char* sense, const Int* n, T* a,  \
                 const Int* lda, T* wr, T* wi, T* vl, const Int* ldvl, T* vr, const Int* ldvr, Int* ilo, Int* ihi,  \
                 T* scale, T* norm, T* rconde, T* rcondv, T* work, const Int* lwork, Int* iwork, Int* info, Length, \
                 Length, Length, Length);
WP_OF(s, float)
WP_OF(d, double)
#undef WP_OF
#define WP_OF(p, R, T)                                                                                               \
  void p##geevx_(const char* balance, const char* job_l, const char* job_r, const char* sense, const Int* n, T* a,   \
                 const Int* lda, T* w, T* vl, const Int* ldvl, T* vr, const Int* ldvr, Int* ilo, Int* ihi, R* scale, \
                 R* norm, R* rconde, R* rcondv, T* work, const Int* lwork, R* rwork, Int* info, Length, Length,      \
                 Length, Length);
WP_OF(c, float, std::complex<float>)
WP_OF(z, double, std::complex<double>)
#undef WP_OF
}

namespace {

// LAPACK gives a conjugate pair of vectors as two real columns: x ± iy.
template <class R>
void unpack_vectors(Size n, const R* imaginary, const R* packed, std::complex<R>* v, Size ldv) {
  for (Size j = 0; j < n; ++j) {
    const R* const x = packed + j * n;
    const bool pair = imaginary[j] > 0 && j + 1 < n;
    for (Size i = 0; i < n; ++i) {
      v[i + j * ldv] = {x[i], pair ? x[i + n] : R(0)};
      if (pair) v[i + (j + 1) * ldv] = {x[i], -x[i + n]};
    }
    j += pair;
  }
}

// What to compute, and the memory beside the workspace.
template <class T>
struct Plan {
  bool values, vectors, left, right;
  Plan(const EigOutputs<T>& out)
      : values(out.value_rcond),
        vectors(out.vector_rcond),
        left(out.left || values),  // the condition of values needs both sides
        right(out.right || values) {}
  char sense() const { return values ? (vectors ? 'B' : 'E') : vectors ? 'V' : 'N'; }
  Size least(Size n) const {
    return (is_complex<T> ? 2 : vectors ? 6 : left || right ? 4 : 3) * n + (vectors ? n * n : 0);
  }
};

// Vectors go to vl and vr (n × n each, packed for real T).
template <class T>
int geevx(Balance balance, const Plan<T>& plan, Size n, T* a, Complex<T>* w, Real<T>* parts, T* vl, T* vr,
          const EigOutputs<T>& out) {
  Buffer<Real<T>> scale(n), reals(2 * n), rconde(n), rcondv(n);
  Buffer<Int> integers(2 * n);
  Int ilo = 0, ihi = 0;
  Real<T> norm = 0;
  const char job_l = plan.left ? 'V' : 'N', job_r = plan.right ? 'V' : 'N', how = static_cast<char>(balance);
  const auto f = pick<T>(sgeevx_, dgeevx_, cgeevx_, zgeevx_);
  const int info = with_work<T>(plan.least(n), [&](T* work, Int lwork) {
    const auto run = [&](auto* last, auto*... values) {
      return call(f, how, job_l, job_r, plan.sense(), n, a, n, values..., vl, n, vr, n, &ilo, &ihi, scale.data(),
                  &norm, rconde.data(), rcondv.data(), work, lwork, last);
    };
    if constexpr (is_complex<T>)
      return run(reals.data(), w);
    else
      return run(integers.data(), parts, parts + n);
  });
  if (info < 0) return info;
  if constexpr (!is_complex<T>)
    for (Size i = 0; i < n; ++i) w[i] = {parts[i], parts[n + i]};
  if (out.balanced) {
    *out.balanced = {ilo - 1, ihi, norm};
    std::vector<Size>& order = out.balanced->order;
    for (Size i = 0; i < n; ++i) order.push_back(i);
    const auto exchange = [&](Size i) {  // gebal: from the last to ihi, then from the first to ilo
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(scale.data()[i] - 1)]);
    };
    for (Size i = n - 1; i >= ihi; --i) exchange(i);
    for (Size i = 0; i < ilo - 1; ++i) exchange(i);
    if (const auto [low, high] = std::minmax_element(scale.data() + ilo - 1, scale.data() + ihi); ihi >= ilo)
      out.balanced->spread = *high / *low;
  }
  if (out.value_rcond) std::copy_n(rconde.data(), n, out.value_rcond);
  if (out.vector_rcond) std::copy_n(rcondv.data(), n, out.vector_rcond);
  return info;
}

}  // namespace

template <class T>
int eig(Balance balance, Size n, const T* a, Size lda, Complex<T>* w, const EigOutputs<T>& out) {
  if (!fit_matrix(n, n, lda)) return kTooLarge;
  if (n == 0) return 0;
  const Plan<T> plan(out);
  if (!fit(plan.least(n))) return kTooLarge;
  if (!finite(n, n, a, lda)) return kNotFinite;
  Buffer<T> copied(n * n);
  copy(n, n, a, lda, copied.data(), n);
  auto vl = scratch<T>(plan.left ? n * n : 0), vr = scratch<T>(plan.right ? n * n : 0);
  Buffer<Real<T>> parts(2 * n);
  const int info = geevx(balance, plan, n, copied.data(), w, parts.data(), vl.data(), vr.data(), out);
  if (info != 0) return info;
  const auto give = [&](T* from, Complex<T>* to, Size ld) {
    if (!to) return;
    if constexpr (is_complex<T>)
      copy(n, n, from, n, to, ld);
    else
      unpack_vectors(n, parts.data() + n, from, to, ld);
  };
  give(vl.data(), out.left, out.ld_left);
  give(vr.data(), out.right, out.ld_right);
  return 0;
}

#define WP_INSTANTIATE(T) template int eig(Balance, Size, const T*, Size, Complex<T>*, const EigOutputs<T>&);
WP_LAPACK_TYPES(WP_INSTANTIATE)
#undef WP_INSTANTIATE

}  // namespace wp::lapack
