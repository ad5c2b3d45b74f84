// Exact rank, singularity and dependencies of floats, against rationals.
#include "kernels/modular.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/prime_field.hpp"
#include "rationals.hpp"
#include "wellposed/dtype.hpp"
#include "wellposed/threads.hpp"

namespace {
using rationals::number;
using rationals::Rational;
using wp::kernels::View;

template <class T>
class Modular : public testing::Test {};
using Types = testing::Types<float, double, wp::complex64, wp::complex128>;
TYPED_TEST_SUITE(Modular, Types);

template <class T>
T random(std::mt19937& g, int exponents) {
  std::normal_distribution<double> d;
  const int e = exponents ? static_cast<int>(g() % static_cast<unsigned>(2 * exponents + 1)) - exponents : 0;
  return number<T>(std::ldexp(d(g), e), std::ldexp(d(g), e));
}
template <class T>
View<T> row_major(const std::vector<T>& a, std::int64_t n) {
  return {a.data(), n, 1};
}

// A of rank at most k: small integers times small integers, rows and columns scaled by powers of two.
template <class T>
std::vector<T> of_rank(std::int64_t m, std::int64_t n, std::int64_t k, std::mt19937& g, int exponents) {
  const auto small = [&] { return static_cast<double>(g() % 9) - 4; };
  std::vector<T> left, right, a;
  for (std::int64_t i = 0; i < m * k; ++i) left.push_back(number<T>(small(), small()));
  for (std::int64_t i = 0; i < k * n; ++i) right.push_back(number<T>(small(), small()));
  const auto power = [&] {
    return exponents ? std::ldexp(1.0, static_cast<int>(g() % static_cast<unsigned>(exponents))) : 1.0;
  };
  std::vector<double> columns;
  for (std::int64_t j = 0; j < n; ++j) columns.push_back(power());
  for (std::int64_t i = 0; i < m; ++i) {
    const double row = 1 / power();
    for (std::int64_t j = 0; j < n; ++j) {
      T sum(0);
      for (std::int64_t l = 0; l < k; ++l)
        sum += left[static_cast<std::size_t>(i * k + l)] * right[static_cast<std::size_t>(l * n + j)];
      a.push_back(sum * number<T>(row * columns[static_cast<std::size_t>(j)], 0));
    }
  }
  return a;
}

TYPED_TEST(Modular, RankIsThatOfRationalEliminationForEveryShapeAndLayout) {
  using T = TypeParam;
  std::mt19937 g(7);
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t m = g() % 12, n = g() % 12, k = g() % 8;
    const std::vector<T> a =
        trial % 2 ? of_rank<T>(m, n, k, g, trial % 3 ? 40 : 0) : of_rank<T>(n, m, k, g, trial % 3 ? 40 : 0);
    const View<T> view = trial % 2 ? row_major(a, n) : View<T>{a.data(), 1, m};
    const std::int64_t want = rationals::rank(m, n, view.data, view.rows, view.columns);
    EXPECT_EQ(wp::kernels::exact_rank(m, n, view), want) << m << " " << n << " " << k;
    if (m == n) {
      EXPECT_EQ(wp::kernels::exactly_singular(n, view), want < n);
      EXPECT_EQ(wp::kernels::proved_nonsingular(n, view), want == n);
    }
  }
}

TYPED_TEST(Modular, TellsOneUnitInTheLastPlaceFromSingular) {
  using T = TypeParam;
  using R = typename wp::kernels::RealOf<T>::type;
  std::mt19937 g(11);
  for (const std::int64_t n : {2, 3, 9, 17, 40}) {
    std::vector<T> a;
    for (std::int64_t i = 0; i < n * n; ++i) a.push_back(random<T>(g, 30));
    for (std::int64_t j = 0; j < n; ++j)
      a[static_cast<std::size_t>((n - 1) * n + j)] = a[static_cast<std::size_t>(j)];
    EXPECT_TRUE(wp::kernels::exactly_singular(n, row_major(a, n)));
    EXPECT_EQ(wp::kernels::exact_rank(n, n, row_major(a, n)), n - 1);
    R& last = reinterpret_cast<R*>(a.data() + n * n - 1)[0];
    last = std::nextafter(last, R(0));
    EXPECT_TRUE(wp::kernels::proved_nonsingular(n, row_major(a, n)));
    EXPECT_FALSE(wp::kernels::exactly_singular(n, row_major(a, n)));
    EXPECT_EQ(wp::kernels::exact_rank(n, n, row_major(a, n)), n);
  }
}

TYPED_TEST(Modular, DenormalsHugeNumbersAndSignedZerosAreExact) {
  using T = TypeParam;
  using R = typename wp::kernels::RealOf<T>::type;
  const double tiny = std::numeric_limits<R>::denorm_min(), huge = std::numeric_limits<R>::max();
  const std::vector<T> independent{number<T>(tiny, 0), number<T>(huge, 0), number<T>(-tiny, 0), number<T>(huge, 0)};
  const std::vector<T> dependent{number<T>(tiny, 0), number<T>(0.0, 0), number<T>(huge, 0), number<T>(-0.0, 0)};
  EXPECT_TRUE(wp::kernels::proved_nonsingular(2, row_major(independent, 2)));
  EXPECT_TRUE(wp::kernels::exactly_singular(2, row_major(dependent, 2)));
  EXPECT_EQ(wp::kernels::exact_rank(2, 2, row_major(dependent, 2)), 1);
}

