// Norms, the estimator of ‖A⁻¹‖₁ and scaling, against rationals.
#include "kernels/condition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "rationals.hpp"
#include "wellposed/dtype.hpp"

namespace {
using rationals::number;
using rationals::Rational;
using wp::kernels::Equilibration;
using wp::kernels::Norms;
using wp::kernels::View;

template <class T>
class Condition : public testing::Test {};
using Types = testing::Types<float, double, wp::complex64, wp::complex128>;
TYPED_TEST_SUITE(Condition, Types);

template <class T>
std::vector<T> random(std::int64_t count, unsigned seed) {
  std::mt19937 g(seed);
  std::normal_distribution<double> d;
  std::vector<T> v;
  for (std::int64_t i = 0; i < count; ++i) v.push_back(number<T>(d(g), d(g)));
  return v;
}
std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

TYPED_TEST(Condition, NormsAreRightForEveryLayoutAndSize) {
  using T = TypeParam;
  using R = typename wp::kernels::RealOf<T>::type;
  const std::int64_t m = 9, n = 13;
  // Integers with integer moduli (3 + 4i): every sum of the unscaled matrix is exact.
  std::mt19937 g(2);
  for (const int exponent :
       {0, std::numeric_limits<R>::min_exponent - 10, std::numeric_limits<R>::max_exponent - 14}) {
    std::vector<T> a;
    std::vector<double> sizes;
    for (std::int64_t i = 0; i < m * n; ++i) {
      const double v = static_cast<double>(g() % 41) - 20;
      sizes.push_back(std::ldexp(std::fabs(v) * (rationals::parts<T> == 1 ? 1 : 5), exponent));
      a.push_back(rationals::parts<T> == 1 ? number<T>(std::ldexp(v, exponent), 0)
                                           : number<T>(std::ldexp(3 * v, exponent), std::ldexp(-4 * v, exponent)));
    }
    for (const bool turned : {false, true}) {
      const Norms got =
          turned ? wp::kernels::norms<T>(n, m, {a.data(), 1, n}) : wp::kernels::norms<T>(m, n, {a.data(), n, 1});
      Norms want;
      Rational squares;
      std::vector<double> columns(at(n));
      for (std::int64_t i = 0; i < m; ++i) {
        double row = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const double v = sizes[at(i * n + j)];
          row += v, columns[at(j)] += v;
          want.largest = std::max(want.largest, v);
          squares += Rational(v) * Rational(v);
        }
        want.infinity = std::max(want.infinity, row);
      }
      for (const double c : columns) want.one = std::max(want.one, c);
      if (turned) std::swap(want.one, want.infinity);
      EXPECT_EQ(got.one, want.one);
      EXPECT_EQ(got.infinity, want.infinity);
      EXPECT_EQ(got.largest, want.largest);
      const Rational error = Rational(got.frobenius) * Rational(got.frobenius) - squares;
      EXPECT_LE(error.size(), squares * Rational(sizeof(R) == 8 && exponent < 0 ? 1e-3 : 1e-14));
    }
  }
}

TEST(Norms, OfNothingAreZeroAndOfNanNan) {
  const std::vector<double> bad{1, NAN, 3, 4}, infinite{1, -INFINITY, 3, 4}, huge{1e200, 1e200, 1e200, 1e200};
  EXPECT_EQ(wp::kernels::norms<double>(0, 3, {nullptr, 3, 1}).one, 0);
  EXPECT_TRUE(std::isnan(wp::kernels::norms<double>(2, 2, {bad.data(), 2, 1}).infinity));
  EXPECT_EQ(wp::kernels::norms<double>(2, 2, {infinite.data(), 2, 1}).frobenius, INFINITY);
  EXPECT_EQ(wp::kernels::norms<double>(2, 2, {huge.data(), 2, 1}).frobenius, 2e200);
}

// x ← B x or Bᴴ x for the inverse B = A⁻¹ itself.
template <class T>
struct Inverse {
  std::int64_t n;
  std::vector<T> b;
  void apply(T* x, bool transposed) const {
    std::vector<T> y(at(n));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const T v = transposed ? b[at(j * n + i)] : b[at(i * n + j)];
        if constexpr (rationals::parts<T> == 2)
          y[at(i)] += (transposed ? std::conj(v) : v) * x[j];
        else
          y[at(i)] += v * x[j];
      }
    std::copy(y.begin(), y.end(), x);
  }
  wp::kernels::InverseNorm<T> estimate(double enough = 0) const {
    return wp::kernels::inverse_norm<T>(
        n, [this](T* x) { apply(x, false); }, [this](T* x) { apply(x, true); }, {}, enough);
  }
};

