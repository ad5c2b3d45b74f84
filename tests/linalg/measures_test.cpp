// Norms, conditions, subspaces, low-rank parts, covariances and nearest matrices.
#include <gtest/gtest.h>

#include <cstring>

#include "tensors.hpp"

namespace wp {
namespace {

using namespace matrices;
namespace la = linalg;
using C = std::complex<double>;

double value(const Tensor& t) {
  return astype(t, f64).item<double>();
}

TEST(MatrixNorm, ScalesExactlyWithPowersOfTwo) {
  const Tensor a = tensor(make<double>(Kind::random, 5, 3));
  const double inf = std::numeric_limits<double>::infinity();
  for (const Setting ord : {Setting("fro"), Setting("nuc"), Setting(1), Setting(-1), Setting(2), Setting(-2),
                            Setting(inf), Setting(-inf)})
    for (const int k : {-900, -30, 900}) {
      const double one = value(la::matrix_norm(a, {.ord = ord}));
      EXPECT_EQ(value(la::matrix_norm(a * std::ldexp(1.0, k), {.ord = ord})), std::ldexp(one, k)) << k;
    }
}

TEST(MatrixNorm, OfKnownMatricesIsExact) {
  const Tensor a{{3.0, -4.0}, {0.0, 12.0}};
  EXPECT_EQ(value(la::matrix_norm(a)), 13);
  EXPECT_EQ(value(la::matrix_norm(a, {.ord = 1})), 16);
  EXPECT_EQ(value(la::matrix_norm(a, {.ord = -1})), 3);
  EXPECT_EQ(value(la::matrix_norm(a, {.ord = HUGE_VAL})), 12);
  EXPECT_EQ(value(la::matrix_norm(a, {.ord = -HUGE_VAL})), 7);
  EXPECT_EQ(value(la::matrix_norm(Tensor{{3e300, 0.0}, {0.0, 4e300}})), 5e300);
  EXPECT_THROW(la::matrix_norm(a, {.ord = 3}), ArgumentError);
  EXPECT_THROW(la::matrix_norm(zeros({0, 2}), {.ord = -1}), ShapeError);
}

TEST(Rcond, IsNeverBelowTheTruthAndSeldomFarAbove) {
  for_kinds([&](Kind kind) {
    for (const Size n : {1, 2, 3, 5, 10, 50}) {
      const Tensor a = tensor(make<double>(kind, n, n));
      const auto got = la::diagnosed::rcond(a);
      const auto inverse = la::diagnosed::inv(a);
      if (inverse.diagnosis.status() != la::Status::ok) continue;
      const double truth =
          1 / value(la::matrix_norm(a, {.ord = 1})) / value(la::matrix_norm(inverse.value, {.ord = 1}));
      if (!(truth > 1e-280)) continue;
      EXPECT_GE(value(got.value), truth * (1 - 1e-6)) << name(kind) << n;
      EXPECT_LE(value(got.value), 3 * truth * (1 + 1e-6)) << name(kind) << n;
    }
  });
}

TEST(Logdet, IsMinusInfinityOnlyForAProvedSingularMatrix) {
  EXPECT_EQ(value(la::logdet(Tensor{{1.0, 1.0}, {1.0, 1.0}})), -HUGE_VAL);
  const double near = value(la::logdet(Tensor{{1.0, 1.0}, {1.0, 1.0 + 0x1p-52}}));
  EXPECT_NEAR(near, -52 * std::log(2.0), 1e-12);
  EXPECT_THROW(la::logdet(Tensor{{1.0, 2.0}, {2.0, 1.0}}), NotPositiveDefinite);
  EXPECT_THROW(la::logdet(Tensor{{-1.0, 0.0}, {0.0, -1.0}}), NotPositiveDefinite);
}

template <class T>
void expect_subspaces() {
  for_kinds([&](Kind kind) {
    for (const Shape s : kShapes) {
      const Matrix<T> a = make<T>(kind, s.m, s.n);
      const Tensor x = tensor(a);
      const auto what = name(kind) + " " + std::to_string(s.m) + "x" + std::to_string(s.n);
      const auto w = wide(a);
      const Size longest = std::max(s.m, s.n);
      const auto null = wide(matrix<T>(la::diagnosed::null_space(x).value));
      const auto range = wide(matrix<T>(la::diagnosed::orth(x).value));
      const auto p = wide(matrix<T>(la::diagnosed::projector(x).value));
      EXPECT_EQ(null.n + range.n, s.n) << what;
      EXPECT_LT(ratio<T>(adjoint(null) * null - identity<Wide<T>>(null.n), 1, longest), kRight) << what;
      EXPECT_LT(ratio<T>(adjoint(range) * range - identity<Wide<T>>(range.n), 1, longest), kRight) << what;
      EXPECT_LT(ratio<T>(p * p - p, 1, longest), kRight) << what;
      EXPECT_LT(ratio<T>(p - adjoint(p), 1, longest), 1e-9) << what;
      if (s.m * s.n == 0) continue;
      EXPECT_LT(ratio<T>(w * null, norm(w), longest), 10 * kRight) << what;
      EXPECT_LT(ratio<T>(p * w - w, norm(w), longest), 10 * kRight) << what;
    }
  });
}
TEST(Subspaces, AreOrthonormalAndWhatTheySayTheyAre) {
  expect_subspaces<double>();
  expect_subspaces<C>();
}

TEST(Subspaces, OfDifferentRanksAreNotStacked) {
  const Tensor mixed{{{1.0, 0.0}, {0.0, 1.0}}, {{1.0, 1.0}, {1.0, 1.0}}};
  EXPECT_THROW(la::null_space(mixed), ShapeError);
  EXPECT_THROW(la::orth(mixed), ShapeError);
  EXPECT_NO_THROW(la::projector(mixed));
}

TEST(Subspaces, AtARankThatIsNotClearAreAFinding) {
  const Tensor a{{1.0, 0.0}, {0.0, 0.5}};
  EXPECT_TRUE(told([&] { la::projector(a, {.rtol = 0.7}); }).empty());
  const Tensor close{{1.0, 0.0, 0.0}, {0.0, 0.5, 0.0}, {0.0, 0.0, 0.5 - 1e-15}};
  EXPECT_EQ(told([&] { la::projector(close, {.rtol = 0.5 - 5e-16}); }).size(), 1U);
}

TEST(LowRank, IsAsNearAsTheSingularValuesAllow) {
  for (const Shape s : {Shape{10, 10}, Shape{50, 10}, Shape{10, 50}}) {
    const Tensor a = tensor(make<double>(Kind::random, s.m, s.n));
    const Tensor sigma = la::svdvals(a);
    for (const std::int64_t k : {1, 3, 9}) {
      const double error = value(la::matrix_norm(a - la::low_rank(a, k), {.ord = 2}));
      EXPECT_NEAR(error, sigma.at(k).item<double>(), 1e-13);
    }
    EXPECT_TRUE(same_bits(la::low_rank(a, 10), a));
  }
}

TEST(LowRank, AtATieIsAFinding) {
  EXPECT_EQ(told([] { la::low_rank(eye(3), 1); }).size(), 1U);
  EXPECT_TRUE(told([] { la::low_rank(Tensor{{1.0, 0.0}, {0.0, 0.5}}, 1); }).empty());
  EXPECT_TRUE(told([] { la::low_rank(ones({3, 3}), 2); }).empty());
}

TEST(RandomizedSvd, KeepsTheBoundOfItsDiagnosis) {
  for (const double decay : {0.5, 0.9, 0.99}) {
    std::vector<double> s;
    for (int i = 0; i < 60; ++i) s.push_back(std::pow(decay, i));
    const Tensor a = tensor(with_values<double>(100, 60, s, 7));
    const auto r = la::diagnosed::randomized_svd(a, 10, 42, 0);
    const Tensor exact = la::svdvals(a);
    double worst = 0;
    for (std::int64_t i = 0; i < 10; ++i)
      worst = std::max(worst, std::fabs(r.value.S.at(i).item<double>() - exact.at(i).item<double>()));
    EXPECT_LE(worst, r.diagnosis[0].forward_error + 1e-14) << decay;
    const Tensor rest = a - matmul(r.value.U * expand_dims(r.value.S, {.axis = -2}), r.value.Vh);
    EXPECT_NEAR(value(la::matrix_norm(rest)) / value(la::matrix_norm(a)), r.diagnosis[0].backward_error, 1e-12);
    EXPECT_LE(value(la::matrix_norm(rest, {.ord = 2})), 1.5 * exact.at(10).item<double>() + 1e-14) << decay;
  }
}

TEST(RandomizedSvd, DrawsByItsKeyAlone) {
  const Tensor a = tensor(make<C>(Kind::random, 20, 30));
  const auto once = la::randomized_svd(a, 3, 1, 0), again = la::randomized_svd(a, 3, 1, 0);
  const auto other = la::randomized_svd(a, 3, 2, 0), both = la::randomized_svd(stack({a, a}), 3, 1, 0);
  EXPECT_TRUE(same_bits(once.U, again.U));
  EXPECT_FALSE(same_bits(once.U, other.U));
  EXPECT_TRUE(same_bits(both.U[{1}], once.U));
}

TEST(Covariance, DoesNotChangeWithTheMean) {
  const Tensor x = tensor(make<double>(Kind::random, 50, 4));
  const Tensor c = la::covariance(x), moved = la::covariance(x + 1e6);
  EXPECT_LT(value(max(abs(c - moved))), 1e-9);
  EXPECT_TRUE(same_bits(c, matrix_transpose(c)));
  EXPECT_TRUE(same_bits(la::covariance(x * 0x1p+300), c * 0x1p+600));
}

TEST(Covariance, ShrunkByLedoitAndWolfIsPositiveDefiniteWithFewObservations) {
  const Tensor x = tensor(make<double>(Kind::random, 5, 20));
  const auto r = la::diagnosed::covariance(x, {.shrinkage = "ledoit_wolf"});
  EXPECT_GT(r.diagnosis[0].ridge, 0);
  EXPECT_LE(r.diagnosis[0].ridge, 1);
  EXPECT_NO_THROW(la::cholesky(r.value));
  EXPECT_THROW(la::cholesky(la::covariance(x)), NotPositiveDefinite);
  EXPECT_THROW(la::covariance(x, {.shrinkage = 1.5}), ArgumentError);
  EXPECT_THROW(la::covariance(zeros({1, 3})), ArgumentError);
}

TEST(NearestSpd, IsOneThatCholeskyTakesInEveryDtype) {
  for_kinds([&](Kind kind) {
    for (const Size n : {0, 1, 2, 3, 5, 10, 50})
      for (const DType d : {f32, f64, f16, bf16}) {
        if (d != f64 && kind >= Kind::denormal) continue;
        if (d != f64 && (kind == Kind::scaled_up || kind == Kind::scaled_down)) continue;
        if (kind == Kind::denormal || kind == Kind::zero) continue;
        const Tensor a = astype(tensor(make<double>(kind, n, n)), d);
        const auto r = la::diagnosed::nearest_spd(a);
        EXPECT_NO_THROW(la::cholesky(r.value)) << name(kind) << n << " " << wp::name(d);
        const Tensor again = la::nearest_spd(r.value);
        EXPECT_TRUE(same_bits(again, r.value)) << name(kind) << n << " " << wp::name(d);
      }
  });
}

TEST(NearestSpd, IsAsNearAsTheNegativeEigenvaluesAllow) {
  for (const Size n : {2, 5, 50}) {
    const Tensor a = tensor(make_hermitian<double>(Kind::random, n));
    const Tensor negative = minimum(la::eigvalsh(a), zeros({n}));
    const double least = value(la::vector_norm(negative));
    EXPECT_NEAR(value(la::matrix_norm(la::nearest_spd(a) - a)), least, 1e-13 * static_cast<double>(n));
  }
}

TEST(NearestCorrelation, IsHighamsExample) {
  const Tensor x = la::nearest_correlation(Tensor{{1.0, 1.0, 0.0}, {1.0, 1.0, 1.0}, {0.0, 1.0, 1.0}});
  const double a = at(x, 0, 1);  // 4a³ − a − 1 = 0, and x₀₂ = 2a² − 1
  EXPECT_NEAR(4 * a * a * a - a - 1, 0, 1e-14);
  EXPECT_NEAR(at(x, 0, 2), 2 * a * a - 1, 1e-14);
}

TEST(NearestCorrelation, ConvergesForLargeMatrices) {
  for (const Size n : {10, 50, 130}) {
    Matrix<double> a = make_hermitian<double>(Kind::random, n);
    for (Size i = 0; i < n; ++i) a(i, i) = 1;
    const auto r = la::diagnosed::nearest_correlation(tensor(a));
    EXPECT_EQ(r.diagnosis.status(), la::Status::ok) << n << r.diagnosis.text();
    EXPECT_GT(value(min(la::eigvalsh(r.value))), -1e-13 * static_cast<double>(n));
  }
}

TEST(NearestCorrelation, ThatStopsEarlyKeepsWhatItReached) {
  const Tensor a{{1.0, 1.0, 0.0}, {1.0, 1.0, 1.0}, {0.0, 1.0, 1.0}};
  try {
    la::nearest_correlation(a, {.max_iterations = 1});
    FAIL() << "accepted";
  } catch (const NotConverged& e) {
    EXPECT_NEAR(at(e.value()[0], 0, 1), 0.76, 0.1);
  }
}

TEST(Apply, ThroughValuesIsTheFunctionOfTheMatrix) {
  const Tensor a = tensor(make_hermitian<C>(Kind::random, 10));
  const Tensor e = la::eigh_apply(a, [](const Tensor& w) { return exp(w); });
  EXPECT_LT(value(max(abs(e - la::expm(a)))), 1e-12);
  const Tensor b = tensor(make<C>(Kind::random, 7, 4));
  EXPECT_LT(value(max(abs(la::svd_apply(b, [](const Tensor& s) { return s; }) - b))), 1e-14);
  EXPECT_THROW(la::svd_apply(b, [](const Tensor& s) { return sum(s); }), ShapeError);
}

}  // namespace
TEST(Determinants, BelowTheRangeAreToldAndZerosAreNot) {
  const auto tiny = linalg::diagnosed::det(Tensor{{4e-170, 1e-170}, {2e-170, 3e-170}});
  EXPECT_EQ(tiny.value.item<double>(), 0);
  EXPECT_EQ(tiny.diagnosis.status(), linalg::Status::overflow) << tiny.diagnosis;
  const auto single = linalg::diagnosed::det(astype(Tensor{{1e-30, 0.0}, {0.0, 1e-30}}, f32));
  EXPECT_EQ(single.diagnosis.status(), linalg::Status::overflow) << single.diagnosis;
  for (const Tensor& a : {Tensor{{1e-170, 1e-170}, {2e-170, 2e-170}}, Tensor{{0.0, 0.0}, {0.0, 0.0}},
                          Tensor{{1e-150, 0.0}, {0.0, 1e-150}}})
    EXPECT_EQ(linalg::diagnosed::det(a).diagnosis.status(), linalg::Status::ok) << a;
}

}  // namespace wp
