// How many digits iterative solvers vouch for, where a small residual says little of x.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "listening.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

namespace la = linalg;
using la::Status;

// ‖x − y‖/‖y‖
double distance(const Tensor& x, const Tensor& y) {
  return (la::vector_norm(x - y) / la::vector_norm(y)).item<double>();
}

// Hilbert's matrix: a small residual says nothing of x.
TEST(Iterations, SayThatASmallResidualLeavesFewDigitsOfAnIllConditionedSystem) {
  for (const std::int64_t n : {8, 10, 12}) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) values.push_back(1.0 / static_cast<double>(i + j + 1));
    const Tensor a = Tensor::from(values, {n, n}), exact = ones({n}), b = matmul(a, exact);
    const auto judge = [&](std::string_view name, const la::IterativeResult& r) {
      const double wrong = distance(r.x, exact);
      EXPECT_GE(r.forward_error * 2, std::min(wrong, 1.0)) << name << n;
      EXPECT_TRUE(wrong <= 1e-6 || r.status == Status::not_converged || r.status == Status::ill_conditioned)
          << name << n << r.message;
      EXPECT_EQ(r.message.find("ill-conditioned") != std::string::npos, r.status == Status::ill_conditioned);
    };
    judge("cg", la::cg(a, b, {.if_ill = "ignore"}));
    judge("gmres", la::gmres(a, b, {{.if_ill = "ignore"}}));
    judge("lsmr", la::lsmr(a, b, {{.if_ill = "ignore"}}));
  }
}

// The residual is small after one step, and the last element of x is wrong by all of itself: nothing on the way of
// the iteration shows that.
TEST(Iterations, FindAWeakDirectionThatTheRightHandSideHardlyHas) {
  for (const std::int64_t n : {5, 60, 300}) {
    std::vector<double> d(static_cast<std::size_t>(n), 1.0), right(static_cast<std::size_t>(n), 1.0);
    d.back() = right.back() = 1e-12;
    const Tensor weights = Tensor::from(d, {n}), b = Tensor::from(right, {n});
    const auto times = [=](const Tensor& x) { return wp::multiply(weights, x); };
    const la::LinearOperator a(n, n, f64, times, times);
    for (const la::IterativeResult& r : {la::cg(a, b, {.if_ill = "ignore"}), la::gmres(a, b, {{.if_ill = "ignore"}}),
                                         la::lsmr(a, b, {{.if_ill = "ignore"}})}) {
      const double last = r.x.at(n - 1).item<double>();
      EXPECT_TRUE(std::fabs(last - 1) <= 1e-6 || r.status == Status::ill_conditioned) << n << " " << r.message;
      EXPECT_GE(r.condition, 1e10) << n;
    }
    d.back() = right.back() = 0.5;  // its neighbour
    const Tensor fine = Tensor::from(d, {n}), side = Tensor::from(right, {n});
    const auto plain = [=](const Tensor& x) { return wp::multiply(fine, x); };
    const la::LinearOperator good(n, n, f64, plain, plain);
    EXPECT_EQ(la::cg(good, side).status, Status::ok);
    EXPECT_EQ(la::gmres(good, side).status, Status::ok);
    EXPECT_EQ(la::lsmr(good, side).status, Status::ok);
  }
}

TEST(Iterations, AreJudgedByAFewProductsMoreUnlessTheyAreToldNotTo) {
  for (const std::int64_t n : {40, 300}) {
    std::vector<double> d;
    for (std::int64_t i = 0; i < n; ++i) d.push_back(1 + static_cast<double>(i) / static_cast<double>(n));
    const Tensor weights = Tensor::from(d, {n}), b = ones({n});
    std::int64_t products = 0;
    const auto times = [&](const Tensor& x) {
      ++products;
      return wp::multiply(weights, x);
    };
    const la::LinearOperator a(n, n, f64, times, times);
    const auto more = [&](const std::function<la::IterativeResult(const la::IterativeOptions&)>& solver) {
      std::int64_t count[2];
      for (const bool judge : {true, false}) {
        products = 0;
        const la::IterativeResult r = solver({.judge = judge});
        count[judge] = products;
        EXPECT_EQ(r.status, Status::ok) << r.message;
        EXPECT_LE(distance(r.x, wp::divide(b, weights)), 1e-9);
        EXPECT_EQ(std::isnan(r.digits), !judge);
        EXPECT_EQ(std::isnan(r.forward_error), !judge);
        EXPECT_EQ(r.message.find("not judged") != std::string::npos, !judge) << r.message;
      }
      return count[1] - count[0];
    };
    EXPECT_EQ(more([&](const auto& o) { return la::cg(a, b, o); }), n == 40 ? n : 16);
    EXPECT_EQ(more([&](const auto& o) { return la::gmres(a, b, {o}); }), n == 40 ? n : 16);
    EXPECT_EQ(more([&](const auto& o) { return la::lsmr(a, b, {o}); }), n == 40 ? n : 16 + 15);  // A and Aᴴ
  }
  const Tensor a{{1.0, 0.0}, {0.0, 1e-12}}, b{1.0, 1e-12};  // what the judge would have found
  EXPECT_EQ(la::cg(a, b, {.if_ill = "ignore"}).status, Status::ill_conditioned);
  EXPECT_EQ(la::cg(a, b, {.judge = false}).status, Status::ok);
}

TEST(Iterations, SayOfAPreconditionedOperatorOnlyWhatIsTrueOfAItself) {
  const std::int64_t n = 300;
  std::vector<double> d;
  for (std::int64_t i = 0; i < n; ++i) d.push_back(std::pow(10.0, 4.0 * static_cast<double>(i) / (n - 1)));
  const Tensor weights = Tensor::from(d, {n});
  const auto times = [=](const Tensor& x) { return wp::multiply(weights, x); };
  const auto over = [=](const Tensor& x) { return wp::divide(x, weights); };
  const la::LinearOperator a(n, n, f64, times, times), m(n, n, f64, over, over);
  const la::IterativeOptions o{.preconditioner = m, .judge = false};  // A M is the identity, A has a condition of 1e4
  for (const la::IterativeResult& r :
       {la::cg(a, ones({n}), o), la::gmres(a, ones({n}), {o}), la::lsmr(a, ones({n}), {o})})
    EXPECT_TRUE(std::isnan(r.condition) || r.condition > 1e3) << r.condition;
}

TEST(Iterations, WarnOfFewDigitsAndNotOfAToleranceThatWasAskedFor) {
  const Tensor a{{1.0, 0.0}, {0.0, 1e-12}}, b{1.0, 1e-12}, good{{4.0, 1.0}, {1.0, 3.0}};
  const wp::tests::Listening found;
  la::cg(a, b);
  ASSERT_EQ(found.told.size(), 1u);
  EXPECT_EQ(found.told[0].code, "WP-LIN-003");
  const la::IterativeResult fine = la::cg(good, b), rough = la::cg(good, b, {.rtol = 1e-3});
  EXPECT_EQ(found.told.size(), 1u);
  EXPECT_EQ(fine.status, Status::ok);
  EXPECT_EQ(rough.status, Status::ok);
  EXPECT_GE(fine.digits, 9);
  EXPECT_LE(fine.condition, 3);
}

}  // namespace
}  // namespace wp
