// Iterative solvers against direct answers and constructed ones.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "listening.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

namespace la = linalg;

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <class T>
T draw(std::mt19937_64& g) {
  std::uniform_real_distribution<double> d(-1, 1);
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(d(g));
  else
    return T(static_cast<typename T::value_type>(d(g)), static_cast<typename T::value_type>(d(g)));
}
template <class T>
Tensor random_tensor(const Dims& shape, unsigned seed) {
  std::mt19937_64 g(seed);
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  std::vector<T> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(draw<T>(g));
  return Tensor::from(v, shape);
}
Tensor adjoint(const Tensor& a) {
  return conj(matrix_transpose(a));
}
double norm(const Tensor& x) {
  const checks off(CheckLevel::off);
  return astype(la::vector_norm(x), f64).item<double>();
}
// ‖x − y‖/‖y‖
double distance(const Tensor& x, const Tensor& y) {
  return norm(x - y) / norm(y);
}
template <class T>
constexpr double unit = std::numeric_limits<typename RealPart<T>::type>::epsilon() / 2;

// The second differences of n points, as compressed rows.
la::LinearOperator differences(std::int64_t n) {
  std::vector<std::int64_t> starts{0}, places;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) {
    for (const std::int64_t j : {i - 1, i, i + 1})
      if (j >= 0 && j < n) {
        places.push_back(j);
        values.push_back(i == j ? 2 : -1);
      }
    starts.push_back(static_cast<std::int64_t>(places.size()));
  }
  const auto stored = static_cast<std::int64_t>(places.size());
  return la::LinearOperator::csr(Tensor::from(starts, {n + 1}), Tensor::from(places, {stored}),
                                 Tensor::from(values, {stored}), n, n);
}
Tensor dense_differences(std::int64_t n) {
  return eye(n) * 2.0 - eye(n, {.k = 1}) - eye(n, {.k = -1});
}

template <class T>
class Iterative : public ::testing::Test {};
using Types = ::testing::Types<float, double, complex64, complex128>;
TYPED_TEST_SUITE(Iterative, Types);

TYPED_TEST(Iterative, CgSolvesPositiveDefiniteSystems) {
  using T = TypeParam;
  const Tensor g = random_tensor<T>({40, 40}, 1), a = matmul(adjoint(g), g) + astype(eye(40), dtype_v<T>);
  const Tensor x = random_tensor<T>({40}, 2), b = matmul(a, x);
  const auto got = la::cg(a, b);
  EXPECT_EQ(got.status, la::Status::ok);
  EXPECT_LE(norm(b - matmul(a, got.x)), got.target * 1.001);
  EXPECT_LT(distance(got.x, x), 1e4 * std::max(1e-10, unit<T> * 100));
  EXPECT_EQ(static_cast<std::int64_t>(got.residuals.size()), got.iterations + 1);
  // Extreme Ritz values find the condition from below.
  const double cond = astype(la::cond(a), f64).item<double>();
  EXPECT_LE(got.condition, cond * 1.01);
  EXPECT_GE(got.condition, cond * 0.5);
}

TYPED_TEST(Iterative, GmresAndLsmrSolveGeneralSystems) {
  using T = TypeParam;
  const Tensor a = random_tensor<T>({30, 30}, 3) + astype(eye(30), dtype_v<T>) * 6.0;
  const Tensor x = random_tensor<T>({30}, 4), b = matmul(a, x);
  for (const auto& got : {la::gmres(a, b), la::gmres(a, b, {{}, 7}), la::lsmr(a, b)}) {
    EXPECT_EQ(got.status, la::Status::ok) << got.message;
    EXPECT_LE(norm(b - matmul(a, got.x)), got.target * 1.01);
    EXPECT_LT(distance(got.x, x), 100 * std::max(1e-10, unit<T> * 100));
  }
}

