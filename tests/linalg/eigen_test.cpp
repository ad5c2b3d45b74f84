// What eigenvalues are held to: their distance from the exact ones, counted by signs of rational pivots, against the
// bounds of the diagnosis; and what becomes of matrices without an answer.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "listening.hpp"
#include "rationals.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

using rationals::below;
using rationals::Rational;
using Exact = std::vector<Rational>;

// Complex matrices as [[re, −im], [im, re]]: every eigenvalue twice.
template <class T>
Exact exact_of(const std::vector<T>& a, std::int64_t n) {
  constexpr std::int64_t p = rationals::parts<T>;
  Exact out(static_cast<std::size_t>(p * n * p * n));
  const auto put = [&](std::int64_t i, std::int64_t j, double v) {
    out[static_cast<std::size_t>(i * p * n + j)] = v == 0 ? Rational() : Rational(v);
  };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T v = a[static_cast<std::size_t>(i * n + j)];
      put(i, j, std::real(v));
      if (p == 1) continue;
      put(i + n, j + n, std::real(v));
      put(i + n, j, std::imag(v));
      put(i, j + n, -std::imag(v));
    }
  return out;
}

// Every eigenvalue is within its value_error; the worst value_error relative to its eigenvalue is returned.
template <class T>
double check_bounds(const std::vector<T>& a, std::int64_t n, const linalg::EigvalshOptions& options = {}) {
  constexpr std::int64_t p = rationals::parts<T>;
  const auto d = linalg::diagnosed::eigvalsh(Tensor::from(a, {n, n}), options);
  const auto w = d.value.template to_vector<double>(), e = d.diagnosis[0].value_error.template to_vector<double>();
  const Exact exact = exact_of(a, n);
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const auto counted = [&](double sign) {  // the neighbouring x if a pivot vanishes
      for (double more = 1;; more *= 1 + 1e-9)
        if (const auto c = below(exact, p * n, Rational(w[k]) + Rational(sign * e[k] * more)); c >= 0) return c / p;
    };
    EXPECT_LE(counted(-1), i) << "eigenvalue " << w[k] << " is too large by more than " << e[k];
    EXPECT_GE(counted(1), i + 1) << "eigenvalue " << w[k] << " is too small by more than " << e[k];
    worst = std::max(worst, e[k] / std::fabs(w[k]));
  }
  return worst;
}

template <class T>
T draw(std::mt19937_64& g) {
  std::uniform_real_distribution<double> d(-1, 1);
  if constexpr (rationals::parts<T> == 1)
    return d(g);
  else
    return T(d(g), d(g));
}
// D·B·D with B = 1 + noise·(random Hermitian), or with signs ±1 on its diagonal, rows in a random order.
template <class T>
std::vector<T> graded(std::int64_t n, double decades, double noise, bool indefinite, unsigned seed) {
  std::mt19937_64 g(seed);
  std::vector<double> d(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    d[static_cast<std::size_t>(i)] = std::pow(10.0, -decades * static_cast<double>(i) / static_cast<double>(n));
  std::shuffle(d.begin(), d.end(), g);
  std::vector<T> a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      T b = draw<T>(g) * noise;
      if (i == j) b = T(indefinite && g() % 2 ? -1 : 1);
      b *= d[static_cast<std::size_t>(i)] * d[static_cast<std::size_t>(j)];
      a[static_cast<std::size_t>(i * n + j)] = b;
      if constexpr (rationals::parts<T> == 2) b = std::conj(b);
      a[static_cast<std::size_t>(j * n + i)] = b;
    }
  return a;
}

template <class T>
class Graded : public testing::Test {};
using Types = testing::Types<double, complex128>;
TYPED_TEST_SUITE(Graded, Types);

