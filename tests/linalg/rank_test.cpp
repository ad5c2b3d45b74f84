// What is said of a rank: its threshold, how clear it is, and by which names its columns go.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tensors.hpp"

namespace {
using namespace wp;
namespace la = wp::linalg;
using matrices::told;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Rank, ThresholdIsWhatSingularValuesWereComparedWith) {
  const Tensor a{{3.0, 0.0}, {0.0, 4.0}, {0.0, 0.0}};
  const double usual = 3 * 0x1p-52 * 4;
  for (const la::Diagnosis& d : {la::diagnosed::matrix_rank(a).diagnosis, la::diagnosed::pinv(a).diagnosis,
                                 la::diagnosed::svdvals(a).diagnosis, la::diagnosed::lstsq(a, ones({3})).diagnosis}) {
    EXPECT_DOUBLE_EQ(d[0].rank_threshold, usual) << d;
    EXPECT_EQ(d[0].rank, 2);
    EXPECT_EQ(d[0].rank_doubt, "") << d;
  }
  const auto by = la::diagnosed::pinv(a, {.rtol = 0.8}).diagnosis,
             of = la::diagnosed::pinv(a, {.atol = 3.5}).diagnosis;
  EXPECT_DOUBLE_EQ(by[0].rank_threshold, 3.2);
  EXPECT_DOUBLE_EQ(of[0].rank_threshold, 3.5);
  EXPECT_EQ(by[0].rank, 1);
  EXPECT_EQ(of[0].rank, 1);
  EXPECT_DOUBLE_EQ(of.rank_threshold().item<double>(), 3.5);
  EXPECT_NEAR(of.rank_gap().item<double>(), 4.0 / 3, 1e-12);
  EXPECT_TRUE(has(of.json(), "\"rank_threshold\":3.5")) << of.json();
  EXPECT_TRUE(has(of.text(), "singular values up to 3.5")) << of;
}

TEST(Rank, AnotherOneIsSaidToBeAsPlausibleOnlyWhereItIs) {
  const auto doubt = [](double second, const la::PinvOptions& o = {}) {
    return la::diagnosed::pinv(Tensor{{1.0, 0.0}, {0.0, second}}, o).diagnosis;
  };
  EXPECT_TRUE(has(doubt(1e-15)[0].rank_doubt, "rank 1 is as plausible")) << doubt(1e-15);  // 2.3 thresholds
  EXPECT_TRUE(has(doubt(1e-15).text(), "rank 1 is as plausible")) << doubt(1e-15);
  EXPECT_EQ(doubt(1e-13)[0].rank_doubt, "");
  EXPECT_EQ(doubt(0)[0].rank_doubt, "");
  EXPECT_EQ(doubt(1e-30)[0].rank_doubt, "");
  EXPECT_TRUE(has(doubt(0.05, {.rtol = 0.1})[0].rank_doubt, "rank 2 is as plausible"));
  EXPECT_EQ(doubt(1e-3, {.rtol = 0.01})[0].rank_doubt, "");
  EXPECT_EQ(la::diagnosed::svdvals(Tensor{{1.0, 1.0}, {1.0, 1.0}}).diagnosis[0].rank_doubt, "");
  EXPECT_TRUE(has(doubt(0.9 * 0x1p-51)[0].rank_doubt, "rank 2 is as plausible"));  // the threshold is 2⁻⁵¹
  EXPECT_EQ(doubt(0.2 * 0x1p-51)[0].rank_doubt, "");
}

// Singular values at the threshold, where two decompositions of one matrix may disagree.
TEST(Rank, ThatIsToldIsTheOneThatTheAnswerRestsOn) {
  constexpr double threshold = 5 * 0x1p-52;
  for (int k = 0; k < 200; ++k) {
    const Tensor u = la::qr(random::normal({5, 2}, 1, 16 * k)).Q, v = la::qr(random::normal({3, 2}, 2, 16 * k)).Q,
                 sigma{1.0, threshold * (0.9 + 0.001 * k)}, b = matmul(u * sigma, matrix_transpose(v));
    const auto [x, d] = la::diagnosed::pinv(b);
    EXPECT_EQ(d[0].rank, max(abs(x)).item<double>() > 1e8 ? 2 : 1) << k << d;
    EXPECT_NE(d[0].rank_doubt, "") << k << d;
  }
}