TYPED_TEST(Iterative, MatrixFreeEqualsDense) {
  using T = TypeParam;
  const Tensor a = random_tensor<T>({20, 20}, 5) + astype(eye(20), dtype_v<T>) * 8.0, b = random_tensor<T>({20}, 6);
  const la::LinearOperator free(
      20, 20, dtype_v<T>, [&](const Tensor& v) { return matmul(a, v); },
      [&](const Tensor& v) { return conj(matmul(matrix_transpose(a), conj(v))); });
  const auto same = [](const Tensor& p, const Tensor& q) { return all(equal(p, q)).template item<bool>(); };
  EXPECT_TRUE(same(la::gmres(free, b).x, la::gmres(a, b).x));
  EXPECT_TRUE(same(la::lsmr(free, b).x, la::lsmr(a, b).x));
}

TYPED_TEST(Iterative, LsmrFindsTheLeastSquaresSolutionOfAnInconsistentSystem) {
  using T = TypeParam;
  const Tensor a = random_tensor<T>({30, 8}, 7), b = random_tensor<T>({30}, 8);
  const auto got = la::lsmr(a, b);
  EXPECT_EQ(got.status, la::Status::ok) << got.message;
  EXPECT_GT(got.residual, got.target);
  EXPECT_LT(distance(got.x, la::lstsq(a, b)), 100 * std::max(1e-10, unit<T> * 100));
}

TEST(Lsmr, DampsAsTheAugmentedSystemDoes) {
  const Tensor a = random_tensor<double>({20, 6}, 9), b = random_tensor<double>({20}, 10);
  const double damp = 0.7;
  la::LsmrOptions options;
  options.damp = damp;
  const Tensor tall = concat({a, eye(6) * damp}), right = concat({b, zeros({6})});
  EXPECT_LT(distance(la::lsmr(a, b, options).x, la::lstsq(tall, right)), 1e-9);
  options.x0 = zeros({6});
  EXPECT_THROW(la::lsmr(a, b, options), ArgumentError);
}

TEST(Lsmr, GivesTheShortestSolutionOfARankDeficientSystem) {
  const Tensor g = random_tensor<double>({12, 3}, 11), a = matmul(g, random_tensor<double>({3, 9}, 12));
  const Tensor b = matmul(a, random_tensor<double>({9}, 13));
  const auto got = la::lsmr(a, b);
  EXPECT_LT(distance(got.x, matmul(la::pinv(a, {.rtol = 1e-10}), b)), 1e-8);
}

TEST(LinearOperator, OfCompressedRowsEqualsItsMatrix) {
  const la::LinearOperator sparse = differences(50);
  const Tensor dense = dense_differences(50), x = random_tensor<double>({50}, 14);
  EXPECT_LT(distance(sparse(x), matmul(dense, x)), 1e-15);
  EXPECT_LT(distance(sparse.apply_adjoint(x), matmul(dense, x)), 1e-15);
  // [[0, 2j, 1], [3, 0, 0]] with one element in two pieces
  const la::LinearOperator wide =
      la::LinearOperator::csr(Tensor{0, 3, 4}, Tensor{1, 2, 1, 0},
                              Tensor::from(std::vector<complex128>{{0, 1}, {1, 0}, {0, 1}, {3, 0}}, {4}), 2, 3);
  const Tensor w = wide(Tensor{1.0, 1.0, 1.0}), v = wide.apply_adjoint(Tensor{1.0, 1.0});
  EXPECT_EQ(w.to_vector<complex128>(), (std::vector<complex128>{{1, 2}, {3, 0}}));
  EXPECT_EQ(v.to_vector<complex128>(), (std::vector<complex128>{{3, 0}, {0, -2}, {1, 0}}));
}

