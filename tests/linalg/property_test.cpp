// What linear algebra promises for whole classes of matrices.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "long_tests.hpp"
#include "rationals.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using namespace wp;
using linalg::Status;
using rationals::Rational;

std::vector<double> orthogonal(std::int64_t n, std::mt19937& g) {
  std::normal_distribution<double> normal;
  std::vector<double> q(static_cast<std::size_t>(n * n));
  const auto row = [&](std::int64_t i) { return q.data() + i * n; };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) row(i)[j] = normal(g);
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t k = 0; k < i; ++k) {
        double dot = 0;
        for (std::int64_t j = 0; j < n; ++j) dot += row(i)[j] * row(k)[j];
        for (std::int64_t j = 0; j < n; ++j) row(i)[j] -= dot * row(k)[j];
      }
    double norm = 0;
    for (std::int64_t j = 0; j < n; ++j) norm += row(i)[j] * row(i)[j];
    for (std::int64_t j = 0; j < n; ++j) row(i)[j] /= std::sqrt(norm);
  }
  return q;
}
// U diag(σ) V with σ from 1 to 1/cond, geometric.
std::vector<double> with_condition(std::int64_t n, double cond, std::mt19937& g) {
  const std::vector<double> u = orthogonal(n, g), v = orthogonal(n, g);
  std::vector<double> a(static_cast<std::size_t>(n * n));
  for (std::int64_t k = 0; k < n; ++k) {
    const double sigma = n > 1 ? std::pow(cond, -static_cast<double>(k) / static_cast<double>(n - 1)) : 1;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        a[static_cast<std::size_t>(i * n + j)] +=
            u[static_cast<std::size_t>(k * n + i)] * sigma * v[static_cast<std::size_t>(k * n + j)];
  }
  return a;
}

// max |x − X| / max |x| over the columns of the exact solution x of A x = B.
double true_error(std::int64_t n, std::int64_t k, const std::vector<double>& a, const std::vector<double>& b,
                  const Tensor& got) {
  rationals::Matrix A(n, n), B(n, k), X(n, k);
  rationals::fill(A, n, n, a.data(), n, 1);
  rationals::fill(B, n, k, b.data(), k, 1);
  if (!X.solve(A, B)) return HUGE_VAL;
  const Tensor x = astype(got, f64);
  double worst = 0;
  for (std::int64_t j = 0; j < k; ++j) {
    double error = 0, largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = k == 1 ? x.at(i).item<double>() : x[{i, j}].item<double>();
      error = std::max(error, std::fabs((X.get(i, j) - Rational(v)).value()));
      largest = std::max(largest, std::fabs(X.get(i, j).value()));
    }
    worst = std::max(worst, error / largest);
  }
  return worst;
}

std::vector<double> vector(std::int64_t n, std::mt19937& g) {
  std::normal_distribution<double> normal;
  std::vector<double> b;
  for (std::int64_t i = 0; i < n; ++i) b.push_back(normal(g));
  return b;
}

TEST(LinalgProperty, NoAlarmOnMatricesThatAreOnlyBadlyScaledAndTheAnswersAreRight) {
  std::mt19937 g(7);
  for (int t = 0; t < 360; ++t) {
    const std::int64_t n =
        t % 3 == 0 ? 7 + static_cast<std::int64_t>(g() % 6) : 1 + static_cast<std::int64_t>(g() % 6);
    std::vector<double> a = with_condition(n, 1e3, g), b = vector(n, g), identity(a.size());
    std::vector<double> rows, columns;
    const unsigned decades = n > 1 && n < 5 ? 60 : 100;
    const auto unit = [&] { return std::pow(10.0, static_cast<double>(g() % (2 * decades + 1)) - decades); };
    for (std::int64_t i = 0; i < n; ++i) {
      rows.push_back(unit());
      columns.push_back(unit());
      identity[static_cast<std::size_t>(i * n + i)] = 1;
    }
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        a[static_cast<std::size_t>(i * n + j)] *=
            rows[static_cast<std::size_t>(i)] * columns[static_cast<std::size_t>(j)];
    for (std::int64_t i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] *= rows[static_cast<std::size_t>(i)];
    const auto x = linalg::diagnosed::solve(Tensor::from(a, {n, n}), Tensor::from(b, {n}));
    ASSERT_EQ(x.diagnosis.status(), Status::ok) << "trial " << t << '\n' << x.diagnosis;
    ASSERT_GE(x.diagnosis[0].digits, 12) << t;
    ASSERT_LE(true_error(n, 1, a, b, x.value), 1e-12) << "trial " << t << '\n' << x.diagnosis;
    const auto inverse = linalg::diagnosed::inv(Tensor::from(a, {n, n}));
    ASSERT_EQ(inverse.diagnosis.status(), Status::ok) << "trial " << t << '\n' << inverse.diagnosis;
    ASSERT_LE(true_error(n, n, a, identity, inverse.value), 1e-12) << "trial " << t << '\n' << inverse.diagnosis;
  }
}

