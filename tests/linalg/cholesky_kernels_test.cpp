#include <gtest/gtest.h>

#include "factors.hpp"
#include "kernels/cholesky.hpp"

namespace {
using namespace factors;
using namespace wp::kernels;

template <class T>
class CholeskyKernels : public testing::Test {};
TYPED_TEST_SUITE(CholeskyKernels, Types);

TYPED_TEST(CholeskyKernels, LeaveTheResidualThatLapackAllowsFromEitherTriangle) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 17, 50, 64, 65, 200}) {
      const Matrix<T> a = positive<T>(kind, n);
      for (const bool upper : {false, true}) {
        Matrix<T> f(n, n, 4);
        const T mark(77);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) f(i, j) = (upper ? j >= i : j <= i) ? a(i, j) : mark;
        ASSERT_EQ(cholesky_factor<T>(n, upper ? f.view().transposed() : f.view()), -1) << kind << " " << n;
        EXPECT_TRUE(f.gaps_untouched());
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (upper ? j < i : j > i) {
              ASSERT_EQ(f(i, j), mark);
            }
        const Matrix<T> l =
            upper ? turned(triangle_of(f, {true, false}), Form::adjoint) : triangle_of(f, {false, false});
        WideMatrix<T> rest = widened(a);
        subtract_product<T>(n, n, n, l, turned(l, Form::adjoint), rest);
        EXPECT_LT(ratio<T>(norm<T>(rest, n), norm(a), n), limit) << kind << " " << n;
      }
    }
}

TYPED_TEST(CholeskyKernels, SolveAndInvert) {
  using T = TypeParam;
  for (const std::string kind : {"random", "Hilbert", "orthogonal", "Wilkinson's W+"})
    for (const std::int64_t n : {0, 1, 2, 5, 17, 64, 130}) {
      const Matrix<T> a = positive<T>(kind, n);
      Matrix<T> l = a;
      ASSERT_EQ(cholesky_factor<T>(n, l.view()), -1);
      for (const std::int64_t columns : {1, 5}) {
        const Matrix<T> b = random_matrix<T>(n, columns, 2);
        Matrix<T> x = b;
        cholesky_solve<T>(n, columns, l.view(), x.view());
        EXPECT_LT(solve_ratio(a, x, b), limit);
      }
      Matrix<T> inverse(n, n, 3);
      cholesky_inverse<T>(n, l.view(), inverse.data.data(), inverse.row);
      EXPECT_TRUE(inverse.gaps_untouched());
      if (n > 0) {
        EXPECT_LT(solve_ratio(a, inverse, identity<T>(n)), limit);
      }
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(inverse(i, j), conj_of(inverse(j, i)));
    }
}

TYPED_TEST(CholeskyKernels, NameTheFirstPivotThatIsNotPositive) {
  using T = TypeParam;
  using R = Real<T>;
  for (const std::int64_t n : {1, 2, 9, 70, 150})
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1})
      for (const R bad : {R(-1), R(0), std::numeric_limits<R>::quiet_NaN()}) {
        Matrix<T> a = identity<T>(n);
        a(at, at) = T(bad);
        EXPECT_EQ(cholesky_factor<T>(n, a.view()), at) << n;
      }
}

}  // namespace
