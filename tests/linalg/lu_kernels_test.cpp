#include <gtest/gtest.h>

#include "factors.hpp"

namespace {
using namespace factors;
using namespace wp::kernels;

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 10, 17, 50, 200, 333};

template <class T>
class LuKernels : public testing::Test {};
TYPED_TEST_SUITE(LuKernels, Types);

TYPED_TEST(LuKernels, LeaveTheResidualThatLapackAllows) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : sizes) {
      const Matrix<T> a = of_kind<T>(kind, n, n);
      const Lu<T> f(a);
      for (std::size_t i = 0; i < f.pivots.size(); ++i) {
        ASSERT_GE(f.pivots[i], static_cast<std::int64_t>(i));
        ASSERT_LT(f.pivots[i], n);
      }
      EXPECT_LT(lu_ratio(a, f), limit) << kind << " " << n;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < i; ++j) {
          const T l = f.lu(i, j);
          if constexpr (is_complex<T>)
            ASSERT_LE(std::abs(l), 1.5);
          else
            ASSERT_LE(std::abs(l), 1);
        }
    }
}

TYPED_TEST(LuKernels, TakeTallAndWideMatricesAndStayInsideTheirRows) {
  using T = TypeParam;
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{0, 5},    {5, 0},   {1, 9},   {9, 1},    {3, 40},
                                                              {40, 3},   {17, 16}, {65, 64}, {64, 65},  {200, 70},
                                                              {70, 200}, {300, 9}, {9, 300}, {129, 257}};
  for (const auto& [m, n] : shapes)
    for (const std::int64_t gap : {std::int64_t{0}, std::int64_t{7}}) {
      const Matrix<T> a = random_matrix<T>(m, n, 5, gap);
      const Lu<T> f(a);
      EXPECT_EQ(f.zero, -1);
      EXPECT_LT(lu_ratio(a, f), limit) << m << "x" << n;
      EXPECT_TRUE(f.lu.gaps_untouched());
    }
}

// Column by column, as in a textbook.
template <class T>
std::vector<std::int64_t> textbook_pivots(Matrix<T> a) {
  std::vector<std::int64_t> pivots;
  const auto size = [](T v) {
    if constexpr (is_complex<T>)
      return std::abs(v.real()) + std::abs(v.imag());
    else
      return std::abs(v);
  };
  for (std::int64_t j = 0; j < std::min(a.m, a.n); ++j) {
    std::int64_t p = j;
    for (std::int64_t i = j + 1; i < a.m; ++i)
      if (size(a(i, j)) > size(a(p, j))) p = i;
    pivots.push_back(p);
    for (std::int64_t c = 0; c < a.n; ++c) std::swap(a(j, c), a(p, c));
    if (a(j, j) == T(0)) continue;
    for (std::int64_t i = j + 1; i < a.m; ++i) {
      a(i, j) /= a(j, j);
      for (std::int64_t c = j + 1; c < a.n; ++c) a(i, c) -= times(a(i, j), a(j, c));
    }
  }
  return pivots;
}

TYPED_TEST(LuKernels, ChooseThePivotsOfATextbookLoop) {
  using T = TypeParam;
  for (const std::string kind : {"random", "graded", "diagonal", "triangular", "Toeplitz"})
    for (const std::int64_t n : {1, 2, 5, 17, 50, 100})
      EXPECT_EQ(Lu<T>(of_kind<T>(kind, n, n)).pivots, textbook_pivots(of_kind<T>(kind, n, n))) << kind << " " << n;
  EXPECT_EQ(Lu<T>(random_matrix<T>(90, 30, 1)).pivots, textbook_pivots(random_matrix<T>(90, 30, 1)));
}

// Ties go to the first row: the integers −1, 0, 1 are eliminated without rounding.
TYPED_TEST(LuKernels, TakeTheFirstOfEqualPivots) {
  using T = TypeParam;
  const auto a =
      made<T>(20, 20, [](std::int64_t i, std::int64_t j) { return T(static_cast<Real<T>>((i * j + i) % 3 - 1)); });
  EXPECT_EQ(Lu<T>(a).pivots[0], textbook_pivots(a)[0]);
  const auto growing = made<T>(24, 24, [](std::int64_t i, std::int64_t j) {
    return T(i == j || j == 23 ? 1 : i > j ? -1 : 0);
  });
  const Lu<T> f(growing);
  EXPECT_EQ(f.pivots, textbook_pivots(growing));
  EXPECT_EQ((lu_growth<T>(24, 24, f.lu.view(), largest<T>(24, 24, growing.view()))),
            std::exp2(23));  // Wilkinson's matrix
}