// Zeros hide from the largest elements what rows and columns weigh. Scales are powers of two, so that A = R·M·C with
// small integers M is exact; what is judged is C·A⁻¹·R against M⁻¹.
TEST(LinalgProperty, NoAlarmOnBadlyScaledMatricesWithZeros) {
  std::mt19937 g(17);
  for (int t = 0; t < 600; ++t) {
    const std::int64_t n = 2 + static_cast<std::int64_t>(g() % 5);
    const int spread = t % 3 == 0 ? 40 : t % 3 == 1 ? 55 : 100;
    std::vector<double> m(static_cast<std::size_t>(n * n)), a, identity(m.size()), b = vector(n, g);
    for (double& v : m) v = static_cast<double>(g() % 5) - 2;
    if (rationals::rank(n, n, m.data(), n, 1) < n) continue;
    std::vector<int> rows, columns;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::vector<int>* to : {&rows, &columns})
        to->push_back(static_cast<int>(g() % static_cast<unsigned>(2 * spread + 1)) - spread);
    const auto scaled = [&](const Tensor& x, int sign, bool turned) {
      std::vector<double> out;
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < rows.size(); ++j)
          out.push_back(std::ldexp(x[{static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)}].item<double>(),
                                   sign * (turned ? columns[i] + rows[j] : rows[i] + columns[j])));
      return Tensor::from(out, {n, n});
    };
    const Tensor A = scaled(Tensor::from(m, {n, n}), 1, false);
    for (std::int64_t i = 0; i < n; ++i) {
      identity[static_cast<std::size_t>(i * n + i)] = 1;
      b[static_cast<std::size_t>(i)] = std::ldexp(b[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(i)]);
    }
    const auto x = linalg::diagnosed::solve(A, Tensor::from(b, {n}));
    ASSERT_EQ(x.diagnosis.status(), Status::ok) << "trial " << t << '\n' << x.diagnosis << A;
    const auto inverse = linalg::diagnosed::inv(A);
    ASSERT_EQ(inverse.diagnosis.status(), Status::ok) << "trial " << t << '\n' << inverse.diagnosis << A;
    ASSERT_LE(true_error(n, n, m, identity, scaled(inverse.value, 1, true)), 1e-13) << "trial " << t << '\n' << A;
  }
}

TEST(LinalgProperty, SmallSinglePrecisionSystemsAreRightTo1eMinus6UpToCondition1e10) {
  std::mt19937 g(8);
  for (int t = 0; t < 40; ++t) {
    const std::int64_t n = 1 + static_cast<std::int64_t>(g() % (t < 36 ? 12 : 64));
    const std::vector<double> wide = with_condition(n, std::pow(10.0, static_cast<double>(g() % 100) / 10), g);
    std::vector<float> a(wide.begin(), wide.end()), b(static_cast<std::size_t>(n), 1.0F);
    const std::vector<double> exact(a.begin(), a.end()), ones(static_cast<std::size_t>(n), 1.0);
    const Tensor x = linalg::solve(Tensor::from(a, {n, n}), Tensor::from(b, {n}));
    ASSERT_EQ(x.dtype(), f32);
    ASSERT_LE(true_error(n, 1, exact, ones, x), 1e-6) << "trial " << t << ", n = " << n;
  }
}

// Whole numbers, so that f32 holds them: Pascal's matrices (condition 4e9 at n = 10), and products of unit triangles.
TEST(LinalgProperty, SinglePrecisionInversesOfWholeNumbersAreRightTo1eMinus6) {
  std::mt19937 g(18);
  for (int t = 0; t < 120; ++t) {
    const std::int64_t n = t < 9 ? t + 2 : 2 + static_cast<std::int64_t>(g() % 11);
    std::vector<double> a(static_cast<std::size_t>(n * n)), identity(a.size());
    const auto at = [&](std::vector<double>& m, std::int64_t i, std::int64_t j) -> double& {
      return m[static_cast<std::size_t>(i * n + j)];
    };
    std::vector<double> lower(a.size()), upper(a.size());
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        at(identity, i, j) = i == j;
        if (t < 9) at(a, i, j) = i == 0 || j == 0 ? 1 : at(a, i - 1, j) + at(a, i, j - 1);
        at(lower, i, j) = i == j ? 1 : i > j ? static_cast<double>(g() % 5) - 2 : 0;
        at(upper, i, j) = i == j ? 1 : i < j ? static_cast<double>(g() % 5) - 2 : 0;
      }
    for (std::int64_t i = 0; i < n && t >= 9; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t k = 0; k < n; ++k) at(a, i, j) += at(lower, i, k) * at(upper, k, j);
    if (linalg::cond(Tensor::from(a, {n, n})).item<double>() > 1e10) continue;
    const Tensor narrow = astype(Tensor::from(a, {n, n}), f32);
    const std::vector<double> ones_of(static_cast<std::size_t>(n), 1.0);
    ASSERT_LE(true_error(n, n, a, identity, linalg::inv(narrow)), 1e-6) << "trial " << t << ", n = " << n;
    ASSERT_LE(true_error(n, 1, a, ones_of, linalg::solve(narrow, ones({n}, {.dtype = f32}))), 1e-6) << "trial " << t;
  }
}