// Conditions that f64 cannot resolve, against exact ones: 1/σₙ of [[c, 1, …], [c, 1], …] is the norm of its inverse.
// c on the diagonal, 1 above it; and its inverse, whose elements are (−1)^(j − i) c^(i − j − 1).
Tensor jordan_block(std::int64_t n, double c) {
  return eye(n) * c + eye(n, {.k = 1});
}
Tensor inverse_of_block(std::int64_t n, double c) {
  std::vector<double> inverse;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      inverse.push_back(j < i ? 0 : ((j - i) % 2 ? -1 : 1) * std::pow(c, static_cast<double>(i - j - 1)));
  return Tensor::from(inverse, {n, n});
}
double product_of_norms(std::int64_t n, double c, int order) {
  return (la::matrix_norm(jordan_block(n, c), {.ord = order}) *
          la::matrix_norm(inverse_of_block(n, c), {.ord = order}))
      .item<double>();
}

TEST(Condition, IsRightWhereTheLeastSingularValueIsLostInRounding) {
  for (const std::int64_t n : {6, 9}) {
    const Tensor jordan = jordan_block(n, 1e-3);
    const auto [got, d] = la::diagnosed::cond(jordan);
    const double exact = product_of_norms(n, 1e-3, 2);
    EXPECT_NEAR(got.item<double>() / exact, 1, 1e-12) << n << d;
    EXPECT_TRUE(d.ok()) << d;
    EXPECT_GE(d[0].digits, 11);
  }
  // 1e36 is more than 113 bits resolve.
  EXPECT_EQ(la::diagnosed::cond(eye(12) * 1e-3 + eye(12, {.k = 1})).diagnosis.status(), la::Status::ill_conditioned);
  const la::Diagnosis tall = la::diagnosed::cond(Tensor{{1.0, 1.0}, {1.0, 1.0 + 0x1p-52}, {1.0, 1.0}}).diagnosis;
  EXPECT_EQ(tall.status(), la::Status::ill_conditioned) << tall;  // not proved singular, and no digit is sure
  EXPECT_TRUE(la::diagnosed::cond(Tensor{{1.0, 1.0}, {1.0, 1.0001}, {1.0, 1.0}}).diagnosis.ok());
  EXPECT_EQ(la::cond(Tensor{{1.0, 1.0}, {1.0, 1.0}}).item<double>(), HUGE_VAL);
}

TEST(Condition, OfADiagnosisIsThatOfTheMatrixAndNotOfItsRounding) {
  for (const std::int64_t n : {4, 6, 9}) {
    const double exact = product_of_norms(n, 1e-3, 2);
    for (const la::Diagnosis& d : {la::diagnosed::inv(jordan_block(n, 1e-3), {.assume = "general"}).diagnosis,
                                   la::diagnosed::svdvals(jordan_block(n, 1e-3)).diagnosis})
      EXPECT_NEAR(d[0].cond / exact, 1, 0.1) << n;
  }
  EXPECT_EQ(la::diagnosed::inv(Tensor{{1.0, 2.0}, {2.0, 4.0}}).diagnosis[0].cond, HUGE_VAL);
  EXPECT_TRUE(la::diagnosed::cond(Tensor{{1.0, 2.0}, {2.0, 4.0}}).diagnosis[0].exactly_singular);
}

// What each function says of a matrix; those of square ones only are left out of others.
std::map<std::string, la::Diagnosis> diagnoses_of(const Tensor& a) {
  namespace d = la::diagnosed;
  std::map<std::string, la::Diagnosis> all{
      {"svd", d::svd(a).diagnosis},
      {"svdvals", d::svdvals(a).diagnosis},
      {"pinv", d::pinv(a).diagnosis},
      {"pinv, rtol 0", d::pinv(a, {.rtol = 0}).diagnosis},
      {"lstsq", d::lstsq(a, ones({a.shape(0)})).diagnosis},
      {"lstsq, ridge", d::lstsq(a, ones({a.shape(0)}), {.ridge = 0.1}).diagnosis},
      {"matrix_rank", d::matrix_rank(a).diagnosis},
      {"null_space", d::null_space(a).diagnosis},
      {"orth", d::orth(a).diagnosis},
      {"cond", d::cond(a).diagnosis},
      {"qr", d::qr(a).diagnosis},
      {"qr_pivoted", d::qr_pivoted(a).diagnosis},
      {"lu", d::lu(a).diagnosis}};
  if (a.shape(0) != a.shape(1)) return all;
  all.insert({{"inv", d::inv(a).diagnosis},
              {"inv, pinv", d::inv(a, {.if_ill = "pinv"}).diagnosis},
              {"solve", d::solve(a, ones({a.shape(0)})).diagnosis},
              {"det", d::det(a).diagnosis},
              {"slogdet", d::slogdet(a).diagnosis},
              {"rcond", d::rcond(a).diagnosis},
              {"eigh", d::eigh(a).diagnosis},
              {"eigvalsh", d::eigvalsh(a).diagnosis},
              {"eig", d::eig(a).diagnosis},
              {"eigvals", d::eigvals(a).diagnosis},
              {"schur", d::schur(a).diagnosis}});
  return all;
}

