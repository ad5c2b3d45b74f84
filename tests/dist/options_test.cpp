// Options, policies and what diagnoses say, for every dtype: those of one machine.
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

Matrix spread_out(const Tensor& t, std::int64_t block = 8) {
  return Matrix::from(t, some_layout(block));
}
// Rank 6 of min(m, n).
Tensor low_rank(std::int64_t m, std::int64_t n, DType dtype) {
  return matmul(noise_matrix(m, 6, dtype), noise_matrix(6, n, dtype, 2));
}
// The findings that f reports.
template <class F>
std::vector<std::string> findings_of(F&& f) {
  std::vector<std::string> codes;
  const FindingHandler before = on_finding([&](const Finding& found) { codes.push_back(found.code); });
  f();
  on_finding(before);
  return codes;
}

TEST(Options, AnAbsoluteThresholdAloneMeansJustThat) {
  const Tensor a = Tensor::from(std::vector<double>{1, 0, 0, 1e-20}, {2, 2}), b = ones({2});
  const Matrix da = spread_out(a, 1), db = spread_out(b, 1);
  EXPECT_EQ(matrix_rank(da), 1);
  EXPECT_EQ(matrix_rank(da, {.atol = 1e-30}), 2);
  EXPECT_EQ(matrix_rank(da, {.atol = 1e-10}), 1);
  EXPECT_LE(distance(pinv(da, {.atol = 1e-30}).gather(), linalg::pinv(a, {.atol = 1e-30})), 1e-15);
  EXPECT_LE(distance(lstsq(da, db, {.atol = 1e-30}).gather(), linalg::lstsq(a, b, {.atol = 1e-30})), 1e-15);
  EXPECT_THROW(pinv(da, {.atol = -1}), ArgumentError);
  EXPECT_THROW(lstsq(da, db, {.atol = -1}), ArgumentError);
  EXPECT_THROW(matrix_rank(da, {.rtol = -1}), ArgumentError);
}

TEST(Options, OfFactorsThatScalapackHasNotAreThereUpToAThousandRows) {
  const Tensor a = spd_matrix(30, f64) - 15 * eye(30), b = ones({30});
  const auto found = diagnosed::solve(spread_out(a), spread_out(b), {.method = "ldl"});
  EXPECT_EQ(found.diagnosis[0].method, linalg::diagnosed::solve(a, b, {.method = "ldl"}).diagnosis[0].method);
  EXPECT_LE(distance(found.value.gather(), linalg::solve(a, b, {.method = "ldl"})), 1e-14);
  EXPECT_TRUE(diagnosed::solve(spread_out(noise_matrix(320, 320)), spread_out(ones({320})), {.certify = true})
                  .diagnosis[0]
                  .certified);
  EXPECT_THROW(inv(Matrix::identity(1001, f64, some_layout(64)), {.method = "ldl"}), ArgumentError);
  EXPECT_THROW(svd(Matrix::identity(1001, f64, some_layout(64)), {.accuracy = "high"}), ArgumentError);
  EXPECT_NO_THROW(solve(Matrix::identity(1001, f64, some_layout(64)), Matrix::from(ones({1001}), some_layout(64)),
                        {.accuracy = "high"}));
}

TEST(Options, HighAccuracyKeepsTheDigitsOfSmallValues) {
  const std::int64_t n = 20;  // graded: column j times 10^−j
  std::vector<double> scale;
  for (std::int64_t j = 0; j < n; ++j) scale.push_back(std::pow(10.0, -static_cast<double>(j)));
  const Tensor d = Tensor::from(scale, {n}), a = noise_matrix(n, n) * d, h = matmul(matrix_transpose(a), a);
  const Tensor want = linalg::svdvals(a, {.accuracy = "high"}), got = svdvals(spread_out(a), {.accuracy = "high"});
  for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR((value_at(got, i) / value_at(want, i)).real(), 1, 1e-13);
  const SvdResult f = svd(spread_out(a), {.accuracy = "high"});
  EXPECT_LE(distance(matmul(f.U.gather() * f.S, f.Vh.gather()), a), 1e-14);
  const Tensor w = eigh(spread_out(h), {.accuracy = "high"}).eigenvalues,
               one = linalg::eigh(h, {.accuracy = "high"}).eigenvalues;
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(value_at(w, i), value_at(one, i));
}

