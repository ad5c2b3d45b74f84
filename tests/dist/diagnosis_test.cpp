// Whole diagnoses, field by field: those of one machine, for every function that divides or decomposes, every dtype
// and grid, and matrices that are well posed, ill-conditioned, of lower rank, graded or nearly of another rank.
#include <functional>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "dist/matrix.hpp"
#include "linalg/judgement.hpp"
#include "long_tests.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

// With these singular values.
Tensor with_values(std::int64_t m, std::int64_t n, DType dtype, const std::function<double(std::int64_t)>& sigma) {
  const DType wide = is_complex(dtype) ? c128 : f64;
  const std::int64_t k = std::min(m, n);
  std::vector<double> s;
  for (std::int64_t i = 0; i < k; ++i) s.push_back(sigma(i));
  const Tensor u = linalg::qr(noise_matrix(m, k, wide)).Q, v = linalg::qr(noise_matrix(n, k, wide, 2)).Q;
  return astype(matmul(u * astype(Tensor::from(s, {1, k}), wide), adjoint_of(v)), dtype);
}

struct Named {
  std::string name;
  Tensor a;
};
std::vector<Named> matrices(std::int64_t m, std::int64_t n, DType dtype) {
  const std::int64_t k = std::min(m, n);
  const double u = unit(dtype), weak = std::sqrt(u) / 100;  // beyond what plain singular values vouch for
  const auto geometric = [&](double last) {
    return [=](std::int64_t i) { return std::pow(last, static_cast<double>(i) / static_cast<double>(k - 1)); };
  };
  Tensor twice = noise_matrix(m, n, dtype);
  if (m >= n)
    twice[{slice(), n - 1}] = twice[{slice(), 1}];
  else
    twice[{m - 1, slice()}] = twice[{1, slice()}];
  std::vector<double> units;
  for (std::int64_t j = 0; j < n; ++j) units.push_back(std::ldexp(1.0, static_cast<int>(j % 5) * 6));
  return {{"noise", noise_matrix(m, n, dtype)},
          {"ill-conditioned", with_values(m, n, dtype, geometric(weak))},
          {"low rank", matmul(noise_matrix(m, 4, dtype), noise_matrix(4, n, dtype, 2))},
          {"a line twice", twice},
          {"units", noise_matrix(m, n, dtype) * astype(Tensor::from(units, {1, n}), dtype)}};
}

double factor_between(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ? 1 : std::max(a / b, b / a);
}

// `estimated`: rcond is an estimate from factors, elsewhere of singular values. `large`: more than 300 rows.
void expect_same(const linalg::Diagnosis& many, const linalg::Diagnosis& one, bool estimated, bool large,
                 const std::string& what) {
  SCOPED_TRACE(what + "\nmany " + many.json() + "\none  " + one.json());
  const linalg::Member &m = many[0], &o = one[0];
  EXPECT_EQ(m.status, o.status);
  EXPECT_EQ(m.certified, o.certified);
  EXPECT_EQ(m.rank, o.rank);
  EXPECT_EQ(m.rank_doubt.empty(), o.rank_doubt.empty());
  EXPECT_EQ(m.dependent.empty(), o.dependent.empty());
  EXPECT_EQ(m.dependent_columns.empty(), o.dependent_columns.empty());
  // A relation that null vectors show is compared exactly in any size; one machine decides up to 300 rows.
  if (const bool more = large && m.exactly_singular; !more) {
    EXPECT_EQ(m.exactly_singular, o.exactly_singular);
    EXPECT_EQ(m.dependent, o.dependent);
    EXPECT_EQ(m.dependent_columns, o.dependent_columns);
    EXPECT_LE(factor_between(m.cond, o.cond), 1.2);
  }
  EXPECT_EQ(m.null_vector.defined(), o.null_vector.defined());
  EXPECT_LE(factor_between(m.rank_threshold, o.rank_threshold), 1.001);
  const bool rounding = m.rank_gap > 1e6 && o.rank_gap > 1e6;  // the next value is
  EXPECT_LE(rounding ? 1 : factor_between(m.rank_gap, o.rank_gap), 1.01);
  EXPECT_LE(m.exactly_singular ? 1 : factor_between(m.rcond, o.rcond), estimated ? 1.1 : 1.01);
  EXPECT_LE(factor_between(m.ridge, o.ridge), 1.01);
  EXPECT_LE(factor_between(m.freedom, o.freedom), 1.01);
  if (std::isnan(o.digits)) {
    EXPECT_TRUE(std::isnan(m.digits));
  } else {
    EXPECT_LE(m.digits, o.digits + 1);
    // p?gesvd is trusted to 16 √n u, and an answer of nine digits is left where it is.
    EXPECT_GE(m.digits, std::min(o.digits - 4, 9.0));
  }
  EXPECT_EQ(m.clusters.size(), o.clusters.size());
  EXPECT_EQ(m.value_error.defined(), o.value_error.defined());
}