TYPED_TEST(Graded, MatricesGiveAllEigenvaluesToHighRelativeAccuracyWithoutBeingAsked) {
  for (const bool indefinite : {false, true})
    for (const std::int64_t n : {2, 3, 6, 10 / rationals::parts<TypeParam>})
      for (const double decades : {8, 20, 60})
        for (unsigned seed = 0; seed < 6; ++seed) {
          SCOPED_TRACE(testing::Message() << "n " << n << ", decades " << decades << ", seed " << seed
                                          << (indefinite ? ", indefinite" : ", definite"));
          const auto a = graded<TypeParam>(n, decades, 0.3 / std::sqrt(static_cast<double>(n)), indefinite, seed);
          EXPECT_LT(check_bounds(a, n), 1e-12);
        }
}
TYPED_TEST(Graded, BoundsHoldForMatricesOfAnyKindByBothAccuracies) {
  for (const char* accuracy : {"normal", "high"})
    for (const std::int64_t n : {1, 2, 3, 5, 9 / rationals::parts<TypeParam>})
      for (const double decades : {0, 3, 10, 30})
        for (const double noise : {0.5, 1.0, 3.0})
          for (unsigned seed = 0; seed < 3; ++seed) {
            SCOPED_TRACE(testing::Message() << accuracy << ", n " << n << ", decades " << decades << ", noise "
                                            << noise << ", seed " << seed);
            check_bounds(graded<TypeParam>(n, decades, noise, seed % 2 != 0, seed), n, {.accuracy = accuracy});
          }
}
TEST(Eigvalsh, HasBoundsForGradedArrowheads) {
  // Zeros that a QR factorisation fills: its error is not that of the rows' sizes.
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 g(seed);
    const std::int64_t n = 3 + seed % 5;
    std::vector<double> d, a(static_cast<std::size_t>(n * n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) d.push_back(std::pow(10.0, 12 * draw<double>(g)));
    for (std::int64_t i = 0; i < n; ++i)
      for (const std::int64_t j : {std::int64_t{0}, i})
        a[static_cast<std::size_t>(i * n + j)] = a[static_cast<std::size_t>(j * n + i)] =
            draw<double>(g) * d[static_cast<std::size_t>(i)] * d[static_cast<std::size_t>(j)];
    check_bounds(a, n);
    check_bounds(a, n, {.accuracy = "high"});
  }
}
TEST(Eigvalsh, HasBoundsForEveryPairOfOppositeEigenvalues) {
  const std::vector<double> a{0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2e-30, 0, 0, 2e-30, 0};
  EXPECT_LT(check_bounds(a, 4), 1e-14);
}
TEST(Eigvalsh, SaysThatItKnowsNothingOfTinyEigenvaluesThatRoundingHides) {
  // Hilbert's matrix: the least eigenvalues are below the rounding of its elements.
  const std::int64_t n = 12;
  std::vector<double> a;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) a.push_back(1 / static_cast<double>(i + j + 1));
  EXPECT_GT(check_bounds(a, n), 1e-4);
}
TEST(Eigh, NamesClustersAndBoundsTheirVectors) {
  const Tensor a{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 3.0}};
  const auto d = linalg::diagnosed::eigh(a).diagnosis;
  ASSERT_EQ(d[0].clusters.size(), 1U);
  EXPECT_EQ(d[0].clusters[0].first, 0);
  EXPECT_EQ(d[0].clusters[0].last, 1);
  EXPECT_EQ(d[0].vector_error.to_vector<double>()[0], 2);
  EXPECT_LT(d[0].vector_error.to_vector<double>()[2], 1e-14);
}
TEST(Eigh, VectorsOfAGradedMatrixAreBoundedByRelativeGaps) {
  const Tensor a{{1.0, 1e-25}, {1e-25, 1e-40}};
  EXPECT_LT(linalg::diagnosed::eigh(a).diagnosis[0].vector_error.to_vector<double>()[0], 1e-14);
}

TEST(EighGeneralized, RefusesAMetricThatIsNotPositiveDefiniteAndKeepsTheOthers) {
  const Tensor a{{2.0, 1.0}, {1.0, 3.0}}, b{{{1.0, 0.0}, {0.0, 1.0}}, {{1.0, 2.0}, {2.0, 1.0}}};
  EXPECT_THROW(linalg::eigh_generalized(a, b), NotPositiveDefinite);
  const auto d = linalg::diagnosed::eigh_generalized(a, b);
  EXPECT_EQ(d.diagnosis.status(0), linalg::Status::ok);
  EXPECT_EQ(d.diagnosis.status(1), linalg::Status::not_spd);
  const auto w = d.value.eigenvalues.to_vector<double>(), alone = linalg::eigvalsh(a).to_vector<double>();
  EXPECT_DOUBLE_EQ(w[0], alone[0]);
  EXPECT_TRUE(std::isnan(w[2]));
}