TEST(Options, FullMatricesAreSquareAndOrthonormal) {
  for (const DType dtype : kAll)
    for (const auto& [m, n] : {std::pair{50, 20}, std::pair{20, 50}, std::pair{30, 30}}) {
      const Tensor a = noise_matrix(m, n, dtype);
      const SvdResult f = svd(spread_out(a), {.full_matrices = true});
      const Tensor u = f.U.gather(), vh = f.Vh.gather();
      ASSERT_EQ(u.shape(), (Dims{m, m}));
      ASSERT_EQ(vh.shape(), (Dims{n, n}));
      EXPECT_LE(distance(matmul(adjoint_of(u), u), eye(m, {.dtype = dtype})), 200 * unit(dtype));
      EXPECT_LE(distance(matmul(vh, adjoint_of(vh)), eye(n, {.dtype = dtype})), 200 * unit(dtype));
      const QrResult q = qr(spread_out(a), {.mode = "complete"});
      const Tensor whole = q.Q.gather();
      ASSERT_EQ(whole.shape(), (Dims{m, m}));
      EXPECT_LE(distance(matmul(adjoint_of(whole), whole), eye(m, {.dtype = dtype})), 200 * unit(dtype));
      EXPECT_LE(distance(matmul(whole, q.R.gather()), a), 200 * unit(dtype));
      EXPECT_THROW(qr(spread_out(a), {.mode = "raw"}), ArgumentError);
    }
}

TEST(Options, NormsAreThoseOfOneMachine) {
  for (const DType dtype : kAll) {
    const Tensor a = noise_matrix(30, 20, dtype);
    const Matrix d = spread_out(a);
    for (const Setting& ord : {Setting("fro"), Setting("nuc"), Setting(1), Setting(-1), Setting(2), Setting(-2),
                               Setting(HUGE_VAL), Setting(-HUGE_VAL)})
      EXPECT_NEAR(matrix_norm(d, ord) / astype(linalg::matrix_norm(a, {.ord = ord}), f64).item<double>(), 1,
                  40 * unit(dtype))
          << name(dtype);
    EXPECT_NEAR(cond(d) / astype(linalg::cond(a), f64).item<double>(), 1, 1e3 * unit(dtype));
  }
}

TEST(Options, MatricesOfLowerRankAreSeenAsSuchInEveryDtype) {
  for (const DType dtype : kAll)
    for (const auto& [m, n] : {std::pair{70, 40}, std::pair{40, 70}}) {
      const Tensor a = low_rank(m, n, dtype), b = noise_matrix(m, 2, dtype, 5);
      const Matrix da = spread_out(a), db = spread_out(b);
      EXPECT_EQ(matrix_rank(da), linalg::matrix_rank(a).item<std::int64_t>());
      EXPECT_EQ(matrix_rank(da), 6) << name(dtype);
      EXPECT_LE(distance(pinv(da).gather(), linalg::pinv(a)), 1e4 * unit(dtype)) << name(dtype);
      const auto found = diagnosed::lstsq(da, db);
      EXPECT_EQ(found.diagnosis[0].rank, 6);
      EXPECT_LE(distance(found.value.gather(), linalg::lstsq(a, b)), 1e4 * unit(dtype)) << name(dtype);
      EXPECT_LE(distance(lstsq(da, db, {.ridge = 0.1}).gather(), linalg::lstsq(a, b, {.ridge = 0.1})),
                1e4 * unit(dtype));
      EXPECT_EQ(cond(da), astype(linalg::cond(a), f64).item<double>()) << "by linalg itself";
    }
}

TEST(Options, NamesStandForColumns) {
  for (const std::int64_t n : {40, 1010}) {
    std::vector<std::string> names;
    for (std::int64_t j = 0; j < n; ++j) names.push_back(say("price ", j));
    const Matrix a = Matrix::generate(
        n, n, f64, [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j == 31 ? 7 : j)); },
        some_layout(64));
    const auto found = diagnosed::solve(a, Matrix::from(ones({n}), some_layout(64)), {.names = names});
    EXPECT_EQ(found.diagnosis.status(), linalg::Status::singular);
    EXPECT_EQ(found.diagnosis[0].dependent_columns, "price 31 = price 7") << found.diagnosis;
  }
}