// Whole numbers again, up to n = 64 and to the edge: rows are added to rows until the condition is between 10^(k − 1)
// and 10^k, so that the inverse is a matrix of whole numbers too.
TEST(LinalgProperty, SinglePrecisionIsRightTo1eMinus6AtEverySizeUpTo64AndConditionUpTo1e10) {
  std::mt19937 g(28);
  double worst = 0, most = 0;
  for (const std::int64_t n : {2, 3, 8, 17, 32, 48, 64})
    for (int k = 3; k <= 10; ++k) {
      const auto size = static_cast<std::size_t>(n);
      std::vector<double> a(size * size), inverse(a.size()), before_a, before_inverse;
      for (std::size_t i = 0; i < size; ++i) a[i * size + i] = inverse[i * size + i] = 1;
      const auto norm = [](const std::vector<double>& m) {
        double squares = 0;
        for (const double v : m) squares += v * v;
        return std::sqrt(squares);
      };
      do {  // A ← E A, A⁻¹ ← A⁻¹ E⁻¹ for E that adds c times row j to row i
        before_a = a;
        before_inverse = inverse;
        const std::size_t i = g() % size, j = (i + 1 + g() % (size - 1)) % size;
        const double c = static_cast<double>(g() % 2 + 1) * (g() % 2 ? 1 : -1);
        for (std::size_t e = 0; e < size; ++e) a[i * size + e] += c * a[j * size + e];
        for (std::size_t e = 0; e < size; ++e) inverse[e * size + j] -= c * inverse[e * size + i];
      } while (norm(a) * norm(inverse) < std::pow(10.0, k));
      const double condition = norm(before_a) * norm(before_inverse);  // at least that of the 2-norm
      std::vector<double> x(size);
      double largest = 0, largest_x = 0;
      for (std::size_t e = 0; e < a.size(); ++e) {
        ASSERT_LT(std::fabs(before_a[e]), 0x1p24);
        x[e / size] += before_inverse[e];
        largest = std::max(largest, std::fabs(before_inverse[e]));
      }
      for (const double v : x) largest_x = std::max(largest_x, std::fabs(v));
      const Tensor A = astype(Tensor::from(before_a, {n, n}), f32);
      const auto got = linalg::diagnosed::inv(A);
      const auto solved = linalg::diagnosed::solve(A, ones({n}, {.dtype = f32}));
      ASSERT_TRUE(got.diagnosis.ok() && solved.diagnosis.ok()) << n << ' ' << condition << got.diagnosis;
      const Tensor off = max(abs(astype(got.value, f64) - Tensor::from(before_inverse, {n, n}))) / largest,
                   off_x = max(abs(astype(solved.value, f64) - Tensor::from(x, {n}))) / largest_x;
      ASSERT_LE(off.item<double>(), 1e-6) << n << ' ' << condition;
      ASSERT_LE(off_x.item<double>(), 1e-6) << n << ' ' << condition;
      worst = std::max(worst, off.item<double>());
      most = std::max(most, condition);
    }
  EXPECT_GT(most, 3e9);
  std::printf("worst error of f32 inverses %.1e, up to condition %.1e\n", worst, most);
}

