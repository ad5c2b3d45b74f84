// Matrices that are only badly scaled, nearly singular or nearly defective: right, or told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "long_tests.hpp"
#include "rationals.hpp"
#include "tensors.hpp"

namespace {

using namespace wp;
using linalg::Status;
using matrices::told;
using rationals::Rational;

std::vector<double> scaled(std::int64_t n, const std::vector<double>& a, const std::vector<int>& rows,
                           const std::vector<int>& columns) {
  std::vector<double> out(a);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      out[static_cast<std::size_t>(i * n + j)] =
          std::ldexp(a[static_cast<std::size_t>(i * n + j)],
                     rows[static_cast<std::size_t>(i)] + columns[static_cast<std::size_t>(j)]);
  return out;
}
std::vector<int> exponents(std::int64_t n, int most, std::mt19937& g) {
  std::vector<int> out;
  for (std::int64_t i = 0; i < n; ++i)
    out.push_back(static_cast<int>(g() % static_cast<unsigned>(2 * most + 1)) - most);
  return out;
}
// The largest error over the largest element of the exact inverse.
double error_of_inverse(std::int64_t n, const std::vector<double>& a, const Tensor& got) {
  rationals::Matrix A(n, n), I(n, n), X(n, n);
  rationals::fill(A, n, n, a.data(), n, 1);
  std::vector<double> unit(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) unit[static_cast<std::size_t>(i * n + i)] = 1;
  rationals::fill(I, n, n, unit.data(), n, 1);
  EXPECT_TRUE(X.solve(A, I));
  double error = 0, largest = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      error = std::max(error, std::fabs((X.get(i, j) - Rational(matrices::at(got, i, j))).value()));
      largest = std::max(largest, std::fabs(X.get(i, j).value()));
    }
  return error / largest;
}
std::vector<double> tridiagonal(std::int64_t n, double diagonal) {
  std::vector<double> a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    a[static_cast<std::size_t>(i * n + i)] = diagonal;
    if (i > 0) a[static_cast<std::size_t>(i * n + i - 1)] = a[static_cast<std::size_t>((i - 1) * n + i)] = 1;
  }
  return a;
}

// The right-hand side is a column of the matrix: the solution is a unit vector, of which all that is not 0 is exact
// at once, and what should be 0 is rounding in units that may make it huge.
// 1 and 10^300 of its neighbour: one power of two for all would make the small ones denormal.
TEST(Solve, WithElementsAsFarApartAsTheRangeOfF64IsRight) {
  for (const std::int64_t n : {2, 3, 4, 5, 6})
    for (const double least : {1e-150, 1e-160, 1e-165, 1e-168, 1e-171, 1e-172, 1e-173, 1e-174}) {
      std::vector<double> values(static_cast<std::size_t>(n), 1e150);
      values.back() = least;
      const Tensor one = eye(n) * Tensor::from(values, {n}), all = stack({one, eye(n), one});
      const Tensor exact = 1 / Tensor::from(values, {n}), b = ones({n});
      const auto right = [&](const Tensor& x) { return max(abs(x / exact - 1)).item<double>() < 4e-16; };
      EXPECT_TRUE(right(linalg::solve(one, b))) << n << " " << least;
      EXPECT_TRUE(right(linalg::solve(all, ones({3, n, 1}))[0][{ellipsis, 0}])) << n << " " << least;
      EXPECT_TRUE(right(linalg::diagonal(linalg::inv(all)[2]))) << n << " " << least;
      EXPECT_TRUE(right(linalg::solve_triangular(one, b))) << n << " " << least;
    }
}
TEST(Solve, ForAColumnOfTheMatrixIsAUnitVectorOrTold) {
  std::mt19937 g(5);
  std::uniform_real_distribution<double> width(0.1, 0.7);
  int right = 0;
  constexpr int kTries = 1500;
  for (int t = 0; t < kTries; ++t) {
    const std::int64_t n = 3 + t % 8;
    const double l = width(g);
    std::vector<double> a;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double apart = static_cast<double>(i - j) / static_cast<double>(n - 1) / l;
        a.push_back(std::exp(-apart * apart / 2));
      }
    const Tensor m =
        Tensor::from(scaled(n, a, std::vector<int>(static_cast<std::size_t>(n)), exponents(n, 400, g)), {n, n});
    const std::int64_t which = t % n;
    const auto [x, d] = linalg::diagnosed::solve(m, contiguous(matrix_transpose(m))[{which}]);
    if (d[0].status > Status::ill_conditioned) continue;
    double wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong = std::max(wrong, std::fabs(x.at(i).item<double>() - (i == which)));
    EXPECT_LE(wrong, std::max(1e-12, 10 * d[0].forward_error)) << t << " " << d;
    right += wrong <= 1e-6;
  }
  EXPECT_GE(right, kTries * 9 / 10);
}