// f(matrix, names) for every function that takes labels, with what it says of a matrix.
std::vector<linalg::Diagnosis> all_named(const Matrix& a, const std::optional<std::vector<std::string>>& names) {
  const Matrix b = Matrix::from(ones({a.rows()}), a.layout());
  return {diagnosed::solve(a, b, {.names = names}).diagnosis, diagnosed::inv(a, {.names = names}).diagnosis,
          diagnosed::lstsq(a, b, {.names = names}).diagnosis, diagnosed::pinv(a, {.names = names}).diagnosis,
          diagnosed::svd(a, {.names = names}).diagnosis,      diagnosed::svdvals(a, {.names = names}).diagnosis,
          diagnosed::cond(a, {.names = names}).diagnosis,     diagnosed::matrix_rank(a, {.names = names}).diagnosis,
          diagnosed::eigh(a, {.names = names}).diagnosis,     diagnosed::cholesky(a, {.names = names}).diagnosis,
          diagnosed::logdet(a, {.names = names}).diagnosis,   diagnose(a, {.names = names}).diagnosis};
}
TEST(Options, NamesAreCountedAndNameWhatIsNotFinite) {
  const Tensor a = spd_matrix(5, f64);
  const Matrix d = spread_out(a, 2);
  const std::vector<std::string> names{"oil", "gas", "gold", "tin", "zinc"};
  for (const linalg::Diagnosis& told : all_named(d, names)) EXPECT_TRUE(told.ok()) << told;
  EXPECT_THROW(all_named(d, std::vector<std::string>{"oil", "gas"}), ArgumentError);
  Tensor bad = a;
  bad[{1, 3}] = bad[{3, 1}] = std::numeric_limits<double>::quiet_NaN();
  std::size_t told_by = 0;
  for (const linalg::Diagnosis& told : all_named(spread_out(bad, 2), names)) {
    EXPECT_EQ(told.status(), linalg::Status::nonfinite_input);
    told_by += told.text().find("gas") != std::string::npos || told.text().find("tin") != std::string::npos;
  }
  EXPECT_EQ(told_by, 12U);
}
TEST(Options, WhatIsNotPositiveDefiniteIsToldAsOnOneMachine) {
  const std::vector<std::string> names{"oil", "gas", "gold", "tin", "zinc"};
  const Tensor a = spd_matrix(5, f64) - 3 * eye(5);
  const auto one = linalg::diagnosed::cholesky(a, {.names = names});
  ASSERT_EQ(one.diagnosis.status(), linalg::Status::not_spd);
  EXPECT_EQ(diagnosed::cholesky(spread_out(a, 2), {.names = names}).diagnosis[0].message, one.diagnosis[0].message);
}
TEST(Options, LeastSquaresAreCertifiedAsOnOneMachine) {
  const Tensor a = noise_matrix(20, 5), b = noise_matrix(20, 1, f64, 9);
  const auto many = diagnosed::lstsq(spread_out(a), spread_out(b), {.certify = true});
  const auto one = linalg::diagnosed::lstsq(a, b, {.certify = true});
  EXPECT_TRUE(many.diagnosis[0].certified);
  EXPECT_EQ(many.diagnosis[0].forward_error, one.diagnosis[0].forward_error);
  EXPECT_EQ(distance(many.value.gather(), one.value), 0);
  const Layout wide = some_layout(64);
  EXPECT_THROW(lstsq(Matrix::identity(1001, f64, wide), Matrix::from(ones({1001}), wide), {.certify = true}),
               ArgumentError);
}
TEST(Options, OfSquareMatricesAreRefusedForOthers) {
  const Matrix tall = spread_out(noise_matrix(12, 5));
  EXPECT_TRUE(diagnose(tall, {.if_ill = "nan"}).diagnosis.ok());
  EXPECT_THROW(diagnose(tall, {.shift = 1}), ArgumentError);
  EXPECT_THROW(diagnose(tall, {.certify = true}), ArgumentError);
}
TEST(Options, SpectraSayRankAndExactSingularityAsOnOneMachine) {
  const Tensor a = low_rank(30, 30, f64);
  const Matrix d = spread_out(a);
  for (const linalg::Diagnosis& told : {diagnosed::svdvals(d).diagnosis, diagnosed::svd(d).diagnosis,
                                        diagnosed::matrix_rank(d).diagnosis, diagnosed::cond(d).diagnosis}) {
    EXPECT_EQ(told[0].rank, 6) << told;
    EXPECT_GT(told[0].rank_threshold, 0) << told;
  }
  EXPECT_TRUE(diagnosed::svdvals(spread_out(ones({4, 4}), 1)).diagnosis[0].exactly_singular);
  // Too large for one place: by the values.
  const Matrix large = Matrix::generate(
      1020, 40, f64, [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j == 31 ? 7 : j)); },
      some_layout(16));
  EXPECT_EQ(diagnosed::svdvals(large).diagnosis[0].rank, 39);
  EXPECT_EQ(diagnosed::svd(large).diagnosis[0].dependent_columns, "column 31 = column 7");
}
TEST(Options, MemoryOfTheCallersIsNotTaken) {
  const Matrix d = spread_out(spd_matrix(5, f64), 2);
  linalg::LuResult lu_memory;
  linalg::QrResult qr_memory;
  linalg::EighResult eigh_memory;
  EXPECT_THROW(lu(d, {.out = &lu_memory}), ArgumentError);
  EXPECT_THROW(qr(d, {.out = &qr_memory}), ArgumentError);
  EXPECT_THROW(eigh(d, {.out = &eigh_memory}), ArgumentError);
}