TEST(LinalgProperty, TheBackwardErrorIsThatOfTheAnswerThatIsGiven) {
  std::mt19937 g(29);
  for (const double cond : {1e1, 1e6, 1e12}) {
    const std::int64_t n = 40;
    const std::vector<double> a = with_condition(n, cond, g), b = orthogonal(n, g);
    const Tensor rhs = Tensor::from(std::vector<double>(b.begin(), b.begin() + n), {n});
    const auto r = linalg::diagnosed::solve(Tensor::from(a, {n, n}), rhs, {.if_ill = "ignore", .refine = true});
    const std::vector<double> x = r.value.to_vector<double>();
    double worst = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      Rational rest(b[static_cast<std::size_t>(i)]), sizes = rest.size();
      for (std::int64_t j = 0; j < n; ++j) {
        const Rational term =
            Rational(a[static_cast<std::size_t>(i * n + j)]) * Rational(x[static_cast<std::size_t>(j)]);
        rest -= term;
        sizes += term.size();
      }
      worst = std::max(worst, (rest.size() / sizes).value());
    }
    EXPECT_NEAR(r.diagnosis[0].backward_error, worst, 0.01 * worst) << "condition " << cond;
    EXPECT_LE(worst, 2e-16);
  }
}

TEST(LinalgProperty, WilkinsonsMatrixOfOrder60IsSolvedTo12Digits) {
  const std::int64_t n = 60;
  std::vector<double> a(static_cast<std::size_t>(n * n)), b(static_cast<std::size_t>(n), 1.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) a[static_cast<std::size_t>(i * n + j)] = -1;
    a[static_cast<std::size_t>(i * n + i)] = 1;
    a[static_cast<std::size_t>(i * n + n - 1)] = 1;
  }
  EXPECT_LE(true_error(n, 1, a, b, linalg::solve(Tensor::from(a, {n, n}), Tensor::from(b, {n}))), 1e-12);
}

TEST(LinalgProperty, CertifiedBoundsContainTheExactAnswerAndAreNarrowUpToCondition1e10) {
  std::mt19937 g(9);
  const int trials = long_tests() ? 10000 : 500;
  int easy = 0, certified = 0, narrow = 0;
  for (int t = 0; t < trials; ++t) {
    const std::int64_t n = 1 + static_cast<std::int64_t>(g() % 12);
    const double exponent = static_cast<double>(g() % 1500) / 100;
    const std::vector<double> a = with_condition(n, std::pow(10.0, exponent), g), b = vector(n, g);
    const auto x = linalg::diagnosed::solve(Tensor::from(a, {n, n}), Tensor::from(b, {n}), {.certify = true});
    const linalg::Member& m = x.diagnosis[0];
    const double error = m.certified ? true_error(n, 1, a, b, x.value) : 0;
    ASSERT_LE(error, m.certified ? m.forward_error * (1 + 1e-12) : 1) << "trial " << t;
    if (exponent > 10) continue;
    ++easy;
    certified += m.certified;
    narrow += m.certified && m.forward_error <= 100 * std::max(error, 0x1p-53);
  }
  EXPECT_GE(certified, easy * 95 / 100);
  EXPECT_EQ(narrow, certified);
}

TEST(LinalgProperty, HighAccuracyIsRightWhereDoubleHasNoDigitLeft) {
  for (const std::int64_t n : {10, 14, 18}) {
    std::vector<double> a, b(static_cast<std::size_t>(n), 1.0);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) a.push_back(1.0 / static_cast<double>(i + j + 1));
    const auto x = linalg::diagnosed::solve(Tensor::from(a, {n, n}), Tensor::from(b, {n}), {.accuracy = "high"});
    EXPECT_EQ(x.diagnosis.status(), Status::ok) << x.diagnosis;
    EXPECT_LE(true_error(n, 1, a, b, x.value), 4e-16) << n;
  }
}

TEST(LinalgProperty, AMemberIsBitEqualToTheSameMatrixAlone) {
  std::mt19937 g(10);
  for (const std::int64_t n : {1, 2, 5, 33, 80}) {
    std::vector<double> all;
    for (int k = 0; k < 7; ++k) {
      const std::vector<double> a = with_condition(n, k == 3 ? 1e18 : 1e4, g);
      all.insert(all.end(), a.begin(), a.end());
    }
    const Tensor stack = Tensor::from(all, {7, n, n});
    const Tensor together = linalg::inv(stack, {.if_ill = "nan"});
    for (std::int64_t k = 0; k < 7; ++k) {
      const Tensor alone = linalg::inv(stack.at(k), {.if_ill = "nan"});
      for (std::int64_t e = 0; e < n * n; ++e) {
        const double x = reshape(together.at(k), {-1}).at(e).item<double>(),
                     y = reshape(alone, {-1}).at(e).item<double>();
        ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << n << ' ' << k << ' ' << e;
      }
    }
  }
}