TYPED_TEST(Modular, EmptyMatricesAreRegularAndNonFiniteOnesHaveNoRank) {
  using T = TypeParam;
  const std::vector<T> none(1, T(0)),
      bad{number<T>(1, 0), number<T>(NAN, 0), number<T>(0, 0), number<T>(INFINITY, 0)};
  EXPECT_TRUE(wp::kernels::proved_nonsingular(0, row_major(none, 0)));
  EXPECT_FALSE(wp::kernels::exactly_singular(0, row_major(none, 0)));
  EXPECT_EQ(wp::kernels::exact_rank(0, 3, row_major(none, 3)), 0);
  EXPECT_EQ(wp::kernels::exact_rank(3, 0, row_major(none, 0)), 0);
  EXPECT_TRUE(wp::kernels::exactly_singular(1, row_major(none, 1)));
  EXPECT_EQ(wp::kernels::exact_rank(2, 2, row_major(bad, 2)), -1);
  EXPECT_FALSE(wp::kernels::proved_nonsingular(2, row_major(bad, 2)));
  EXPECT_FALSE(wp::kernels::exactly_singular(2, row_major(bad, 2)));
  EXPECT_FALSE(wp::kernels::exact_dependency(2, 2, row_major(bad, 2)));
  EXPECT_FALSE(wp::kernels::exact_dependency(0, 2, row_major(none, 2)));
}

// Σ factor · row − row, exactly.
template <class T>
bool holds(std::int64_t n, View<T> a, const wp::kernels::Dependency& d) {
  const auto exact = [](const wp::kernels::Ratio& c) {
    Rational q(0.0), bottom(0.0);
    fmpq_set_si(q.raw(), c.numerator, static_cast<ulong>(c.denominator));
    return q.shift(c.exponent);
  };
  const auto part = [&](std::int64_t i, std::int64_t j, int k) {
    return Rational(static_cast<double>(
        reinterpret_cast<const typename wp::kernels::RealOf<T>::type*>(a.data + i * a.rows + j * a.columns)[k]));
  };
  for (std::int64_t j = 0; j < n; ++j) {
    Rational re = part(d.row, j, 0), im = rationals::parts<T> == 2 ? part(d.row, j, 1) : Rational();
    for (const auto& t : d.terms) {
      const Rational x = exact(t.re), y = exact(t.im), u = part(t.row, j, 0);
      const Rational v = rationals::parts<T> == 2 ? part(t.row, j, 1) : Rational();
      re -= x * u - y * v;
      im -= x * v + y * u;
    }
    if (!(re == Rational()) || !(im == Rational())) return false;
  }
  return true;
}

TYPED_TEST(Modular, DependenciesHoldInRationals) {
  using T = TypeParam;
  std::mt19937 g(23);
  int found = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const std::int64_t m = 1 + g() % 10, n = 1 + g() % 10, k = g() % 5;
    const std::vector<T> a =
        trial % 2 ? of_rank<T>(m, n, k, g, trial % 3 ? 40 : 0) : of_rank<T>(n, m, k, g, trial % 3 ? 40 : 0);
    const View<T> view = trial % 2 ? row_major(a, n) : View<T>{a.data(), 1, m};
    const auto d = wp::kernels::exact_dependency(m, n, view);
    const std::int64_t rank = rationals::rank(m, n, view.data, view.rows, view.columns);
    if (rank == m) {
      EXPECT_FALSE(d);
      continue;
    }
    if (d) {
      EXPECT_TRUE(holds(n, view, *d)) << m << " " << n << " " << k;
    }
    found += d.has_value();
    EXPECT_TRUE(d || k > 2) << m << " " << n << " " << k;
  }
  EXPECT_GT(found, 30);
}

TYPED_TEST(Modular, AnyRatioOfTwoFloatsIsFound) {
  using T = TypeParam;
  using R = typename wp::kernels::RealOf<T>::type;
  // c · u is exact for u with few bits, so rows (c₀u, c₁u) depend by the ratio of c₁ and c₀, of full mantissas.
  const R c0 = static_cast<R>(M_PI), c1 = static_cast<R>(-M_E * 1e-20);
  const std::vector<T> a{number<T>(static_cast<double>(c0), 0),     number<T>(static_cast<double>(c0) * 4, 0),
                         number<T>(static_cast<double>(c0) / 8, 0), number<T>(static_cast<double>(c1), 0),
                         number<T>(static_cast<double>(c1) * 4, 0), number<T>(static_cast<double>(c1) / 8, 0)};
  const auto d = wp::kernels::exact_dependency(2, 3, row_major(a, 3));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->row, 1);
  ASSERT_EQ(d->terms.size(), 1u);
  EXPECT_EQ(d->terms[0].row, 0);
  EXPECT_TRUE(holds(3, row_major(a, 3), *d));
  EXPECT_EQ(d->terms[0].re.value(), static_cast<double>(c1) / static_cast<double>(c0));
}