TEST(LinearOperator, AddsMultipliesScalesAndTurns) {
  const Tensor a = random_tensor<complex128>({4, 3}, 15), b = random_tensor<complex128>({4, 3}, 16);
  const Tensor x = random_tensor<complex128>({3}, 17), y = random_tensor<complex128>({4}, 18);
  const la::LinearOperator p(a), q(b);
  EXPECT_LT(distance((p + q)(x), matmul(a + b, x)), 1e-14);
  EXPECT_LT(distance((p.adjoint() * q)(x), matmul(adjoint(a), matmul(b, x))), 1e-14);
  EXPECT_LT(distance((complex128(0, 2) * p).apply_adjoint(y), matmul(adjoint(a), y) * complex128(0, -2)), 1e-14);
}

TEST(LinearOperator, RefusesWhatDoesNotFitWithWords) {
  const auto words = [](auto&& f, std::string_view expected) {
    try {
      f();
      ADD_FAILURE() << "no exception: " << expected;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
    }
  };
  const Tensor square = eye(3), b = ones({3});
  words([&] { la::LinearOperator x(b); }, "needs a matrix");
  words(
      [&] {
        la::LinearOperator op(square);
        op(ones({4}));
      },
      "vector of 3 elements");
  words([&] { la::cg(ones({3, 2}), b); }, "A must be square");
  words([&] { la::gmres(square, ones({2})); }, "b must be a vector of 3 elements");
  words([&] { la::cg(square, b, {.x0 = ones({2})}); }, "x0 must be");
  words([&] { la::cg(square, b, {.preconditioner = la::LinearOperator(eye(2))}); }, "preconditioner must be 3 × 3");
  words([&] { la::cg(square, b, {.rtol = -1.0}); }, "tolerances");
  words([&] { la::cg(square, b, {.if_ill = "shout"}); }, "if_ill");
  words([&] { la::gmres(square, b, {{}, 0}); }, "restart must be positive");
  words([&] { la::cg(square, astype(b, c128)); }, "Make A complex");
  const la::LinearOperator one_way(3, 3, f64, [](const Tensor& x) { return x; });
  words([&] { la::lsmr(one_way, b); }, "needs the adjoint");
  const la::LinearOperator liar(3, 3, f64, [](const Tensor&) { return ones({5}); });
  words([&] { la::gmres(liar, b); }, "A x must be a vector of 3 elements");
  words([&] { la::LinearOperator::csr(Tensor{0, 1}, Tensor{7}, Tensor{1.0}, 1, 3); }, "outside of 3 columns");
  words([&] { la::LinearOperator::csr(Tensor{0, 2, 1, 3}, Tensor{0, 1, 2}, ones({3}), 3, 3); }, "must not fall");
  words([&] { la::LinearOperator::csr(Tensor{0, 1}, Tensor{0}, ones({1}), 3, 3); }, "rows + 1");
}

TEST(Cg, SaysThatAnIndefiniteMatrixIsNotPositiveDefinite) {
  const Tensor a{{1.0, 0.0}, {0.0, -1.0}};
  EXPECT_THROW(la::cg(a, Tensor{1.0, 2.0}), NotPositiveDefinite);
  const auto quiet = la::cg(a, Tensor{1.0, 2.0}, {.if_ill = "ignore"});
  EXPECT_EQ(quiet.status, la::Status::not_spd);
  EXPECT_NE(quiet.message.find("not positive definite"), std::string::npos);
  const auto zero = la::cg(zeros({2, 2}), Tensor{1.0, 2.0}, {.if_ill = "nan"});
  EXPECT_EQ(zero.status, la::Status::not_spd);
  EXPECT_TRUE(all(isnan(zero.x)).item<bool>());
  const Tensor turned = Tensor::from(std::vector<complex128>{{1, 1}, 0, 0, {1, -3}}, {2, 2});
  EXPECT_THROW(la::cg(turned, Tensor::from(std::vector<complex128>{1, 2}, {2})), NotPositiveDefinite);
}

