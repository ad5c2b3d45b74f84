// What is true of stacks of small matrices to the last digits; beside LAPACK they stand in small_table_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "long_tests.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;

TEST(SmallStacks, SolutionsAreRightToTheLastDigit) {
  std::mt19937_64 g(3);
  const int count = long_tests() ? 50000 : 1000;
  for (const int n : {1, 2, 3, 4, 6, 8, 12, 32}) {
    const int of_this = n > 8 ? count / 20 : count;
    std::vector<std::vector<double>> members, sides;
    for (int i = 0; i < of_this; ++i) {
      members.push_back(draw(n, n, Want::any, g));
      sides.push_back(draw(n, 1, Want::any, g));
    }
    const Tensor x = linalg::solve(stack_of(n, n, members, f64), stack_of(n, 1, sides, f64));
    double worst = 0;
    for (int i = 0; i < of_this; ++i) {
      const std::vector<Quad> inverse = exact_inverse(n, members[static_cast<std::size_t>(i)]);
      std::vector<Quad> exact(static_cast<std::size_t>(n));
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c)
          exact[static_cast<std::size_t>(r)] += inverse[static_cast<std::size_t>(r * n + c)] *
                                                Quad(sides[static_cast<std::size_t>(i)][static_cast<std::size_t>(c)]);
      worst = std::max(worst, error_of(exact, reinterpret_cast<const double*>(x.node()->data) + i * n));
    }
    EXPECT_LE(worst, 2.3e-16) << n;
  }
}

// Pivots of triangles are as given: their logarithm is right to the last digit, however near 1 the determinant is. Of
// other matrices near 1 it has the digits that are claimed, in lanes and beyond.
TEST(SmallStacks, LogarithmsNearDeterminantOneHaveTheDigitsTheyClaim) {
  std::mt19937_64 g(8);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 12, 40})
    for (const bool triangle : {true, false})
      for (const DType dtype : {f64, c128}) {
        constexpr std::int64_t kMembers = 20;
        const double step = triangle ? 1e-10 : 1e-6;
        const bool lanes = n <= 32 && dtype == f64;
        std::vector<double> a(static_cast<std::size_t>(kMembers * n * n));
        for (std::size_t e = 0; e < a.size(); ++e) {
          const auto i = static_cast<std::int64_t>(e) / n % n, j = static_cast<std::int64_t>(e) % n;
          if (i <= j || !triangle) a[e] = (i == j ? 1 : 0) - step * (i == j ? std::fabs(normal(g)) : normal(g));
        }
        const Tensor stack = astype(Tensor::from(a, {kMembers, n, n}), dtype);
        const auto [got, d] = linalg::diagnosed::slogdet(stack);
        EXPECT_TRUE(d.ok());
        for (std::int64_t k = 0; k < kMembers; ++k) {
          const auto first = a.begin() + k * n * n;
          const Quad exact = log_near_one(static_cast<int>(n), {first, first + n * n});
          const double off = static_cast<double>((Quad(got.logabsdet.at(k).item<double>()) - exact) / exact);
          EXPECT_LE(std::fabs(off), triangle && lanes ? 4.5e-16 : d[k].forward_error) << n << " " << name(dtype);
          EXPECT_GT(d[k].digits, !triangle ? 5 : lanes ? 15 : 7) << n << " " << name(dtype);
        }
      }
  const auto turned = linalg::diagnosed::slogdet(Tensor{{0.6, -0.8}, {0.8, 0.6}});
  EXPECT_TRUE(turned.diagnosis.ok());
  EXPECT_LT(turned.diagnosis[0].digits, 3);
}

// Right-hand sides that are columns of A have unit vectors as solutions, which are small beside A⁻¹b of other ones:
// an inverse that is right to the condition is not enough for them.
TEST(SmallStacks, SolvingForTheColumnsOfTheMatrixGivesUnitVectors) {
  std::mt19937_64 g(6);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {2, 3, 4, 5, 8, 12})
    for (const double condition : {1e3, 1e5, 1e7}) {
      constexpr std::int64_t kMembers = 500;
      std::vector<double> all;
      for (std::int64_t e = 0; e < kMembers * n * n; ++e) all.push_back(normal(g));
      auto [u, s, vh] = linalg::svd(Tensor::from(all, {kMembers, n, n}));
      std::vector<double> values(static_cast<std::size_t>(n), 1);
      values.back() = 1 / condition;
      const Tensor a = matmul(u * Tensor::from(values, {n}), vh);
      const Tensor sides = concat({a, a, a, a}, {.axis = -1}),
                   one = concat({eye(n), eye(n), eye(n), eye(n)}, {.axis = 1});
      for (const std::int64_t columns : {n, 4 * n}) {
        const Index some{ellipsis, slice(0, columns)};
        const double wrong = max(abs(linalg::solve(a, sides[some]) - one[some])).item<double>();
        EXPECT_LE(wrong, 100 * 0x1p-53 * condition) << n << " " << condition << " " << columns;
      }
    }
}

// Rounding leaves noise that shrinks with every column, down to denormal numbers.
TEST(SmallStacks, VectorsOfSingularMatricesAreOrthogonal) {
  std::mt19937_64 g(4);
  for (const int n : {2, 5, 16, 32})
    for (int t = 0; t < 40; ++t) {
      std::vector<double> x(static_cast<std::size_t>(n)), y(x), a;
      for (auto* of : {&x, &y})
        for (double& v : *of) v = static_cast<double>(g() % 7) - 3;
      for (const double v : x)
        for (const double w : y) a.push_back(v * w);
      for (const char* const accuracy : {"normal", "high"}) {
        const auto f = linalg::svd(Tensor::from(a, {n, n}), {.accuracy = accuracy});
        const Tensor one = eye(n);
        EXPECT_LE(max(abs(matmul(matrix_transpose(f.U), f.U) - one)).item<double>(), 1e-14) << accuracy << " " << n;
        EXPECT_LE(max(abs(matmul(f.Vh, matrix_transpose(f.Vh)) - one)).item<double>(), 1e-14) << accuracy << " " << n;
        EXPECT_LE(max(abs(matmul(f.U * f.S, f.Vh) - Tensor::from(a, {n, n}))).item<double>(), 1e-12) << accuracy;
      }
    }
}

}  // namespace