std::vector<Finding> told_by(const std::function<void()>& f) {
  const tests::Listening listening;
  f();
  return listening.told;
}
// Ones above the diagonal and ε in the corner: the eigenvalues are the n-th roots of ε, so that rounding moves them
// by u^(1/n).
Tensor nearly_defective(std::int64_t n, double corner) {
  std::vector<double> a(static_cast<std::size_t>(n * n), 0.0);
  for (std::int64_t i = 0; i + 1 < n; ++i) a[static_cast<std::size_t>(i * n + i + 1)] = 1;
  a[static_cast<std::size_t>((n - 1) * n)] = corner;
  return Tensor::from(a, {n, n});
}
// The same in a basis where nothing is zero.
Tensor turned(const Tensor& a) {
  const std::int64_t n = a.shape()[0];
  std::mt19937_64 g(3);
  std::vector<double> x;
  for (std::int64_t i = 0; i < n * n; ++i) x.push_back(draw<double>(g));
  const Tensor q = linalg::qr(Tensor::from(x, {n, n})).Q;
  return matmul(matmul(q, a), matrix_transpose(q));
}
TEST(Eig, TellsOfEigenvaluesWithoutADigitAndOnlyOfThose) {
  const auto findings = [](const Tensor& a) { return told_by([&] { linalg::eigvals(a); }); };
  const auto told = findings(turned(nearly_defective(30, 1e-30)));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].code, "WP-LIN-003");
  EXPECT_TRUE(findings(turned(nearly_defective(30, 1.0))).empty());       // normal: a rotation
  EXPECT_TRUE(findings(nearly_defective(30, 0.0)).empty());               // triangular: exact
  EXPECT_TRUE(findings(Tensor{{1.0, 1e12}, {1e-12, 2.0}}).empty());       // badly scaled only
  EXPECT_TRUE(findings(Tensor{{1.0, 2.0}, {2.0, 4.0}}).empty());          // a zero eigenvalue
  EXPECT_TRUE(findings(turned(Tensor{{1.0, 1.0}, {0.0, 1.0}})).empty());  // defective: half the digits are right
}
TEST(Eig, ErrorBoundsHoldForANearlyDefectiveMatrix) {
  const auto d = linalg::diagnosed::eig(turned(nearly_defective(4, 1e-8)));
  const auto w = d.value.eigenvalues.to_vector<complex128>();
  const auto e = d.diagnosis[0].value_error.to_vector<double>();
  const auto c = d.diagnosis[0].eigenvalue_condition.to_vector<double>();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(std::abs(w[i]), 1e-2, 10 * e[i]);  // the matrix itself is rounded too
    EXPECT_LT(e[i], 1e-6);
    EXPECT_GT(c[i], 1e5);
  }
}
TEST(Eig, ConditionIsOneForNormalMatrices) {
  const auto d = linalg::diagnosed::eigvals(nearly_defective(6, 1.0)).diagnosis;
  for (const double c : d[0].eigenvalue_condition.to_vector<double>()) EXPECT_NEAR(c, 1, 1e-14);
}

