// How many digits iterative solvers vouch for, where a small residual says little of x.
#include <gtest/gtest.h>

#include <cmath>

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