TEST(Options, ADuplicatedColumnIsNamedInEveryDtypeByAllThatDivide) {
  for (const DType dtype : kAll) {
    Tensor a = noise_matrix(40, 40, dtype);
    a[{slice(), 31}] = a[{slice(), 7}];
    const Matrix da = spread_out(a), db = spread_out(noise_matrix(40, 1, dtype, 3));
    EXPECT_THROW(inv(da), SingularMatrix) << name(dtype);
    for (const linalg::Diagnosis& d :
         {diagnosed::inv(da).diagnosis, diagnosed::solve(da, db).diagnosis, diagnosed::pinv(da).diagnosis,
          diagnosed::lstsq(da, db).diagnosis, diagnose(da).diagnosis}) {
      EXPECT_EQ(d[0].dependent_columns, "column 31 = column 7") << name(dtype) << d;
      EXPECT_EQ(d[0].rank, 39) << name(dtype) << d;
    }
  }
}

TEST(Options, DependentColumnsOfWhatIsLargeAreNamedToo) {
  const std::int64_t m = 1020, n = 120;
  const Matrix a = Matrix::generate(
      m, n, f64, [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j == 31 ? 7 : j)); },
      some_layout(16));
  EXPECT_EQ(diagnosed::pinv(a).diagnosis[0].dependent_columns, "column 31 = column 7");
  const auto found = diagnosed::lstsq(a, Matrix::from(ones({m}), some_layout(16)));
  EXPECT_EQ(found.diagnosis[0].dependent_columns, "column 31 = column 7") << found.diagnosis;
}

TEST(Options, PoliciesForASingularMatrix) {
  const Tensor a = low_rank(30, 30, f64), b = noise_matrix(30, 1, f64, 5);
  const Matrix da = spread_out(a), db = spread_out(b);
  const auto first = [](const Matrix& x) { return x.gather().to_vector<double>()[0]; };
  double value = 0;
  EXPECT_EQ(findings_of([&] { value = first(solve(da, db, {.if_ill = "warn"})); }),
            std::vector<std::string>{"WP-LIN-002"});
  EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(findings_of([&] { value = first(inv(da, {.if_ill = "ignore"})); }).empty());
  EXPECT_LE(distance(solve(da, db, {.if_ill = "ridge", .ridge = 1e-3}).gather(),
                     linalg::solve(a, b, {.if_ill = "ridge", .ridge = 1e-3})),
            1e-9);
  const Tensor good = noise_matrix(30, 30);
  for (const std::string_view rule : {"gcv", "l-curve", "discrepancy"}) {
    const auto found = diagnosed::solve(spread_out(good), db, {.ridge = Setting(rule), .noise = 0.1});
    const auto one = linalg::diagnosed::solve(good, b, {.ridge = Setting(rule), .noise = 0.1});
    EXPECT_NEAR(found.diagnosis[0].ridge / one.diagnosis[0].ridge, 1, 1e-3) << rule;
    EXPECT_LE(distance(found.value.gather(), one.value), 1e-3) << rule;
  }
}

