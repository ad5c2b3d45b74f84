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

TEST(SmallStacks, OfF32AreRightToF32) {
  std::mt19937_64 g(9);
  std::vector<std::vector<double>> members;
  for (int i = 0; i < 500; ++i) {
    members.push_back(draw(4, 4, Want::any, g));
    for (int c = 0; c < 4; ++c)
      members.back()[static_cast<std::size_t>(12 + c)] = members.back()[static_cast<std::size_t>(c)] * (1 + 1e-5 * c);
    for (double& v : members.back()) v = static_cast<double>(static_cast<float>(v));
  }
  const Tensor x = linalg::diagnosed::inv(stack_of(4, 4, members, f32)).value;
  for (int i = 0; i < 500; ++i) {
    std::vector<double> got;
    for (int e = 0; e < 16; ++e)
      got.push_back(static_cast<double>(reinterpret_cast<const float*>(x.node()->data)[16 * i + e]));
    EXPECT_LT(error_of(exact_inverse(4, members[static_cast<std::size_t>(i)]), got.data()), 1e-6);
  }
}

// Couplings between blocks that are so small that their squares are denormal, or nothing.
TEST(SmallStacks, WithElementsWhoseSquaresUnderflowHaveOrthogonalVectors) {
  std::mt19937 g(4);
  std::normal_distribution<double> normal;
  const auto apart = [](const Tensor& x, const Tensor& y) { return max(abs(x - y)).item<double>(); };
  const auto from_one = [&](const Tensor& q) { return apart(matmul(matrix_transpose(q), q), eye(q.shape(-1))); };
  for (int t = 0; t < 200; ++t) {
    const std::int64_t n = 2 + t % 7, m = n + t % 3;
    const int power = -400 - static_cast<int>(g() % 200);
    std::vector<double> h(static_cast<std::size_t>(n * n)), a(static_cast<std::size_t>(m * n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const bool same = (i < (n + 1) / 2) == (j < (n + 1) / 2);
        h[static_cast<std::size_t>(i * n + j)] = h[static_cast<std::size_t>(j * n + i)] =
            std::ldexp(normal(g), same ? 0 : power);
      }
    for (std::int64_t e = 0; e < m * n; ++e)
      a[static_cast<std::size_t>(e)] = std::ldexp(normal(g), e % n == 0 ? 0 : power / static_cast<int>(1 + e % n));
    const Tensor H = Tensor::from(h, {n, n}), A = Tensor::from(a, {m, n});
    const auto e = linalg::eigh(H);
    EXPECT_LE(from_one(e.eigenvectors), 1e-14) << H;
    EXPECT_LE(apart(matmul(H, e.eigenvectors), e.eigenvectors * e.eigenvalues), 1e-13) << H;
    EXPECT_LE(apart(linalg::eigvalsh(H), e.eigenvalues), 1e-13) << H;
    const auto f = linalg::svd(A, {.full_matrices = false});
    EXPECT_LE(std::max(from_one(f.U), from_one(matrix_transpose(f.Vh))), 1e-13) << A;
    EXPECT_LE(apart(matmul(f.U * f.S, f.Vh), A), 1e-13) << A;
    EXPECT_LE(apart(linalg::svdvals(A), f.S), 1e-13) << A;
  }
}

// I + size · noise, whose condition says nothing of the number of roundings; noise alone for 0.
std::vector<double> near_identity(int m, int n, double size, std::mt19937_64& g) {
  std::vector<double> a = draw(m, n, Want::any, g);
  for (int e = 0; e < m * n && size > 0; ++e)
    a[static_cast<std::size_t>(e)] = (e / n == e % n ? 1 : 0) + size * a[static_cast<std::size_t>(e)];
  return a;
}
// A⁺ = (AᵀA)⁻¹Aᵀ in 113 bits, m ≥ n.
std::vector<Quad> exact_pseudo_inverse(int m, int n, const std::vector<double>& a) {
  std::vector<Quad> gram(static_cast<std::size_t>(n * n)), out(a.size());
  const auto at = [&](int i, int j) { return Quad(a[static_cast<std::size_t>(i * n + j)]); };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < m; ++k) gram[static_cast<std::size_t>(i * n + j)] += at(k, i) * at(k, j);
  const std::vector<Quad> inverse = exact_inverse(n, gram);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < m; ++k)
      for (int j = 0; j < n; ++j)
        out[static_cast<std::size_t>(i * m + k)] += inverse[static_cast<std::size_t>(i * n + j)] * at(k, j);
  return out;
}
TEST(SmallStacks, ErrorsOfInversesAreNotAboveWhatIsTold) {
  std::mt19937_64 g(19);
  using namespace linalg::diagnosed;
  for (const auto& [m, n] : {std::pair{1, 1}, {2, 2},   {3, 3},   {4, 4},   {5, 5},   {6, 6},   {7, 7},  {8, 8},
                             {9, 9},          {11, 11}, {16, 16}, {20, 20}, {32, 32}, {3, 2},   {5, 3},  {8, 4},
                             {9, 1},          {16, 8},  {32, 4},  {32, 31}, {33, 33}, {60, 60}, {60, 20}})
    for (const double size : {1e-3, 0.02, 0.1, 0.0}) {
      const int count = m > 32 ? 6 : m > 9 ? 40 : 400;
      std::vector<std::vector<double>> members;
      std::vector<std::vector<Quad>> exact;
      for (int i = 0; i < count; ++i) {
        members.push_back(near_identity(m, n, size, g));
        exact.push_back(exact_pseudo_inverse(m, n, members.back()));
      }
      const Tensor a = stack_of(m, n, members, f64);
      const auto check = [&](const auto& got, const char* what) {
        double worst = 0;
        for (int i = 0; i < count; ++i)
          worst = std::max(worst, error_of(exact[static_cast<std::size_t>(i)],
                                           reinterpret_cast<const double*>(got.value.node()->data) + i * m * n) /
                                      got.diagnosis[i].forward_error);
        EXPECT_LE(worst, 1) << what << " " << m << "x" << n << " " << size;
      };
      check(pinv(a), "pinv");
      check(lstsq(a, eye(m)), "lstsq");
      if (m == n) check(inv(a), "inv");
      if (m == n) check(solve(a, eye(m)), "solve");
    }
}

// Beside a determinant of 1, what is off may be more than the whole logarithm.
TEST(SmallStacks, ErrorsOfLogarithmsNearDeterminantOneAreNotAboveWhatIsTold) {
  std::mt19937_64 g(20);
  for (const DType dtype : {f64, f32})
    for (const int n : {1, 2, 3, 4, 5, 8, 12, 32})
      for (const double size : {1e-8, 1e-7, 1e-6, 1e-4}) {
        constexpr std::int64_t kMembers = 200;
        std::vector<std::vector<double>> members;
        for (std::int64_t i = 0; i < kMembers; ++i) {
          members.push_back(near_identity(n, n, size, g));
          if (dtype == f32)
            for (double& v : members.back()) v = static_cast<double>(static_cast<float>(v));
        }
        const auto [got, d] = linalg::diagnosed::slogdet(stack_of(n, n, members, dtype));
        for (std::int64_t i = 0; i < kMembers; ++i) {
          const Quad exact = log_near_one(n, members[static_cast<std::size_t>(i)]);
          if (exact == 0) continue;
          const double off = static_cast<double>((Quad(got.logabsdet.at(i).item<double>()) - exact) / exact);
          EXPECT_LE(std::fabs(off), d[i].forward_error) << n << " " << size << " " << name(dtype);
        }
      }
}

}  // namespace
