#include "kernels/blas.hpp"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kernels/each_float.hpp"
#include "kernels/gate.hpp"

using Int = int;  // Fortran INTEGER
extern "C" {
#define WP_BLAS_OF(p, T)                                                                                           \
  void p##gemm_(const char* ta, const char* tb, const Int* m, const Int* n, const Int* k, const T* alpha,          \
                const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, const Int* ldc);      \
  void p##gemv_(const char* t, const Int* m, const Int* n, const T* alpha, const T* a, const Int* lda, const T* x, \
                const Int* incx, const T* beta, T* y, const Int* incy);
WP_BLAS_OF(s, float)
WP_BLAS_OF(d, double)
WP_BLAS_OF(c, std::complex<float>)
WP_BLAS_OF(z, std::complex<double>)
#undef WP_BLAS_OF
float sdot_(const Int* n, const float* x, const Int* incx, const float* y, const Int* incy);
double ddot_(const Int* n, const double* x, const Int* incx, const double* y, const Int* incy);
// Of OpenBLAS. Another BLAS may not have them; a weak reference would not take them out of the static library.
#ifdef WP_STATIC_OPENBLAS
#define WP_MAYBE
#else
#define WP_MAYBE [[gnu::weak]]
#endif
WP_MAYBE void gotoblas_init();
WP_MAYBE void gotoblas_dynamic_init();
WP_MAYBE void gotoblas_dynamic_quit();
WP_MAYBE void openblas_set_num_threads(int n);
WP_MAYBE char* openblas_get_corename();
WP_MAYBE char* openblas_get_config();
}

namespace wp::blas {
namespace {

// ---- the right core
// ------------------------------------------------------------------------------------------------- OpenBLAS picks
// its kernels by a list of CPU models; a CPU younger than the list gets kernels of 2004. It reads OPENBLAS_CORETYPE
// once, when it starts. So it is started here, before its own constructor and before anybody's, and started again
// with a name if its choice is below what the CPU has. Variables are put back at once: other copies of OpenBLAS in
// the process (NumPy's) read them too.
CoreChoice choice = CoreChoice::own;

template <class F>
bool has(F* function) noexcept {
  return function != nullptr;
}

struct Variable {
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      had_ = true;
      old_ = old;
    }
    setenv(name, value, 1);
  }
  ~Variable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

// 2: AVX-512 kernels, 1: AVX2 with FMA, 0: older.
int core_level(std::string_view core) {
  const auto among = [&](auto... names) { return ((core == names) || ...); };
  if (among("SkylakeX", "Cooperlake", "Sapphirerapids")) return 2;
  return among("Haswell", "Zen", "Excavator") ? 1 : 0;
}
int cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return wide ? 2 : 1;
#else
  return 0;
#endif
}

[[gnu::constructor(101)]] void start() {
  if (!has(openblas_get_corename)) return;
  {
    const Variable one("OPENBLAS_NUM_THREADS", "1");  // no threads of its own
    if (has(gotoblas_init)) gotoblas_init();
  }
  if (has(openblas_set_num_threads)) openblas_set_num_threads(1);
  const char* const user = std::getenv("OPENBLAS_CORETYPE");
  if (user && *user) {
    choice = CoreChoice::user;
    return;
  }
  if (!core_is_older()) return;
  if (has(gotoblas_dynamic_init) && has(gotoblas_dynamic_quit)) {
    const Variable name("OPENBLAS_CORETYPE", cpu_level() == 2 ? "SKYLAKEX" : "HASWELL");
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
  }
  choice = core_is_older() ? CoreChoice::wrong : CoreChoice::corrected;
}

// ---- calls
// ----------------------------------------------------------------------------------------------------------
constexpr std::int64_t kMaxInt = std::numeric_limits<Int>::max();
Int small(std::int64_t v) {
  return static_cast<Int>(v);
}

// A view as Fortran sees it: column-major with leading dimension ld, or the transpose of that.
struct Layout {
  bool transposed;
  Int ld;
};
template <class T>
bool is_column_major(const Matrix<T>& a, std::int64_t m, std::int64_t n) {
  return (a.rows == 1 || m <= 1) && (n <= 1 || a.columns >= std::max<std::int64_t>(m, 1));
}
template <class T>
Layout layout(const Matrix<T>& a, std::int64_t m, std::int64_t n) {
  if (is_column_major(a, m, n)) return {false, small(n <= 1 ? std::max<std::int64_t>(m, 1) : a.columns)};
  return {true, small(m <= 1 ? std::max<std::int64_t>(n, 1) : a.rows)};
}

template <class T>
constexpr auto gemm_of() {
  if constexpr (std::is_same_v<T, float>)
    return sgemm_;
  else if constexpr (std::is_same_v<T, double>)
    return dgemm_;
  else if constexpr (std::is_same_v<T, complex64>)
    return cgemm_;
  else
    return zgemm_;
}
template <class T>
constexpr auto gemv_of() {
  if constexpr (std::is_same_v<T, float>)
    return sgemv_;
  else if constexpr (std::is_same_v<T, double>)
    return dgemv_;
  else if constexpr (std::is_same_v<T, complex64>)
    return cgemv_;
  else
    return zgemv_;
}