// A function on all ranks and on one, of a matrix (and data).
struct Ask {
  std::function<linalg::Diagnosis(const Tensor& a, const Tensor& b, const Layout& layout)> many;
  std::function<linalg::Diagnosis(const Tensor& a, const Tensor& b)> one;
  bool estimated = false;
};
template <class Many, class One>
Ask of_matrix(Many many, One one, bool estimated = false) {
  return {[=](const Tensor& a, const Tensor&, const Layout& l) { return many(Matrix::from(a, l)).diagnosis; },
          [=](const Tensor& a, const Tensor&) { return one(a).diagnosis; }, estimated};
}
template <class Many, class One>
Ask of_data(Many many, One one, bool estimated = false) {
  return {[=](const Tensor& a, const Tensor& b, const Layout& l) {
            return many(Matrix::from(a, l), Matrix::from(b, l)).diagnosis;
          },
          [=](const Tensor& a, const Tensor& b) { return one(a, b).diagnosis; }, estimated};
}
#define WP_BOTH(call) \
  [](const auto&... x) { return diagnosed::call; }, [](const auto&... x) { return linalg::diagnosed::call; }

std::vector<std::pair<std::string, Ask>> of_any_shape() {
  return {{"lstsq", of_data(WP_BOTH(lstsq(x...)))},
          {"lstsq with a ridge", of_data(WP_BOTH(lstsq(x..., {.ridge = 1e-3})))},
          {"lstsq with atol", of_data(WP_BOTH(lstsq(x..., {.atol = 1e-3})))},
          {"pinv", of_matrix(WP_BOTH(pinv(x...)))},
          {"svdvals", of_matrix(WP_BOTH(svdvals(x...)))},
          {"cond", of_matrix(WP_BOTH(cond(x...)))},
          {"matrix_rank", of_matrix(WP_BOTH(matrix_rank(x...)))}};
}
std::vector<std::pair<std::string, Ask>> of_square() {
  return {{"solve", of_data(WP_BOTH(solve(x...)), true)},
          {"inv", of_matrix(WP_BOTH(inv(x...)), true)},
          {"solve with a ridge", of_data(WP_BOTH(solve(x..., {.ridge = 1e-3})))},
          {"inv with a ridge", of_matrix(WP_BOTH(inv(x..., {.ridge = "auto"})))},
          {"inv with a ridge and a shift", of_matrix(WP_BOTH(inv(x..., {.ridge = 1e-3, .shift = 0.5})))},
          {"solve, pinv if ill", of_data(WP_BOTH(solve(x..., {.if_ill = "pinv"})), true)}};
}

// `only`: some of the matrices; none: all.
void expect_all_the_same(std::int64_t m, std::int64_t n, DType dtype, const std::vector<std::int64_t>& blocks,
                         const std::set<std::string>& only = {}) {
  const Tensor b = noise_matrix(m, 2, dtype, 5);
  auto asked = of_any_shape();
  if (m == n)
    for (auto& more : of_square()) asked.push_back(std::move(more));
  for (const auto& [name, a] : matrices(m, n, dtype))
    for (const auto& [op, ask] : asked) {
      if (!only.empty() && !only.contains(name)) continue;
      const linalg::Diagnosis one = ask.one(a, b);
      for (const Layout& layout : layouts(blocks)) {
        const linalg::Diagnosis many = ask.many(a, b, layout);
        expect_same(many, one, ask.estimated, std::max(m, n) > linalg::kExact,
                    say(op, " of ", name, ", ", dtype, " [", m, ", ", n, "], ", facts(layout)));
        expect_one_diagnosis_on_all_ranks(many);
      }
    }
}

TEST(Diagnosis, IsThatOfOneMachineInEveryFieldAndDtype) {
  for (const DType dtype : kAll)
    for (const auto& [m, n] : {std::pair{20, 20}, std::pair{24, 12}, std::pair{12, 24}})
      expect_all_the_same(m, n, dtype, {3, 8});
}

TEST(Diagnosis, IsThatOfOneMachineUpToFiveHundredRows) {
  if (!long_tests()) return expect_all_the_same(80, 80, f64, {16, 64});
  expect_all_the_same(200, 100, f64, {16, 64});
  expect_all_the_same(330, 330, f64, {32, 64}, {"noise", "a line twice"});
  expect_all_the_same(500, 500, f64, {32, 64}, {"ill-conditioned"});
}