TEST(LinalgProperty, DeterminantsAndNormsSurviveTheEndsOfTheRange) {
  for (const double scale : {1e-300, 1e300}) {
    const Tensor a{{4 * scale, 1 * scale}, {2 * scale, 3 * scale}};
    const auto [sign, log] = linalg::slogdet(a);
    EXPECT_EQ(sign.item<double>(), 1);
    EXPECT_NEAR(log.item<double>(), std::log(10) + 2 * std::log(scale), 1e-12);
    EXPECT_NEAR(linalg::vector_norm(a).item<double>() / scale, std::sqrt(30.0), 1e-14);
    EXPECT_NEAR(linalg::cond(a).item<double>(), linalg::cond(Tensor{{4.0, 1.0}, {2.0, 3.0}}).item<double>(), 1e-14);
    EXPECT_NEAR((linalg::inv(a)[{0, 0}].item<double>()) * scale, 0.3, 1e-15);
    const Tensor balanced{{4 * scale, 1 / scale}, {2 * scale, 3 / scale}};
    EXPECT_NEAR(linalg::det(balanced).item<double>(), 10, 1e-13);
    EXPECT_NEAR(linalg::matrix_norm(a).item<double>() / scale, std::sqrt(30.0), 1e-14);
  }
}

std::string complaint_of(const Tensor& a, const std::vector<std::string>& names) {
  try {
    (void)linalg::inv(a, {.names = names});
    return "inverted";
  } catch (const SingularMatrix& e) {
    return e.what();
  }
}
TEST(LinalgProperty, DependenciesOfColumnsAreNamedInTheUsersLabelsAndThoseOfRowsByNumber) {
  const Tensor a{{2.0, 2.4, 1.0}, {1.0, 1.2, 1.0}, {4.0, 4.8, 1.0}};
  const std::string told = complaint_of(a, {"MSFT", "AAPL", "GOOG"});
  EXPECT_NE(told.find("AAPL = 1.2 × MSFT"), std::string::npos) << told;
  EXPECT_NE(told.find("Row 2 = "), std::string::npos) << told;
  const std::string table = complaint_of(Tensor{{1.0, 2.0}, {3.0, 6.0}}, {"x", "y"});
  EXPECT_NE(table.find("y = 2 × x"), std::string::npos) << table;
  EXPECT_NE(table.find("Row 1 = 3 × row 0"), std::string::npos) << table;
  const std::string covariance = complaint_of(Tensor{{4.0, 2.0}, {2.0, 1.0}}, {"x", "y"});
  EXPECT_NE(covariance.find("y = 0.5 × x"), std::string::npos) << covariance;
}
TEST(LinalgProperty, WhatIsOnlyNearlyDependentIsNotCalledEqual) {
  const auto d = linalg::diagnosed::inv(Tensor{{1.0, 1.0}, {1.0, 1.0 + 0x1p-52}}, {.if_ill = "nan"}).diagnosis;
  ASSERT_FALSE(d[0].exactly_singular);
  EXPECT_EQ(d[0].dependent, "row 1 ≈ row 0");
}

TEST(Diagnosis, OfWhatIsNotFiniteNamesTheFirstEntryAndTheCount) {
  const double nan = std::nan("");
  const auto one = linalg::diagnosed::inv(Tensor{{1.0, nan}, {nan, 1.0}}).diagnosis;
  EXPECT_NE(one[0].message.find("x[0, 1] is nan (2 of 4 elements are not finite)"), std::string::npos) << one;
  const auto right = linalg::diagnosed::solve(Tensor{{1.0, 0.0}, {0.0, 1.0}}, Tensor{1.0, nan}).diagnosis;
  EXPECT_NE(right[0].message.find("x2[1] is nan (1 of 2 elements is not finite)"), std::string::npos) << right;
  const auto batch =
      linalg::diagnosed::inv(Tensor{{{1.0, 0.0}, {0.0, 1.0}}, {{1.0, 0.0}, {HUGE_VAL, 1.0}}}).diagnosis;
  EXPECT_EQ(batch.status(0), Status::ok);
  EXPECT_NE(batch[1].message.find("x[1, 1, 0] is inf (1 of 4 elements is not finite)"), std::string::npos) << batch;
}

TEST(Diagnosis, DigitsAreThoseOfTheAnswersDtype) {
  for (const DType d : {f16, bf16, f32, f64}) {
    const Tensor a = astype(Tensor{{4.0, 1.0}, {2.0, 3.0}}, d);
    const auto x = linalg::diagnosed::solve(a, astype(Tensor{1.0, 2.0}, d), {.certify = true}).diagnosis;
    EXPECT_LE(x[0].digits, -std::log10(finfo(d).eps / 2)) << name(d);
    EXPECT_GE(x[0].forward_error, finfo(d).eps / 2) << name(d);
  }
}

}  // namespace