TEST(Options, DigitsThatAreAskedForAndRefinementCount) {
  std::vector<double> v;  // Hilbert's matrix: condition 1e10
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t j = 0; j < 8; ++j) v.push_back(1.0 / static_cast<double>(i + j + 1));
  const Tensor a = Tensor::from(v, {8, 8}), b = matmul(a, ones({8}));
  const Matrix da = spread_out(a, 2), db = spread_out(b, 2);
  for (const std::optional<bool> refine : {std::optional<bool>(), std::optional(true), std::optional(false)})
    for (const double digits : {3.0, 12.0}) {
      const auto found = diagnosed::solve(da, db, {.refine = refine, .min_digits = digits});
      const auto one = linalg::diagnosed::solve(a, b, {.refine = refine, .min_digits = digits});
      EXPECT_EQ(found.diagnosis.status(), one.diagnosis.status()) << found.diagnosis << one.diagnosis;
    }
}

TEST(Options, CholeskyInDoubtIsDecidedExactly) {
  const Tensor ones_ = ones({3, 3}), nearly = ones_ + 1e-15 * eye(3);
  for (const Tensor& a : {ones_, nearly}) {
    const auto many = diagnosed::cholesky(spread_out(a, 1));
    EXPECT_EQ(many.diagnosis.status(), linalg::diagnosed::cholesky(a).diagnosis.status());
  }
  EXPECT_EQ(diagnosed::logdet(spread_out(ones_, 1)).value.item<double>(),
            linalg::diagnosed::logdet(ones_).value.item<double>());
  EXPECT_TRUE(diagnosed::lu(spread_out(ones_, 1)).diagnosis.ok());
  EXPECT_TRUE(diagnosed::qr(spread_out(ones_, 1)).diagnosis.ok());
  EXPECT_EQ(diagnosed::matrix_rank(spread_out(ones_, 1)).value, 1);
  EXPECT_TRUE(std::isinf(diagnosed::cond(spread_out(ones_, 1)).value));
}

TEST(Options, DiagnosesOfWhatIsNotFiniteDoNotRaise) {
  const Matrix d = spread_out(Tensor{{1.0, HUGE_VAL}, {2.0, 3.0}}, 1);
  const auto bad = linalg::Status::nonfinite_input;
  EXPECT_EQ(diagnosed::cholesky(d).diagnosis.status(), bad);
  EXPECT_EQ(diagnosed::logdet(d).diagnosis.status(), bad);
  EXPECT_EQ(diagnosed::lu(d).value.order, (std::vector<std::int64_t>{-1, -1}));
  EXPECT_EQ(diagnosed::qr(d).diagnosis.status(), bad);
  EXPECT_EQ(diagnosed::matrix_rank(d).value, -1);
  EXPECT_TRUE(std::isnan(diagnosed::cond(d).value));
  EXPECT_EQ(diagnose(d).diagnosis.status(), bad);
  EXPECT_THROW(cond(d), NonFiniteError);
  EXPECT_EQ(matrix_rank(d, {.if_ill = "nan"}), -1);
}

TEST(Map, OfAnyDtypeIsThatOfOneMachine) {
  for (const DType dtype : kAll) {
    const Tensor stack = reshape(noise_matrix(9 * 5, 5, dtype), {9, 5, 5});
    const auto many = map(stack, [](const Tensor& share) { return linalg::diagnosed::inv(share); });
    EXPECT_EQ(distance(many.value, linalg::inv(stack)), 0) << name(dtype);
  }
}
TEST(Map, OfNoMembersIsWhatTheFunctionGivesForNone) {
  const auto none = map(zeros({0, 5, 3}), [](const Tensor& share) { return linalg::diagnosed::pinv(share); });
  EXPECT_EQ(none.value.shape(), (Dims{0, 3, 5}));
  EXPECT_EQ(none.diagnosis.size(), 0);
}

}  // namespace
}  // namespace wp::dist