TYPED_TEST(Condition, EstimateIsALowerBoundWithinAFactorOfThree) {
  using T = TypeParam;
  const double slack =
      20 * static_cast<double>(std::numeric_limits<typename wp::kernels::RealOf<T>::type>::epsilon());
  int exact = 0, trials = 0;
  for (const std::int64_t n : {1, 2, 3, 10, 50})
    for (unsigned seed = 0; seed < 40; ++seed, ++trials) {
      const Inverse<T> inverse{n, random<T>(n * n, seed + 100 * static_cast<unsigned>(n))};
      const double norm = wp::kernels::norms<T>(n, n, {inverse.b.data(), n, 1}).one;
      const auto got = inverse.estimate();
      const double estimate = static_cast<double>(got.estimate);
      EXPECT_LE(estimate, norm * (1 + slack)) << n;
      EXPECT_GE(estimate, norm / 3) << n;
      EXPECT_LE(got.solves, 11);
      exact += estimate >= norm * (1 - slack);
      ASSERT_EQ(got.vector.size(), at(n));
      double size = 0;
      for (const T v : got.vector) size += static_cast<double>(std::abs(v));
      EXPECT_GE(size, estimate * (1 - slack));
    }
  EXPECT_GE(exact * 2, trials);
}

TEST(Estimate, FindsTheLargestColumnOfAnInverseThatCancelsOnTheFirstVector) {
  // B·(1, …, 1) = 0: the first step sees nothing, the alternating vector does.
  const std::int64_t n = 6;
  Inverse<double> inverse{n, std::vector<double>(n * n, -1)};
  for (std::int64_t i = 0; i < n; ++i) inverse.b[at(i * n + i)] = static_cast<double>(n - 1);
  EXPECT_GE(inverse.estimate().estimate, 10.0 / 3);
}

TEST(Estimate, EndsAfterTheFirstUnitVectorWhereItIsSmallEnough) {
  const std::int64_t n = 30;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Inverse<double> inverse{n, random<double>(n * n, seed)};
    const double norm = wp::kernels::norms<double>(n, n, {inverse.b.data(), n, 1}).one;
    const auto ended = inverse.estimate(2 * norm), whole = inverse.estimate(norm / 100);
    EXPECT_EQ(ended.solves, 4);
    EXPECT_LE(ended.estimate, whole.estimate);
    EXPECT_GE(ended.estimate, norm / 3);
    EXPECT_EQ(whole.estimate, inverse.estimate().estimate);
  }
}

TEST(Estimate, IsInfiniteWhereASolveIsNotFiniteAndZeroForNothing) {
  const auto bad = [](double* x) { x[0] = NAN; };
  EXPECT_EQ(wp::kernels::inverse_norm<double>(3, bad, bad).estimate, INFINITY);
  const auto infinite = [](double* x) { x[0] = INFINITY; };
  EXPECT_EQ(wp::kernels::inverse_norm<double>(1, infinite, infinite).estimate, INFINITY);
  EXPECT_EQ(wp::kernels::inverse_norm<double>(0, bad, bad).estimate, 0);
}