TEST(Condition, IsInfiniteAndTheMatrixExactlySingularForEveryFunctionThatSeesDependentRows) {
  for (const Tensor& a :
       {Tensor{{1.0, 1.0}, {1.00001, 1.00001}}, Tensor{{1.0, 2.0}, {2.0, 4.0}},
        Tensor{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}, ones({3, 3}), zeros({2, 2}), ones({4, 2}),
        ones({2, 4}), Tensor{{1e150, 1e150}, {1e-150, 1e-150}}, astype(ones({3, 3}), c64), ones({40, 40})})
    for (const auto& [name, d] : diagnoses_of(a)) {
      SCOPED_TRACE(name + ": " + d.text());
      EXPECT_TRUE(d[0].exactly_singular) << a;
      EXPECT_TRUE(d.exactly_singular().item<bool>());
      EXPECT_EQ(d[0].cond, HUGE_VAL);
      EXPECT_EQ(d.cond().item<double>(), HUGE_VAL);
    }
}
TEST(Condition, OfARegularMatrixIsFiniteHoweverNearASingularOne) {
  for (const Tensor& a : {Tensor{{1.0, 1.0}, {1.0, 1 + 0x1p-50}}, Tensor{{1.0, 1.0}, {1.0, 1 + 0x1p-52}, {1.0, 1.0}},
                          Tensor{{1.0, 1.0, 1.0}, {1.0, 1.0, 1 + 0x1p-52}}, Tensor{{1.0, 0.0}, {0.0, 1e-40}},
                          jordan_block(6, 1e-3), Tensor{{4.0, 1.0}, {2.0, 3.0}}, eye(40)})
    for (const auto& [name, d] : diagnoses_of(a)) {
      SCOPED_TRACE(name + ": " + d.text());
      EXPECT_FALSE(d[0].exactly_singular) << a;
      EXPECT_FALSE(d.exactly_singular().item<bool>());
      EXPECT_TRUE(std::isfinite(d[0].cond)) << d[0].cond;
    }
}

TEST(Condition, ThatIsNotInTheRangeOfItsDtypeIsToldAndNotInfinite) {
  const auto told_of = [](const Tensor& a) { return told([&] { la::cond(a); }); };
  const auto diagonal = [](double first, double last, DType dtype) {
    return astype(Tensor{{first, 0.0}, {0.0, last}}, dtype);
  };
  for (const Tensor& a : {diagonal(1e30, 1e-30, f32), diagonal(1e30, 1e-30, c64), diagonal(1e200, 1e-200, f64),
                          diagonal(1e-320, 1e308, c128), diagonal(1.0, 1e-5, f16)}) {
    EXPECT_TRUE(std::isinf(astype(la::diagnosed::cond(a).value, f64).item<double>())) << a;
    const auto findings = told_of(a);
    ASSERT_EQ(findings.size(), 1u) << a;
    EXPECT_EQ(findings[0].code, "WP-LIN-007");
    EXPECT_TRUE(has(la::diagnosed::cond(a).diagnosis.text(), "not infinite")) << la::diagnosed::cond(a).diagnosis;
  }
  EXPECT_TRUE(has(la::diagnosed::cond(diagonal(1e30, 1e-30, f32)).diagnosis.text(), "base 10 is 60"));
  for (const Tensor& a : {diagonal(1e10, 1e-10, f32), diagonal(1e100, 1e-100, f64), diagonal(1.0, 0.0, f64)})
    EXPECT_TRUE(told_of(a).empty()) << a;
}

TEST(Condition, DoesNotChangeWithTheScaleOfTheMatrixDownToTheLeastNumbers) {
  const Tensor a{{4.0, 1.0, 7.0}, {2.0, 3.0, 8.0}, {5.0, 1.0, 9.0}};
  const double exact = la::cond(a).item<double>();
  for (const int e : {-1074, -1072, -1060, -1020, -500, 500, 1020})
    EXPECT_EQ(la::cond(a * std::ldexp(1.0, e)).item<double>(), exact) << e;
}

TEST(Rcond, IsRightWhereTheFactorsAreOffByRounding) {
  for (const std::int64_t n : {4, 6, 9}) {
    // Columns in another order, so that it is not triangular.
    const Tensor a = flip(jordan_block(n, 1e-3), {.axis = 1}) + zeros({n, n});
    const auto [got, d] = la::diagnosed::rcond(a);
    EXPECT_NEAR(got.item<double>() * product_of_norms(n, 1e-3, 1), 1, 1e-9) << n << d;
    EXPECT_TRUE(d.ok()) << d;
  }
  const double tiny = la::rcond(Tensor{{1e150, 0.0}, {0.0, 1e-150}}).item<double>();
  EXPECT_NEAR(tiny / 1e-300, 1, 1e-12);
  EXPECT_EQ(la::rcond(Tensor{{1.0, 1.0}, {1.0, 1.0}}).item<double>(), 0);
  EXPECT_TRUE(told([] { la::rcond(Tensor{{1e150, 1e150}, {1e-150, 2e-150}}); }).empty());
}