// Asks for a residual below what rounding allows: the recursive one gets there, the true one cannot.
TEST(Cg, SaysWhenItsOwnResidualConvergesAndTheTrueOneDoesNot) {
  const std::int64_t n = 60;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(std::pow(10, -8.0 * static_cast<double>(i) / (n - 1)));
  const Tensor g = la::svd(random_tensor<double>({n, n}, 20)).U;
  Tensor a = matmul(g * Tensor::from(values, {n}), matrix_transpose(g));
  a = (a + matrix_transpose(a)) * 0.5;
  const Tensor b = random_tensor<double>({n}, 21);
  const auto got = la::cg(a, b, {.rtol = 1e-15, .max_iterations = 20000, .if_ill = "ignore"});
  EXPECT_EQ(got.status, la::Status::not_converged);
  EXPECT_GT(got.residual, got.target);
  EXPECT_LE(got.residuals.back(), got.target);
  EXPECT_NE(got.message.find("the true one is"), std::string::npos) << got.message;
  EXPECT_NEAR(norm(b - matmul(a, got.x)), got.residual, got.residual * 0.5);
}

TEST(Cg, TakesFewerIterationsWithAPreconditioner) {
  std::vector<double> diagonal;
  for (int i = 0; i < 200; ++i) diagonal.push_back(1 + i * i);
  const Tensor d = Tensor::from(diagonal, {200});
  const la::LinearOperator a(200, 200, f64,
                             [&](const Tensor& x) { return x * d + 0.1 * roll(x, {1}) + 0.1 * roll(x, {-1}); });
  const la::LinearOperator m(200, 200, f64, [&](const Tensor& x) { return x / d; });
  const auto plain = la::cg(a, ones({200})), better = la::cg(a, ones({200}), {.preconditioner = m});
  EXPECT_LT(3 * better.iterations, plain.iterations);
  EXPECT_LT(distance(better.x, plain.x), 1e-8);
}