// Largest exponents of rows and columns of the scaled matrix.
template <class T>
void expect_even(std::int64_t m, std::int64_t n, const std::vector<T>& a, const Equilibration& q, double low,
                 double high) {
  std::vector<double> rows(at(m)), columns(at(n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = a[at(i * n + j)];
      double size = 0;
      if constexpr (rationals::parts<T> == 2)
        size = std::max(std::fabs(static_cast<double>(v.real())), std::fabs(static_cast<double>(v.imag())));
      else
        size = std::fabs(static_cast<double>(v));
      size = std::ldexp(size, q.rows[at(i)] + q.columns[at(j)]);
      rows[at(i)] = std::max(rows[at(i)], size);
      columns[at(j)] = std::max(columns[at(j)], size);
    }
  for (const std::vector<double>* lines : {&rows, &columns})
    for (const double v : *lines) EXPECT_TRUE(v >= low && v < high) << v;
}

TYPED_TEST(Condition, EquilibrationBringsEveryLineNearOneAndIsExact) {
  using T = TypeParam;
  using R = typename wp::kernels::RealOf<T>::type;
  const std::int64_t n = 8;
  const std::vector<T> plain = random<T>(n * n, 4);
  std::vector<T> a = plain, symmetric(at(n * n));
  std::mt19937 g(9);
  const int range = std::numeric_limits<R>::max_exponent / 4;
  std::vector<int> rows, columns;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.push_back(static_cast<int>(g() % static_cast<unsigned>(2 * range)) - range);
    columns.push_back(static_cast<int>(g() % static_cast<unsigned>(2 * range)) - range);
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T base = plain[at(std::min(i, j) * n + std::max(i, j))];
      symmetric[at(i * n + j)] = base * static_cast<R>(std::ldexp(1.0, rows[at(i)] + rows[at(j)]));
      a[at(i * n + j)] *= static_cast<R>(std::ldexp(1.0, rows[at(i)] + columns[at(j)]));
    }
  const Equilibration q = wp::kernels::equilibrate<T>(n, n, {a.data(), n, 1});
  EXPECT_TRUE(q.needed);
  expect_even(n, n, a, q, 0.5, 1);
  std::vector<T> scaled(at(n * n));
  EXPECT_TRUE(wp::kernels::scale<T>(n, n, View<T>{a.data(), n, 1}, q.rows.data(), q.columns.data(), scaled.data()));
  const Equilibration s = wp::kernels::equilibrate_symmetric<T>(n, {symmetric.data(), n, 1});
  EXPECT_TRUE(s.needed);
  EXPECT_EQ(s.rows, s.columns);
  expect_even(n, n, symmetric, s, 0.25, 2);
}

TYPED_TEST(Condition, EquilibrationLeavesWellScaledMatricesAlone) {
  using T = TypeParam;
  std::vector<T> a;
  for (int i = 0; i < 36; ++i) a.push_back(number<T>(1 + i % 5 * 0.2, -0.5));
  const Equilibration q = wp::kernels::equilibrate<T>(6, 6, {a.data(), 6, 1});
  EXPECT_FALSE(q.needed || wp::kernels::equilibrate_symmetric<T>(6, {a.data(), 6, 1}).needed);
  EXPECT_EQ(q.rows, std::vector<int>(6, 0));
  EXPECT_EQ(q.columns, std::vector<int>(6, 0));
}

TEST(Equilibrate, ReportsZeroLinesAndMakesADiagonalTheIdentity) {
  const std::vector<double> diagonal{1e150, 0, 0, 1e-150}, zero{0, 0, 0, 0, 1, 0};
  for (const Equilibration& q : {wp::kernels::equilibrate<double>(2, 2, {diagonal.data(), 2, 1}),
                                 wp::kernels::equilibrate_symmetric<double>(2, {diagonal.data(), 2, 1})}) {
    EXPECT_TRUE(q.needed);
    expect_even(2, 2, diagonal, q, 0.25, 2);
  }
  const Equilibration q = wp::kernels::equilibrate<double>(2, 3, {zero.data(), 3, 1});
  EXPECT_EQ(q.zero_rows, 1);
  EXPECT_EQ(q.first_zero_row, 0);
  EXPECT_EQ(q.zero_columns, 2);
  EXPECT_EQ(q.first_zero_column, 0);
  EXPECT_FALSE(wp::kernels::equilibrate<double>(0, 0, {nullptr, 1, 1}).needed);
}

TEST(Scale, SaysWhenAnElementFallsBelowTheNormalNumbers) {
  const std::vector<double> a{0x1p1000, 0x1.123456789p-60};
  const int e = wp::kernels::prescale_exponent<double>(1, 2, {a.data(), 2, 1}), none[2] = {0, 0};
  EXPECT_EQ(e, -1001);
  double to[2];
  EXPECT_FALSE(wp::kernels::scale<double>(1, 2, View<double>{a.data(), 2, 1}, &e, none, to));
  EXPECT_EQ(to[0], 0.5);
  const float small = 0x1p-140f;
  double wide = 0;
  const int up = wp::kernels::prescale_exponent<float>(1, 1, {&small, 1, 1});
  EXPECT_TRUE(wp::kernels::scale<float>(1, 1, View<float>{&small, 1, 1}, &up, none, &wide));
  EXPECT_EQ(wide, 0.5);
}

}  // namespace
