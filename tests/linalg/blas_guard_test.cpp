// Vectors whose memory ends where nothing is mapped: OpenBLAS itself reads behind them and dies
// (kernels/blas_guard.cpp).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <complex>
#include <cstdint>

namespace {

using Int = std::int32_t;
using Length = std::size_t;
using C = std::complex<float>;
using Z = std::complex<double>;

extern "C" {
#define WP_OF(gemv, hemv, trsv, T)                                                                                   \
  void gemv(const char*, const Int*, const Int*, const T*, const T*, const Int*, const T*, const Int*, const T*, T*, \
            const Int*, Length);                                                                                     \
  void hemv(const char*, const Int*, const T*, const T*, const Int*, const T*, const Int*, const T*, T*, const Int*, \
            Length);                                                                                                 \
  void trsv(const char*, const char*, const char*, const Int*, const T*, const Int*, T*, const Int*, Length, Length, \
            Length);
WP_OF(cgemv_, chemv_, ctrsv_, C)
WP_OF(zgemv_, zhemv_, ztrsv_, Z)
#undef WP_OF
}

// The last bytes before a page that must not be touched.
class Edge {
 public:
  Edge() {
    base_ = static_cast<char*>(mmap(nullptr, kBytes + page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_, kBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Edge() { munmap(base_, kBytes + page()); }
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;
  template <class T>
  T* last(std::int64_t count, T value) {
    T* const first = reinterpret_cast<T*>(base_ + kBytes) - count;
    std::fill_n(first, count, value);
    return first;
  }

 private:
  static constexpr std::size_t kBytes = 1 << 20;
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  char* base_;
};

template <class T>
struct Routines;
template <>
struct Routines<C> {
  static constexpr auto gemv = cgemv_;
  static constexpr auto hemv = chemv_;
  static constexpr auto trsv = ctrsv_;
};
template <>
struct Routines<Z> {
  static constexpr auto gemv = zgemv_;
  static constexpr auto hemv = zhemv_;
  static constexpr auto trsv = ztrsv_;
};
template <class T>
class AtTheEdge : public testing::Test {
 protected:
  Edge a, x, y;
  const T one = T(1), i = T(0, 1);
};
using Types = testing::Types<C, Z>;
TYPED_TEST_SUITE(AtTheEdge, Types);

TYPED_TEST(AtTheEdge, ProductsOfComplexMatricesAndVectorsReadNothingBehindThem) {
  using T = TypeParam;
  for (const char* op : {"N", "T", "C"})
    for (Int m = 1; m <= 11; ++m)
      for (Int n = 1; n <= 11; ++n)
        for (const Int sx : {1, 2, 5, -1})
          for (const Int sy : {1, 3}) {
            const bool plain = *op == 'N';
            const Int nx = plain ? n : m, ny = plain ? m : n;
            const T* const A = this->a.template last<T>(m * n, this->i);
            const T* const X = this->x.template last<T>((nx - 1) * std::abs(sx) + 1, this->one);
            T* const Y = this->y.template last<T>((ny - 1) * sy + 1, this->one);
            Routines<T>::gemv(op, &m, &n, &this->one, A, &m, X, &sx, &this->one, Y, &sy, 1);
            const T expected = T(1) + T(static_cast<typename T::value_type>(nx)) * (*op == 'C' ? -this->i : this->i);
            for (Int k = 0; k < ny; ++k) ASSERT_EQ(Y[k * sy], expected) << op << m << " x " << n;
          }
}
TYPED_TEST(AtTheEdge, HermitianProductsReadNothingBehindThem) {
  using T = TypeParam;
  for (const char* part : {"U", "L"})
    for (Int n = 1; n <= 40; ++n)
      for (const Int sx : {1, 2})
        for (const Int sy : {1, 3}) {
          const T* const A = this->a.template last<T>(n * n, this->one);
          const T* const X = this->x.template last<T>((n - 1) * sx + 1, this->i);
          T* const Y = this->y.template last<T>((n - 1) * sy + 1, this->one);
          Routines<T>::hemv(part, &n, &this->one, A, &n, X, &sx, &this->one, Y, &sy, 1);
          for (Int k = 0; k < n; ++k) ASSERT_EQ(Y[k * sy], T(1, static_cast<typename T::value_type>(n))) << part << n;
        }
}
TYPED_TEST(AtTheEdge, TriangularSolvesReadNothingBehindThem) {
  using T = TypeParam;
  for (const char* part : {"U", "L"})
    for (const char* op : {"N", "T", "C"})
      for (const Int n : {1, 2, 7, 64, 65, 66, 67, 131})
        for (const Int sx : {1, 3}) {
          T* const A = this->a.template last<T>(n * n, T(0));
          for (Int k = 0; k < n; ++k) A[k * n + k] = T(2);
          T* const X = this->x.template last<T>((n - 1) * sx + 1, this->i);
          Routines<T>::trsv(part, op, "N", &n, A, &n, X, &sx, 1, 1, 1);
          for (Int k = 0; k < n; ++k) ASSERT_EQ(X[k * sx], this->i / T(2)) << part << op << n;
        }
}

}  // namespace