TEST(Cg, StartsAtX0CountsForTheCallerAndStopsAtTheLimit) {
  const auto a = differences(100);
  const Tensor x = random_tensor<double>({100}, 22), b = a(x);
  EXPECT_EQ(la::cg(a, b, {.x0 = x}).iterations, 0);
  std::int64_t seen = 0;
  const auto got =
      la::cg(a, b, {.max_iterations = 5, .if_ill = "ignore", .progress = [&](std::int64_t i, double) { seen = i; }});
  EXPECT_EQ(got.status, la::Status::not_converged);
  EXPECT_EQ(got.iterations, 5);
  EXPECT_EQ(seen, 5);
  EXPECT_NEAR(got.residual, norm(b - a(got.x)), 1e-12);
  try {
    la::cg(a, b, {.max_iterations = 5});
    FAIL() << "no exception";
  } catch (const NotConverged& e) {
    EXPECT_NE(std::string(e.what()).find("iterative_test.cpp"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("after 5 iterations"), std::string::npos) << e.what();
    EXPECT_EQ(e.value().size(), 1U);
    EXPECT_EQ(e.diagnosis().status(), la::Status::not_converged);
  }
}

// Whatever the tolerance, and however often it has to start again from the true residual.
TEST(Cg, FindsTheConditionOfSecondDifferences) {
  const std::int64_t n = 400;
  const double exact = 1 / std::pow(std::tan(std::acos(-1.0) / 2 / (n + 1)), 2);
  for (const double rtol : {1e-8, 1e-10, 1e-12, 1e-14, 1e-15}) {
    const auto got = la::cg(differences(n), random_tensor<double>({n}, 30), {.rtol = rtol, .if_ill = "ignore"});
    EXPECT_LE(got.condition, exact * 1.01) << rtol;
    EXPECT_GE(got.condition, exact * 0.99) << rtol;
  }
}

TEST(Cg, EstimatesItsErrorWithinAFactor) {
  const auto a = differences(100);
  const Tensor x = random_tensor<double>({100}, 23), b = a(x);
  const auto got = la::cg(a, b, {.rtol = 1e-6});
  EXPECT_GE(got.forward_error, distance(got.x, x) * 0.9);
  EXPECT_LE(got.forward_error, distance(got.x, x) * 1e4);
}

// The cyclic shift: GMRES makes no progress at all until step n, restarted GMRES never does.
TEST(Gmres, SaysThatItStagnatesAndFullGmresSolves) {
  const std::int64_t n = 20;
  const la::LinearOperator shift(n, n, f64, [](const Tensor& x) { return roll(x, {1}); });
  Tensor b = zeros({n});
  b[{0}] = 1.0;
  const auto stuck = la::gmres(shift, b, {{.if_ill = "ignore"}, 5});
  EXPECT_EQ(stuck.status, la::Status::not_converged);
  EXPECT_NE(stuck.message.find("stagnates"), std::string::npos) << stuck.message;
  EXPECT_NEAR(stuck.residual, 1.0, 1e-12);
  EXPECT_LE(stuck.iterations, 10);
  const auto full = la::gmres(shift, b, {{}, n});
  EXPECT_EQ(full.status, la::Status::ok);
  EXPECT_LT(full.residual, 1e-12);
}

TEST(Gmres, SolvesConsistentSingularSystemsAndRefusesOthers) {
  const Tensor a{{1.0, 0.0}, {0.0, 0.0}};
  EXPECT_EQ(la::gmres(a, Tensor{2.0, 0.0}).x.to_vector<double>(), (std::vector<double>{2, 0}));
  const auto none = la::gmres(a, Tensor{1.0, 1.0}, {{.if_ill = "ignore"}});
  EXPECT_EQ(none.status, la::Status::not_converged);
  EXPECT_NE(none.message.find("singular"), std::string::npos) << none.message;
  const Tensor nilpotent{{0.0, 1.0}, {0.0, 0.0}};
  EXPECT_EQ(la::gmres(nilpotent, Tensor{0.0, 1.0}, {{.if_ill = "ignore"}}).status, la::Status::not_converged);
}

TEST(Gmres, UsesAPreconditionerFromTheRightSoThatItsResidualIsTheTrueOne) {
  const Tensor a = random_tensor<double>({40, 40}, 24) + eye(40) * 3.0, b = random_tensor<double>({40}, 25);
  const auto got = la::gmres(a, b, {{.preconditioner = la::LinearOperator(la::inv(a + eye(40) * 1e-3))}});
  EXPECT_LT(got.iterations, 8);
  EXPECT_NEAR(got.residuals.back(), got.residual, 1e-12);
}

TEST(Iterations, NameInfAndNanWhereverTheyComeFrom) {
  const double nan = std::nan("");
  const Tensor a = eye(3) * 2.0, bad{1.0, nan, 2.0};
  EXPECT_THROW(la::cg(a, bad), NonFiniteError);
  EXPECT_THROW(la::gmres(a, bad), NonFiniteError);
  EXPECT_THROW(la::lsmr(a, bad), NonFiniteError);
  const la::LinearOperator broken(
      3, 3, f64, [](const Tensor& x) { return x * std::nan(""); }, [](const Tensor& x) { return x; });
  EXPECT_THROW(la::cg(broken, ones({3})), NonFiniteError);
  EXPECT_THROW(la::gmres(broken, ones({3})), NonFiniteError);
  EXPECT_THROW(la::lsmr(broken, ones({3})), NonFiniteError);
  const auto words = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const NonFiniteError& e) {
      return std::string(e.what());
    }
    return std::string("nothing was raised");
  };
  const Tensor matrix{{1.0, 2.0, 0.0}, {2.0, nan, 0.0}, {0.0, HUGE_VAL, 1.0}};
  for (const std::string& said :
       {words([&] { la::cg(matrix, ones({3})); }), words([&] { la::gmres(matrix, ones({3})); }),
        words([&] { la::lsmr(matrix, ones({3})); })})
    EXPECT_NE(said.find("A[1, 1] is nan (2 of 9 elements are not finite)."), std::string::npos) << said;
  EXPECT_NE(words([&] { la::cg(a, bad); }).find("b[1] is nan (1 of 3 elements is not finite)."), std::string::npos);
  const std::string start = words([&] { la::gmres(a, ones({3}), {{.x0 = bad}}); });
  EXPECT_NE(start.find("x0[1] is nan"), std::string::npos) << start;
}