TEST(Rcond, ZeroThatIsNotProvedIsTold) {
  const auto status = [](const Tensor& a) { return la::diagnosed::rcond(a).diagnosis.status(); };
  EXPECT_EQ(status(Tensor{{1e30f, 0.0f}, {0.0f, 1e-30f}}), la::Status::overflow);
  EXPECT_EQ(status(Tensor{{1e200, 0.0}, {0.0, 1e-200}}), la::Status::overflow);
  EXPECT_EQ(status(Tensor{{1e10f, 0.0f}, {0.0f, 1e-10f}}), la::Status::ok);
  EXPECT_EQ(status(Tensor{{1.0, 1.0}, {1.0, 1.0}}), la::Status::ok);
  EXPECT_EQ(status(jordan_block(14, 1e-3)), la::Status::ill_conditioned);  // 1e42 is more than 113 bits resolve
}

TEST(Names, AreUsedByEveryFunctionThatSpeaksOfColumns) {
  const std::vector<std::string> names{"MSFT", "AAPL"};
  const Tensor a{{1.0, 2.0}, {2.0, 4.0}, {3.0, 6.0}}, square{{1.0, 2.0}, {2.0, 4.0}}, b{1.0, 2.0, 4.0};
  const std::string relation = "AAPL = 2 × MSFT";
  EXPECT_TRUE(has(la::diagnosed::pinv(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::lstsq(a, b, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::svd(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::svdvals(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::matrix_rank(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::cond(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::null_space(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::orth(a, {.names = names}).diagnosis.text(), relation));
  EXPECT_TRUE(has(la::diagnosed::inv(square, {.names = names}).diagnosis.text(), relation));
  const std::vector<std::string> one{"MSFT"};
  EXPECT_THROW(la::inv(square, {.names = one}), ArgumentError);
  EXPECT_THROW(la::lstsq(a, b, {.names = one}), ArgumentError);
  EXPECT_THROW(la::svd(eye(2), {.names = one}), ArgumentError);
  EXPECT_FALSE(has(la::diagnosed::pinv(a).diagnosis.text(), "AAPL"));
}

TEST(Names, SayWhereAMatrixIsNotPositiveDefiniteOrNotFinite) {
  const std::vector<std::string> names{"MSFT", "AAPL"};
  const Tensor a{{1.0, 2.0}, {2.0, 1.0}}, bad{{1.0, HUGE_VAL}, {HUGE_VAL, 1.0}};
  EXPECT_TRUE(has(la::diagnosed::cholesky(a, {.names = names}).diagnosis.text(), "row 1 (AAPL)"));
  EXPECT_TRUE(has(la::diagnosed::cholesky(a).diagnosis.text(), "in row 1."));
  EXPECT_TRUE(has(la::diagnosed::cholesky(bad, {.names = names}).diagnosis.text(), "AAPL"));
  EXPECT_TRUE(has(la::diagnosed::eigh(bad, la::EighOptions{.names = names}).diagnosis.text(), "AAPL"));
  EXPECT_TRUE(has(la::diagnosed::eigvalsh(bad, {.names = names}).diagnosis.text(), "AAPL"));
  EXPECT_TRUE(has(la::diagnosed::logdet(bad, {.names = names}).diagnosis.text(), "AAPL"));
  EXPECT_TRUE(has(la::diagnosed::svdvals(bad, {.names = names}).diagnosis.text(), "AAPL"));
}

TEST(MatrixPower, SaysHowGoodItIs) {
  const la::Diagnosis good = la::diagnosed::matrix_power(Tensor{{2.0, 1.0}, {1.0, 3.0}}, 10).diagnosis;
  EXPECT_TRUE(good.ok());
  EXPECT_GE(good[0].digits, 13);
  // (x − y)(x − y)ᵀ-like products that cancel: A² is 1e-16 of |A|².
  const Tensor a{{1.0 + 0x1p-27, 1.0}, {-1.0 - 0x1p-26 - 0x1p-54 + 0x1p-50, -1.0 - 0x1p-27}};
  EXPECT_EQ(la::diagnosed::matrix_power(a, 2).diagnosis.status(), la::Status::ill_conditioned);
  EXPECT_TRUE(la::diagnosed::matrix_power(Tensor{{0.0, 1.0}, {0.0, 0.0}}, 2).diagnosis.ok());
  EXPECT_TRUE(la::diagnosed::matrix_power(Tensor{{1.0, 1e8}, {0.0, 1.0}}, 1000).diagnosis.ok());
}

}  // namespace
