#include "kernels/blas.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "simd/isa.hpp"

namespace {
namespace blas = wp::blas;

template <class T>
class Blas : public testing::Test {};
using Types = testing::Types<float, double, wp::complex64, wp::complex128>;
TYPED_TEST_SUITE(Blas, Types);

// Small integers: every sum is exact, so any order of additions gives the same value.
template <class T>
T number(int i) {
  const int re = i * 7 % 11 - 5, im = i * 5 % 7 - 3;
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(re);
  else
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
}
template <class T>
std::vector<T> numbers(int n, int start) {
  std::vector<T> v;
  for (int i = 0; i < n; ++i) v.push_back(number<T>(start + i));
  return v;
}

TYPED_TEST(Blas, GemmIsExactOnIntegersForEveryLayout) {
  using T = TypeParam;
  const int m = 5, n = 4, k = 3;
  for (int layouts = 0; layouts < 8; ++layouts) {
    const std::vector<T> a = numbers<T>(200, 1), b = numbers<T>(200, 50);
    std::vector<T> c = numbers<T>(200, 90);
    const std::vector<T> before = c;
    const blas::Matrix<const T> A{a.data(), layouts & 1 ? 1 : 9, layouts & 1 ? 9 : 1};
    const blas::Matrix<const T> B{b.data(), layouts & 2 ? 1 : 8, layouts & 2 ? 8 : 1};
    const blas::Matrix<T> C{c.data(), layouts & 4 ? 1 : 7, layouts & 4 ? 7 : 1};
    ASSERT_TRUE(blas::fits(A, m, k) && blas::fits(B, k, n) && blas::fits(C, m, n));
    blas::gemm<T>(m, n, k, T(2), A, B, T(-1), C);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        T want(0);
        for (int l = 0; l < k; ++l) want += A.data[i * A.rows + l * A.columns] * B.data[l * B.rows + j * B.columns];
        const std::int64_t at = i * C.rows + j * C.columns;
        EXPECT_EQ(C.data[at], T(2) * want - before[static_cast<std::size_t>(at)]) << layouts << " " << i << " " << j;
      }
  }
}

TYPED_TEST(Blas, GemvAndDotTakeNegativeStrides) {
  using T = TypeParam;
  const std::vector<T> a = numbers<T>(100, 3), v = numbers<T>(100, 20);
  for (const std::int64_t sx : {1, 2, -1, -3})
    for (const std::int64_t sy : {1, -2}) {
      const T* const x = v.data() + 50;
      const T* const y = v.data() + 40;
      T want(0);
      for (int i = 0; i < 6; ++i) want += x[i * sx] * y[i * sy];
      EXPECT_EQ(blas::dot<T>(6, x, sx, y, sy), want);
      for (const bool transposed : {false, true}) {
        const blas::Matrix<const T> A{a.data(), transposed ? 1 : 8, transposed ? 8 : 1};
        std::vector<T> out(20, T(9));
        T* const first = out.data() + 10;
        blas::gemv<T>(4, 6, T(1), A, x, sx, T(0), first, sy);
        for (int i = 0; i < 4; ++i) {
          T sum(0);
          for (int j = 0; j < 6; ++j) sum += A.data[i * A.rows + j * A.columns] * x[j * sx];
          EXPECT_EQ(first[i * sy], sum);
        }
      }
    }
}

TYPED_TEST(Blas, RefusesViewsThatNeedACopy) {
  using T = TypeParam;
  T value(0);
  EXPECT_FALSE(blas::fits(blas::Matrix<T>{&value, 4, 2}, 2, 2));
  EXPECT_FALSE(blas::fits(blas::Matrix<T>{&value, -2, 1}, 2, 2));
  EXPECT_FALSE(blas::fits(blas::Matrix<T>{&value, 1, 0}, 2, 2));
  EXPECT_FALSE(blas::fits(blas::Matrix<T>{&value, 2, 1}, 3, 3));
  EXPECT_FALSE(blas::fits(blas::Matrix<T>{&value, std::int64_t{1} << 40, 1}, 3, 3));
  EXPECT_TRUE(blas::fits(blas::Matrix<T>{&value, 2, 1}, 3, 2));
}

// Without OPENBLAS_CORETYPE the kernels are those of this CPU. The test then runs itself with the variable set.
TEST(BlasCore, IsTheOneOfThisCpuUnlessTheUserNamesAnother) {
  if (blas::core_name().empty()) return;  // another BLAS
  if (const char* name = std::getenv("OPENBLAS_CORETYPE")) {
    EXPECT_EQ(blas::core_choice(), blas::CoreChoice::user);
    EXPECT_STRCASEEQ(blas::core_name().c_str(), name);
    return;
  }
  EXPECT_NE(blas::core_choice(), blas::CoreChoice::wrong);
  if (wp::simd::supported(wp::simd::Isa::avx2)) {
    EXPECT_TRUE(blas::core_name() != "Prescott" && blas::core_name() != "Nehalem") << blas::core_name();
  }
  const pid_t child = fork();
  if (child == 0) {
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    execl("/proc/self/exe", "wp_tests", "--gtest_filter=BlasCore.*", static_cast<char*>(nullptr));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(std::getenv("OPENBLAS_CORETYPE"), nullptr);
}

}  // namespace