// Fortran walks a vector with a negative step from its lowest address.
template <class T>
T* lowest(T* x, std::int64_t n, std::int64_t stride) {
  return stride < 0 ? x + (n - 1) * stride : x;
}

}  // namespace

template <class T>
bool fits(const Matrix<T>& a, std::int64_t m, std::int64_t n) noexcept {
  if (m > kMaxInt || n > kMaxInt || a.rows > kMaxInt || a.columns > kMaxInt) return false;
  return is_column_major(a, m, n) || is_column_major(Matrix<T>{a.data, a.columns, a.rows}, n, m);
}

template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, T alpha, Matrix<const T> a, Matrix<const T> b, T beta,
          Matrix<T> c) {
  const Layout lc = layout(c, m, n);
  if (lc.transposed) {  // Cᵀ = Bᵀ·Aᵀ
    std::swap(m, n);
    std::swap(a, b);
    std::swap(a.rows, a.columns);
    std::swap(b.rows, b.columns);
  }
  const Layout la = layout(a, m, k), lb = layout(b, k, n);
  const char ta = la.transposed ? 'T' : 'N', tb = lb.transposed ? 'T' : 'N';
  const Int fm = small(m), fn = small(n), fk = small(k);
  const Gate gate;
  gemm_of<T>()(&ta, &tb, &fm, &fn, &fk, &alpha, a.data, &la.ld, b.data, &lb.ld, &beta, c.data, &lc.ld);
}

template <class T>
void gemv(std::int64_t m, std::int64_t n, T alpha, Matrix<const T> a, const T* x, std::int64_t x_stride, T beta, T* y,
          std::int64_t y_stride) {
  const Layout la = layout(a, m, n);
  const char ta = la.transposed ? 'T' : 'N';
  const Int fm = small(la.transposed ? n : m), fn = small(la.transposed ? m : n);
  const Int incx = small(x_stride), incy = small(y_stride);
  const Gate gate;
  gemv_of<T>()(&ta, &fm, &fn, &alpha, a.data, &la.ld, lowest(x, n, x_stride), &incx, &beta, lowest(y, m, y_stride),
               &incy);
}

// Fortran's complex functions return their value by more than one convention: a row times a column instead.
template <class T>
T dot(std::int64_t n, const T* x, std::int64_t x_stride, const T* y, std::int64_t y_stride) {
  if (n <= 0) return T(0);
  const Int fn = small(n), incx = small(x_stride), incy = small(y_stride);
  const Gate gate;
  if constexpr (std::is_same_v<T, float>) {
    return sdot_(&fn, lowest(x, n, x_stride), &incx, lowest(y, n, y_stride), &incy);
  } else if constexpr (std::is_same_v<T, double>) {
    return ddot_(&fn, lowest(x, n, x_stride), &incx, lowest(y, n, y_stride), &incy);
  } else {
    if (x_stride < 0) {  // from the other end
      x += (n - 1) * x_stride;
      y += (n - 1) * y_stride;
      x_stride = -x_stride;
      y_stride = -y_stride;
    }
    T value(0);
    gemv<T>(1, n, T(1), {x, 1, x_stride}, y, y_stride, T(0), &value, 1);
    return value;
  }
}

#define WP_INSTANTIATE(T)                                                                                          \
  template bool fits(const Matrix<T>&, std::int64_t, std::int64_t) noexcept;                                       \
  template bool fits(const Matrix<const T>&, std::int64_t, std::int64_t) noexcept;                                 \
  template void gemm(std::int64_t, std::int64_t, std::int64_t, T, Matrix<const T>, Matrix<const T>, T, Matrix<T>); \
  template void gemv(std::int64_t, std::int64_t, T, Matrix<const T>, const T*, std::int64_t, T, T*, std::int64_t); \
  template T dot(std::int64_t, const T*, std::int64_t, const T*, std::int64_t);
WP_FOR_FLOATS(WP_INSTANTIATE)
#undef WP_INSTANTIATE

std::string core_name() {
  return has(openblas_get_corename) ? openblas_get_corename() : "";
}
std::string config() {
  return has(openblas_get_config) ? openblas_get_config() : "";
}
CoreChoice core_choice() noexcept {
  return choice;
}
bool core_is_older() {
  return has(openblas_get_corename) && core_level(openblas_get_corename()) < cpu_level();
}

}  // namespace wp::blas

#ifdef WP_STATIC_OPENBLAS
// OpenBLAS runs on the calling thread only (start). Its threaded gemv would bring 60 KiB of thread-local memory, for
// which there is no room when the library is loaded by dlopen, as Python does: these stand in its place and are never
// called.
extern "C" {
#define WP_NEVER_CALLED(name) \
  [[noreturn]] void name() {  \
    std::abort();             \
  }
WP_NEVER_CALLED(sgemv_thread_n)
WP_NEVER_CALLED(dgemv_thread_n)
WP_NEVER_CALLED(cgemv_thread_n)
WP_NEVER_CALLED(cgemv_thread_r)
WP_NEVER_CALLED(cgemv_thread_o)
WP_NEVER_CALLED(cgemv_thread_s)
WP_NEVER_CALLED(zgemv_thread_n)
WP_NEVER_CALLED(zgemv_thread_r)
WP_NEVER_CALLED(zgemv_thread_o)
WP_NEVER_CALLED(zgemv_thread_s)
#undef WP_NEVER_CALLED
}
#endif