// All elements but one are exactly 0, which no arithmetic of a fixed length finds out.
TEST(Solve, FindsManyElementsThatAreExactlyZero) {
  std::mt19937 g(21);
  std::normal_distribution<double> normal;
  for (int t = 0; t < 40; ++t) {
    const std::int64_t n = 10;
    std::vector<double> a(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        a[static_cast<std::size_t>(i * n + j)] = a[static_cast<std::size_t>(j * n + i)] = normal(g);
    const std::vector<int> units = exponents(n, 130, g);
    const Tensor m = Tensor::from(scaled(n, a, units, units), {n, n});
    const auto heaviest = std::max_element(units.begin(), units.end()) - units.begin();
    const auto [x, d] = linalg::diagnosed::solve(m, contiguous(m)[{heaviest}] * 2.0);
    ASSERT_EQ(d[0].status, Status::ok) << t << " " << d;
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(x.at(i).item<double>(), i == heaviest ? 2 : 0, 1e-14) << t;
  }
}

// A⁻¹ = C S⁻¹ R: an error that is small in S⁻¹ is large beside the elements that C makes small.
TEST(Inverse, OfAMatrixWithUnitsFarApartIsRightOrTold) {
  const std::vector<double> a = scaled(3, {3, 1, 0, 0, 3, 0, 1, 0, 3}, {38, 71, -47}, {-24, 67, 56});
  const auto [x, d] = linalg::diagnosed::inv(Tensor::from(a, {3, 3}));
  EXPECT_EQ(d[0].status, Status::ok);
  EXPECT_LT(error_of_inverse(3, a, x), 1e-15);
  std::mt19937 g(11);
  std::normal_distribution<double> normal;
  int right = 0;
  constexpr int kTries = 2000;
  for (int t = 0; t < kTries; ++t) {
    const std::int64_t n = 3 + t % 4;
    std::vector<double> plain(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)  // Hessenberg: zeros below the subdiagonal, or above
        if (t % 2 ? i <= j + 1 : j <= i + 1)
          plain[static_cast<std::size_t>(i * n + j)] = std::round(4 * normal(g)) / 8 + (i == j ? 3 : 0);
    const std::vector<double> m = scaled(n, plain, exponents(n, 130, g), exponents(n, 130, g));
    for (const auto& [y, v] : {linalg::diagnosed::inv(Tensor::from(m, {n, n})),
                               linalg::diagnosed::solve(Tensor::from(m, {n, n}), eye(n))}) {
      if (v[0].status != Status::ok) continue;
      ++right;
      EXPECT_LT(error_of_inverse(n, m, y), 1e-6) << t;
    }
  }
  EXPECT_GT(right, 2 * kTries * 98 / 100);
}

// Elements with exponents of their own: no scaling makes such a matrix even, and heavy elements of the answer are
// far smaller than the rounding of others before they are scaled back.
TEST(Solve, OfElementsWithExponentsOfTheirOwnIsRight) {
  std::mt19937 g(21);
  std::uniform_real_distribution<double> mantissa(1, 2);
  const int tries = long_tests() ? 40000 : 2000;
  for (const bool high : {false, true}) {
    int right = 0, singular = 0;
    for (int t = 0; t < tries; ++t) {
      const std::int64_t n = 2 + t % 5;
      const auto number = [&] {
        return std::ldexp(g() % 2 ? mantissa(g) : -mantissa(g), static_cast<int>(g() % 600) - 500);
      };
      std::vector<double> m(static_cast<std::size_t>(n * n)), b(static_cast<std::size_t>(n));
      for (double& v : m) v = t % 3 == 0 && g() % 4 == 0 ? 0 : number();
      for (double& v : b) v = number();
      const auto [x, d] = linalg::diagnosed::solve(Tensor::from(m, {n, n}), Tensor::from(b, {n}),
                                                   {.accuracy = high ? "high" : "normal"});
      rationals::Matrix A(n, n), B(n, 1), X(n, 1);
      rationals::fill(A, n, n, m.data(), n, 1);
      rationals::fill(B, n, 1, b.data(), 1, 1);
      singular += d[0].exactly_singular;
      if (d[0].status != Status::ok) continue;
      ASSERT_TRUE(X.solve(A, B)) << t;
      double error = 0, largest = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        error = std::max(error, std::fabs((X.get(i, 0) - Rational(x.at(i).item<double>())).value()));
        largest = std::max(largest, std::fabs(X.get(i, 0).value()));
      }
      EXPECT_LE(error, 1e-6 * largest) << t;
      ++right;
    }
    EXPECT_GE(right + singular, tries * 999 / 1000);  // the rest is told
  }
}