// Matrices of more than a thousand rows are judged where they are.
constexpr std::int64_t kLarge = 1020;
Matrix twice_in_large(std::int64_t n) {  // column 31 is column 7
  return Matrix::generate(
      kLarge, n, f64, [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j == 31 ? 7 : j)); },
      some_layout(16));
}

TEST(Diagnosis, OfLeastSquaresIsThatOfTheWorstColumn) {
  const std::int64_t n = 40;
  const Matrix a = twice_in_large(n);
  const Tensor whole = a.gather(), fitted = 1e8 * matmul(whole, noise_matrix(n, 1, f64, 3));
  const Tensor rest = noise_matrix(kLarge, 1, f64, 4), left = rest - matmul(whole, linalg::lstsq(whole, rest));
  const auto digits = [&](const Tensor& b) {
    return diagnosed::lstsq(a, Matrix::from(b, a.layout())).diagnosis[0].digits;
  };
  EXPECT_GE(digits(fitted), 10);
  EXPECT_LE(digits(left), 1);  // Aᴴb = 0 to rounding: x is nothing else
  EXPECT_LE(digits(concat({fitted, left}, {.axis = 1})), digits(left));
}

TEST(Diagnosis, OfRidgeAnswersHasDigitsThatHold) {
  const std::int64_t n = 40;
  const Matrix a = twice_in_large(n);
  const Tensor whole = a.gather(), b = noise_matrix(kLarge, 2, f64, 3);
  for (const double ridge : {1e-20, 1e-8, 1.0}) {
    const auto many = diagnosed::lstsq(a, Matrix::from(b, a.layout()), {.ridge = ridge});
    const auto one = linalg::diagnosed::lstsq(whole, b, {.ridge = ridge});
    ASSERT_FALSE(std::isnan(many.diagnosis[0].digits)) << ridge;
    EXPECT_LE(distance(many.value.gather(), one.value), promised(many.diagnosis, one.diagnosis)) << ridge;
    EXPECT_EQ(many.diagnosis.ok(), one.diagnosis.ok()) << many.diagnosis << one.diagnosis;
    EXPECT_EQ(many.diagnosis[0].rank, n - 1) << many.diagnosis;
  }
}

TEST(Diagnosis, OfALargeSingularMatrixSaysItsRankWithoutSingularValues) {
  const Matrix a = twice_in_large(kLarge), b = Matrix::from(ones({kLarge}), some_layout(16));
  EXPECT_EQ(diagnosed::solve(a, b).diagnosis[0].rank, kLarge - 1);
  const Matrix low = matmul(Matrix::from(noise_matrix(kLarge, kLarge - 3), some_layout(16)),
                            Matrix::from(noise_matrix(kLarge - 3, kLarge, f64, 2), some_layout(16)));
  EXPECT_EQ(diagnosed::inv(low).diagnosis[0].rank, kLarge - 3);
  try {  // no diagnosis was asked for: the matrix stays where it is
    solve(Matrix::from(a.gather().at({slice(0, 400), slice(0, 400)}), some_layout(16)),
          Matrix::from(ones({400}), some_layout(16)));
    ADD_FAILURE() << "a singular matrix was accepted";
  } catch (const SingularMatrix& e) {
    EXPECT_EQ(e.diagnosis()[0].rank, 399);
  }
}

TEST(Diagnosis, SaysWhereAnotherRankIsAsPlausibleOfAnySize) {
  for (const std::int64_t m : {60, 1020}) {
    const Tensor a = with_values(m, 30, f64, [=](std::int64_t i) {
      return i < 29 ? 1.0 : 4 * static_cast<double>(m) * 0x1p-52;  // four times what counts as zero
    });
    const Matrix d = Matrix::from(a, some_layout(16));
    for (const linalg::Diagnosis& told : {diagnose(d).diagnosis, diagnosed::pinv(d).diagnosis,
                                          diagnosed::matrix_rank(d).diagnosis, diagnosed::svdvals(d).diagnosis}) {
      EXPECT_EQ(told[0].rank, 30) << told;
      EXPECT_NE(told[0].rank_doubt, "") << told.json();
    }
  }
}

TEST(Diagnosis, OfAnAnswerBeyondTheRangeNamesTheElement) {
  const Tensor a = Tensor::from(std::vector<double>{1, 0, 0, 1e-300}, {2, 2}), b = Tensor{1.0, 1e10};
  const auto found = diagnosed::solve(Matrix::from(a, some_layout(1)), Matrix::from(b, some_layout(1)));
  EXPECT_EQ(found.diagnosis.status(), linalg::Status::overflow);
  EXPECT_NE(found.diagnosis[0].message.find("element [1] is inf"), std::string::npos) << found.diagnosis;
}

}  // namespace
}  // namespace wp::dist