TEST(CholUpdate, ADowndateThatLosesPositiveDefinitenessIsRefused) {
  const Tensor l{{2.0, 0.0}, {1.0, 1.0}};
  EXPECT_NO_THROW(linalg::chol_update(l, Tensor{1.9, 1.0}, {.downdate = true}));
  EXPECT_THROW(linalg::chol_update(l, Tensor{2.0, 1.0}, {.downdate = true}), NotPositiveDefinite);
  EXPECT_THROW(linalg::chol_update(l, Tensor{2.1, 1.0}, {.downdate = true}), NotPositiveDefinite);
}
// L Lᵀ − x xᵀ = G D Gᵀ in rationals, and G √D from it; false: it is not positive definite.
bool exact_downdate(const std::vector<double>& l, const std::vector<double>& x, std::vector<double>& out) {
  using rationals::Rational;
  const std::size_t n = x.size();
  std::vector<Rational> a(n * n), g(n * n), d(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      a[i * n + j] = Rational(0.0) - Rational(x[i]) * Rational(x[j]);
      for (std::size_t k = 0; k <= j; ++k) a[i * n + j] += Rational(l[i * n + k]) * Rational(l[j * n + k]);
    }
  out.assign(n * n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    d[j] = a[j * n + j];
    for (std::size_t k = 0; k < j; ++k) d[j] -= g[j * n + k] * g[j * n + k] * d[k];
    if (d[j] <= Rational(0.0)) return false;
    const double root = std::sqrt(d[j].value());
    out[j * n + j] = root;
    for (std::size_t i = j + 1; i < n; ++i) {
      g[i * n + j] = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) g[i * n + j] -= g[i * n + k] * g[j * n + k] * d[k];
      g[i * n + j] /= d[j];
      out[i * n + j] = g[i * n + j].value() * root;
    }
  }
  return true;
}
TEST(CholUpdate, DowndatesOfIllConditionedFactorsAreRightToTheDigitsThatAreTold) {
  std::mt19937 g(3);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  int plain = 0, alarms = 0, refused = 0;
  for (int t = 0; t < 3000; ++t) {
    const std::size_t n = 2 + static_cast<std::size_t>(t % 7);
    const double spread = 6.0 * (t % 3), left = std::pow(10.0, -uniform(g) * (t % 2 ? 2 : 12));
    std::vector<double> l(n * n), a, x(n), exact;
    double norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) l[i * n + j] = normal(g);
      l[i * n + i] = (1 + std::fabs(normal(g))) * std::pow(10.0, -spread * uniform(g));
      a.push_back(normal(g));
      norm = std::hypot(norm, a.back());
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) x[i] += l[i * n + j] * a[j] / norm * std::sqrt(1 - left);
    const auto size = static_cast<std::int64_t>(n);
    const auto [value, d] =
        linalg::diagnosed::chol_update(Tensor::from(l, {size, size}), Tensor::from(x, {size}), {.downdate = true});
    const bool good = d.status() <= linalg::Status::ill_conditioned;
    if (!exact_downdate(l, x, exact)) {
      EXPECT_FALSE(good) << t << " " << d;
      continue;
    }
    if (spread == 0 && left > 1e-3) plain++, alarms += d.status() != linalg::Status::ok;
    if (!good) {
      ++refused;
      continue;
    }
    const auto got = value.to_vector<double>();
    double wrong = 0, most = 0;
    for (std::size_t e = 0; e < n * n; ++e) {
      wrong = std::max(wrong, std::fabs(got[e] - exact[e]));
      most = std::max(most, std::fabs(exact[e]));
    }
    EXPECT_LE(wrong / most, 4 * d[0].forward_error) << t << " " << d;
  }
  EXPECT_EQ(alarms, 0) << plain;
  EXPECT_LE(refused, 1000);
}
TEST(LuSolve, RefusesFactorsWithoutADigitButNotBadlyScaledOnes) {
  const auto f = linalg::lu(Tensor{{1e150, 1.0}, {1.0, 1e-149}});
  EXPECT_TRUE(told_by([&] { linalg::lu_solve(f.P, f.L, f.U, Tensor{1.0, 1.0}); }).empty());
  const auto s = linalg::lu(Tensor{{1.0, 1.0}, {1.0, 1.0}});
  EXPECT_THROW(linalg::lu_solve(s.P, s.L, s.U, Tensor{1.0, 2.0}), SingularMatrix);
  EXPECT_THROW(linalg::lu_solve(Tensor{0, 2}, s.L, s.U, Tensor{1.0, 2.0}), IndexError);
  EXPECT_THROW(linalg::lu_solve(Tensor{1, 1}, f.L, f.U, Tensor{1.0, 2.0}), ArgumentError);
}
TEST(Lu, TellsOfFactorsBeyondTheRangeOfTheDtype) {
  const auto told = told_by([] { linalg::lu(Tensor{{1.5e308, 1.5e308}, {-1.5e308, 1.5e308}}); });
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].code, "WP-LIN-007");
}

// Every factorisation of a batch with one bad member, and of views.
TEST(Decompositions, OfABatchAreThoseOfItsMembersWithABadOneBesides) {
  const Tensor a{{4.0, 1.0}, {1.0, 3.0}}, bad{{1.0, HUGE_VAL}, {HUGE_VAL, 1.0}};
  const Tensor batch = stack({a, bad, a});
  const auto same = [](const Tensor& all, const Tensor& alone) {
    const auto whole = all.to_vector<double>(), one = alone.to_vector<double>();
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(whole[i], one[i]);
      EXPECT_EQ(whole[2 * one.size() + i], one[i]);
      EXPECT_TRUE(std::isnan(whole[one.size() + i]));
    }
  };
  const allow_nonfinite quietly;
  same(linalg::eigh(batch, {.if_ill = "nan"}).eigenvectors, linalg::eigh(a).eigenvectors);
  same(linalg::qr(batch, {.if_ill = "nan"}).R, linalg::qr(a).R);
  same(linalg::lu(batch, {.if_ill = "nan"}).U, linalg::lu(a).U);
  same(linalg::ldl(batch, {.if_ill = "nan"}).D, linalg::ldl(a).D);
  same(linalg::schur(batch, {.if_ill = "nan"}).T, linalg::schur(a).T);
  EXPECT_THROW(linalg::eigvals(batch), NonFiniteError);
}
TEST(Decompositions, OfViewsAreThoseOfTheirCopies) {
  const Tensor wide{{4.0, 9.0, 1.0, 9.0}, {2.0, 9.0, 3.0, 9.0}};
  const Tensor view = matrix_transpose(take(wide, Tensor{0, 2}, {.axis = 1})),
               copy = Tensor::from(view.to_vector<double>(), {2, 2});
  const auto equal = [](const Tensor& x, const Tensor& y) {
    EXPECT_EQ(x.to_vector<double>(), y.to_vector<double>());
  };
  equal(linalg::qr(view).R, linalg::qr(copy).R);
  equal(linalg::lu(view).U, linalg::lu(copy).U);
  equal(linalg::schur(view).T, linalg::schur(copy).T);
}

}  // namespace
}  // namespace wp