TEST(Bands, ThatAreOnlyBadlyScaledAreSolved) {
  for (const std::int64_t n : {3, 40, 350}) {
    std::vector<int> far, none(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) far.push_back(i % 3 == 1 ? -70 : i % 3 == 2 ? 70 : 0);
    const std::vector<double> plain = tridiagonal(n, 4);
    const Tensor b = ones({n});
    const Tensor x = linalg::solve(Tensor::from(plain, {n, n}), b);
    std::vector<double> band(static_cast<std::size_t>(3 * n));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = std::max<std::int64_t>(0, j - 1); i <= std::min(n - 1, j + 1); ++i)
        band[static_cast<std::size_t>((1 + i - j) * n + j)] =
            std::ldexp(i == j ? 4 : 1, far[static_cast<std::size_t>(j)]);
    for (const Tensor& y : {linalg::solve(Tensor::from(scaled(n, plain, none, far), {n, n}), b),
                            linalg::solve_banded(Tensor::from(band, {3, n}), b, 1, 1)})
      for (std::int64_t i = 0; i < n; ++i)
        EXPECT_NEAR(std::ldexp(y.at(i).item<double>(), far[static_cast<std::size_t>(i)]), x.at(i).item<double>(),
                    1e-14);
  }
}

TEST(Logdet, OfABandIsThatOfItsPivots) {
  for (const std::int64_t n : {31, 32, 100}) {
    double log = 0, pivot = 4;  // d ← 4 − 1/d
    for (std::int64_t i = 0; i < n; ++i, pivot = 4 - 1 / pivot) log += std::log(pivot);
    EXPECT_NEAR(linalg::logdet(Tensor::from(tridiagonal(n, 4), {n, n})).item<double>(), log, 1e-12 * log);
    EXPECT_THROW(linalg::logdet(Tensor::from(tridiagonal(n, 1.5), {n, n})), NotPositiveDefinite);
  }
}

// The exact second pivot is −6.5e-17, and +1.2e-16 of its neighbour.
TEST(Cholesky, RefusesWhatIsIndefiniteByLessThanRounding) {
  EXPECT_THROW(linalg::cholesky(Tensor{{0.48999999999999994, 0.63}, {0.63, 0.81}}), NotPositiveDefinite);
  EXPECT_NO_THROW(linalg::cholesky(Tensor{{0.49, 0.63}, {0.63, 0.8100000000000002}}));
}