TEST(Iterations, OfNothingAndOfZeroEndAtOnce) {
  EXPECT_EQ(la::cg(zeros({0, 0}), zeros({0})).x.size(), 0);
  EXPECT_EQ(la::gmres(zeros({0, 0}), zeros({0})).x.size(), 0);
  EXPECT_EQ(la::lsmr(zeros({0, 0}), zeros({0})).x.size(), 0);
  for (const auto& got : {la::cg(eye(3), zeros({3})), la::gmres(eye(3), zeros({3})), la::lsmr(eye(3), zeros({3}))}) {
    EXPECT_EQ(got.iterations, 0);
    EXPECT_EQ(got.x.to_vector<double>(), (std::vector<double>(3, 0.0)));
  }
}

// Powers of two go through every step: the same iterations at any scale.
TEST(Iterations, DoNotDependOnTheScaleOfTheProblem) {
  const Tensor g = random_tensor<double>({15, 15}, 26), a = matmul(matrix_transpose(g), g) + eye(15);
  const Tensor b = random_tensor<double>({15}, 27);
  for (const double s : {0x1p-900, 0x1p-300, 0x1p300, 0x1p900}) {
    EXPECT_EQ(la::cg(a, b * s).x.to_vector<double>(), (la::cg(a, b).x * s).to_vector<double>());
    EXPECT_EQ(la::gmres(a, b * s).x.to_vector<double>(), (la::gmres(a, b).x * s).to_vector<double>());
    EXPECT_EQ(la::lsmr(a, b * s).x.to_vector<double>(), (la::lsmr(a, b).x * s).to_vector<double>());
  }
}

TEST(Iterations, HaveTheSameBitsForAnyNumberOfThreads) {
  const auto a = differences(20000) + la::LinearOperator::csr(astype(arange(0, 20001), i64), arange(0, 20000),
                                                              full({20000}, 0.5), 20000, 20000);
  const int before = threads();
  std::vector<std::vector<double>> answers;
  for (const int n : {1, 3}) {
    set_threads(n);
    for (const auto& got : {la::cg(a, ones({20000})), la::gmres(a, ones({20000})), la::lsmr(a, ones({20000}))})
      answers.push_back(got.x.to_vector<double>());
  }
  set_threads(before);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(answers[i], answers[i + 3]);
}

TEST(Lsmr, TakesFewerIterationsWithAPreconditionerAndFindsTheSameSolution) {
  const Tensor scales = exp(astype(arange(0, 12), f64)), a = random_tensor<double>({40, 12}, 31) * scales;
  const Tensor b = random_tensor<double>({40}, 32);
  const auto shrink = [&](const Tensor& x) { return x / scales; };
  const la::LinearOperator m(12, 12, f64, shrink, shrink);
  const auto plain = la::lsmr(a, b, {{.if_ill = "ignore"}}), better = la::lsmr(a, b, {{.preconditioner = m}});
  EXPECT_EQ(better.status, la::Status::ok);
  EXPECT_LT(2 * better.iterations, plain.iterations);
  EXPECT_LT(distance(better.x, la::lstsq(a, b)), 1e-7);
}

TEST(Iterations, WarnInsteadOfRaisingWhenAsked) {
  const tests::Listening listening;
  const std::vector<Finding>& told = listening.told;
  la::lsmr(differences(50), ones({50}), {{.max_iterations = 2, .if_ill = "warn"}});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].code, "WP-LIN-005");
  EXPECT_EQ(told[0].op, "lsmr");
}

}  // namespace
}  // namespace wp