TEST(Dependency, SaysThatRowOneIsATinyBitMoreThanRowZero) {
  const std::vector<double> a{1, 1, 1.00001, 1.00001};
  const auto d = wp::kernels::exact_dependency(2, 2, row_major(a, 2));
  ASSERT_TRUE(d && d->terms.size() == 1);
  EXPECT_EQ(d->row, 1);
  EXPECT_EQ(d->terms[0].re.value(), 1.00001);
  EXPECT_EQ(d->terms[0].im.value(), 0);
}

TEST(Dependency, PrefersTheFewestTerms) {
  const std::vector<double> a{1, 2, 3, 4, 0, 1, 5, -2, 7, 3, 2, 2, 8, 6, 10, 4, 0, 2, 10, -4};
  const auto d =
      wp::kernels::exact_dependency(5, 4, row_major(a, 4));  // row 3 = the sum of the others; row 4 = 2 · row 1
  ASSERT_TRUE(d && d->terms.size() == 1);
  EXPECT_EQ(d->row, 4);
  EXPECT_EQ(d->terms[0].row, 1);
  EXPECT_EQ(d->terms[0].re.value(), 2);
  const std::vector<double> zero{1, 2, 0, 0, 3, 4};
  const auto none = wp::kernels::exact_dependency(3, 2, row_major(zero, 2));
  ASSERT_TRUE(none && none->terms.empty());
  EXPECT_EQ(none->row, 1);
}

TEST(Dependency, OfColumnsIsThatOfTheTransposedView) {
  const std::vector<double> a{1, 3, 0.5, 2, 6, 7, 4, 12, -1};
  const auto d = wp::kernels::exact_dependency(3, 3, View<double>{a.data(), 1, 3});
  ASSERT_TRUE(d && d->terms.size() == 1);
  EXPECT_EQ(d->row, 1);
  EXPECT_EQ(d->terms[0].re.value(), 3);
}

TEST(Singularity, OfPascalsMatrixIsDisprovedWhereItsConditionIs4e16) {
  const std::int64_t n = 16;
  std::vector<double> a(n * n, 1);
  for (std::size_t i = 1; i < n; ++i)
    for (std::size_t j = 1; j < n; ++j) a[i * n + j] = a[(i - 1) * n + j] + a[i * n + j - 1];
  EXPECT_TRUE(wp::kernels::proved_nonsingular(n, row_major(a, n)));
  a[n * n - 1] -= 1;  // the determinant is 1, and so is the cofactor of the last element
  EXPECT_TRUE(wp::kernels::exactly_singular(n, row_major(a, n)));
}

TEST(Singularity, DoesNotDependOnThreads) {
  std::mt19937 g(3);
  const std::int64_t n = 90;
  std::vector<wp::complex128> a;
  for (std::int64_t i = 0; i < n * n; ++i) a.push_back(random<wp::complex128>(g, 200));
  for (std::int64_t j = 0; j < n; ++j)
    a[static_cast<std::size_t>(70 * n + j)] = 4.0 * a[static_cast<std::size_t>(20 * n + j)];
  const int before = wp::threads();
  for (const int threads : {1, 3}) {
    wp::set_threads(threads);
    EXPECT_EQ(wp::kernels::exact_rank(n, n, row_major(a, n)), n - 1);
    const auto d = wp::kernels::exact_dependency(n, n, row_major(a, n));
    ASSERT_TRUE(d && d->terms.size() == 1);
    EXPECT_EQ(d->row, 70);
    EXPECT_EQ(d->terms[0].row, 20);
    EXPECT_EQ(d->terms[0].re.value(), 4);
  }
  wp::set_threads(before);
}

TEST(PrimeField, AgreesWithLongDivision) {
  wp::kernels::Primes primes(5);
  std::mt19937_64 g(5);
  for (int k = 0; k < 20; ++k) {
    const wp::kernels::PrimeField f(primes.next());
    const std::uint64_t p = f.prime();
    EXPECT_TRUE(p > 1ULL << 60 && p < 1ULL << 61 && p % 4 == 3);
    EXPECT_TRUE(n_is_prime(p));
    for (int t = 0; t < 200; ++t) {
      const std::uint64_t a = t ? g() % p : p - 1, b = t > 1 ? g() % p : p - 1;
      const auto x = f.of_integer(a), y = f.of_integer(b);
      EXPECT_EQ(f.to_integer(f.product(x, y)), static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b % p));
      EXPECT_EQ(f.to_integer(f.sum(x, y)), (a + b) % p);
      EXPECT_EQ(f.to_integer(f.difference(x, y)), (a + (p - b)) % p);
      if (a) {
        EXPECT_EQ(f.to_integer(f.product(x, f.inverse(x))), 1u);
      }
      const int e = static_cast<int>(g() % 4000) - 2000;
      EXPECT_EQ(f.to_integer(f.product(f.power_of_two(e), f.power_of_two(-e))), 1u);
    }
  }
}

}  // namespace