Tensor rotated_jordan(std::int64_t n, double value, std::mt19937& g) {
  std::normal_distribution<double> normal;
  std::vector<double> z, jordan(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n * n; ++i) z.push_back(normal(g));
  for (std::int64_t i = 0; i < n; ++i) {
    jordan[static_cast<std::size_t>(i * n + i)] = value;
    if (i > 0) jordan[static_cast<std::size_t>((i - 1) * n + i)] = 1;
  }
  const Tensor q = linalg::qr(Tensor::from(z, {n, n})).Q;
  return matmul(matmul(q, Tensor::from(jordan, {n, n})), matrix_transpose(q));
}

TEST(Eigvals, TellsOfDefectiveValuesThatAreRightToFewerThanSixDigits) {
  std::mt19937 g(5);
  for (const std::int64_t n : {3, 5, 8}) {
    const Tensor a = rotated_jordan(n, 1, g);
    const auto [w, d] = linalg::diagnosed::eigvals(a);
    EXPECT_EQ(d[0].status, Status::ill_conditioned) << n;
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_LE(std::abs(w.at(i).item<complex128>() - 1.0), d[0].value_error[static_cast<std::size_t>(i)]) << n;
  }
}

TEST(Eigvals, OfALowRankMatrixWithAsManyVectorsAsZerosIsNoAlarm) {
  EXPECT_TRUE(told([] { linalg::eigvals(Tensor{{3, -6, 9}, {3, -6, 9}, {-3, 6, -9}}); }).empty());
  std::mt19937 g(6);
  for (int t = 0; t < 300; ++t) {
    const std::int64_t n = 2 + t % 6;
    std::vector<double> x, y;
    double trace = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      x.push_back(static_cast<double>(g() % 7) - 3);
      y.push_back(static_cast<double>(g() % 7) - 3);
      trace += x.back() * y.back();
    }
    if (trace == 0) continue;
    const Tensor a = linalg::outer(Tensor::from(x, {n}), Tensor::from(y, {n}));
    EXPECT_TRUE(told([&] { linalg::eigvals(a); }).empty()) << t;
  }
}

TEST(EighGeneralized, TellsOfAMetricThatLeavesFewDigits) {
  std::mt19937 g(8);
  std::normal_distribution<double> normal;
  std::vector<double> z, s;
  for (int i = 0; i < 9; ++i) {
    z.push_back(normal(g));
    s.push_back(normal(g));
  }
  const Tensor q = linalg::qr(Tensor::from(z, {3, 3})).Q, half = Tensor::from(s, {3, 3});
  const Tensor a = add(half, matrix_transpose(half));
  const auto metric = [&](double least) {
    return matmul(multiply(q, Tensor{1.0, 1e-3, least}), matrix_transpose(q));
  };
  EXPECT_EQ(linalg::diagnosed::eigh(a, metric(1e-13)).diagnosis[0].status, Status::ill_conditioned);
  EXPECT_EQ(linalg::diagnosed::eigh(a, metric(1e-6)).diagnosis[0].status, Status::ok);
}

TEST(Lsmr, DoesNotDependOnTheScaleOfTheMatrix) {
  const Tensor a{{1, 2}, {3, 4}, {5, 7}}, b{1, 3, 5};
  const Tensor x = linalg::lsmr(linalg::LinearOperator(a), b).x;
  for (const double scale : {1e-200, 1e-170, 1e170, 1e200}) {
    const Tensor y = linalg::lsmr(linalg::LinearOperator(multiply(a, scale)), multiply(b, scale)).x;
    for (std::int64_t i = 0; i < 2; ++i) EXPECT_NEAR(y.at(i).item<double>(), x.at(i).item<double>(), 1e-9);
  }
}

TEST(LeastSquares, OfNothingAndAPseudoInverseWithinItsConditionAreNoAlarm) {
  EXPECT_TRUE(told([] {
                linalg::lstsq(Tensor{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, Tensor{{0.0, 1.0}, {0.0, 2.0}, {0.0, 3.0}});
              }).empty());
  EXPECT_TRUE(told([] { linalg::pinv(Tensor{{1.0, 1.0, 0.0}, {1.0, 1.0, 0.0}, {0.0, 0.0, 1e-9}}); }).empty());
}

}  // namespace