TYPED_TEST(LuKernels, ReportTheFirstZeroPivotAndGoOn) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 9, 70, 130}) {
    for (const std::int64_t dead : {std::int64_t{0}, n / 2, n - 1}) {
      Matrix<T> a = random_matrix<T>(n, n, 3);
      for (std::int64_t i = 0; i < n; ++i) a(i, dead) = T(0);
      const Lu<T> f(a);
      EXPECT_EQ(f.zero, dead) << n;
      EXPECT_LT(lu_ratio(a, f), limit);
    }
  }
  EXPECT_EQ(Lu<T>(Matrix<T>(40, 40)).zero, 0);
  EXPECT_EQ(Lu<T>(Matrix<T>(0, 0)).zero, -1);
  const Matrix<T> nothing(3, 3);
  EXPECT_EQ(lu_growth<T>(3, 3, nothing.view(), Real<T>(0)), 1);
}

TYPED_TEST(LuKernels, KeepTheirPivotsInRangeWhateverTheyAreGiven) {
  using T = TypeParam;
  using L = std::numeric_limits<Real<T>>;
  for (const Real<T> odd : {L::quiet_NaN(), L::infinity(), -L::infinity(), L::denorm_min(), L::max()})
    for (const std::int64_t n : {1, 2, 8, 33, 140})
      for (int fill = 0; fill < 3; ++fill) {
        Matrix<T> a = random_matrix<T>(n, n, 4);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (fill == 0 || (fill == 1 && j == n / 2) || (fill == 2 && (i * 7 + j) % 5 == 0)) a(i, j) = T(odd);
        const Lu<T> f(a);
        for (std::size_t i = 0; i < f.pivots.size(); ++i) {
          ASSERT_GE(f.pivots[i], static_cast<std::int64_t>(i));
          ASSERT_LT(f.pivots[i], n);
        }
      }
}

TYPED_TEST(LuKernels, SolveInAllThreeFormsForBothLayouts) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 17, 50, 140}) {
      const Matrix<T> a = of_kind<T>(kind, n, n);
      const Lu<T> f(a);
      if (f.zero >= 0) continue;
      for (const Form form : {Form::plain, Form::transposed, Form::adjoint})
        for (const std::int64_t columns : {0, 1, 2, 7, 40}) {
          const Matrix<T> b = random_matrix<T>(n, columns, 6, 3), bt = turned(b, Form::transposed);
          Matrix<T> x = b, xt = bt;
          lu_solve<T>(form, n, columns, f.lu.view(), f.pivots.data(), x.view());
          lu_solve<T>(form, n, columns, f.lu.view(), f.pivots.data(), xt.view().transposed());
          EXPECT_TRUE(x.gaps_untouched());
          if (!finite(x)) continue;
          EXPECT_LT(solve_ratio(turned(a, form), x, b), limit) << kind << " " << n << " columns " << columns;
          const Matrix<T> back = turned(xt, Form::transposed);
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < columns; ++j) ASSERT_EQ(x(i, j), back(i, j)) << kind << " " << n;
        }
    }
}

// ‖I − X A‖ / (n u ‖A‖ ‖X‖): the residual that the method bounds.
TYPED_TEST(LuKernels, InvertWithTheResidualThatLapackAllows) {
  using T = TypeParam;
  for (const std::string kind : kinds)
    for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 17, 50, 200}) {
      const Matrix<T> a = of_kind<T>(kind, n, n);
      const Lu<T> f(a);
      if (f.zero >= 0) continue;
      Matrix<T> x(n, n, 5);
      lu_inverse<T>(n, f.lu.view(), f.pivots.data(), x.data.data(), x.row);
      EXPECT_TRUE(x.gaps_untouched());
      if (!finite(x)) continue;
      EXPECT_LT(solve_ratio(x, a, identity<T>(n)), limit) << kind << " " << n;
    }
}

}  // namespace
