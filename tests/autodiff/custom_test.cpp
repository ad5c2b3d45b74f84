// Ops of the caller's: their rules in both modes, checks and blame.
#include <gtest/gtest.h>

#include "said.hpp"
#include "wellposed/gradcheck.hpp"

namespace {
using namespace wp;
using said::expect_says;
using said::values;

TEST(CustomOp, RunsThroughDispatchWithChecksAndDerivatives) {
  const TensorsFunction half = custom_op(
      {.name = "halve",
       .forward = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] / 2}; },
       .vjp = [](const auto&, const auto&, const std::vector<Tensor>& u) { return std::vector<Tensor>{u[0] / 2}; }});
  const Tensor x{2.0, 6.0};
  GradientTape tape;
  tape.watch(x);
  const Tensor y = half({x})[0];
  EXPECT_EQ(values(tape.gradient(y, x)), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(values(jvp([&](const Tensor& t) { return half({t})[0]; }, x, Tensor{1.0, 2.0}).tangent),
            (std::vector<double>{0.5, 1}));
}
// x log x and x y, a rule for each mode.
TEST(CustomOp, WithRulesForBothModesHasDerivativesOfBothOrders) {
  using Many = std::vector<Tensor>;
  int forward = 0;
  const TensorsFunction op = custom_op({.name = "pair",
                                        .forward =
                                            [](const Many& t) {
                                              return Many{t[0] * log(t[0]), t[0] * t[1]};
                                            },
                                        .vjp =
                                            [](const Many& t, const Many&, const Many& g) {
                                              const Tensor g0 = g[0].defined() ? g[0] : zeros_like(t[0]),
                                                           g1 = g[1].defined() ? g[1] : zeros_like(t[0]);
                                              return Many{g0 * (log(t[0]) + 1.0) + g1 * t[1], g1 * t[0]};
                                            },
                                        .jvp =
                                            [&](const Many& t, const Many&, const Many& v) {
                                              ++forward;
                                              const Tensor v0 = v[0].defined() ? v[0] : zeros_like(t[0]),
                                                           v1 = v[1].defined() ? v[1] : zeros_like(t[1]);
                                              return Many{v0 * (log(t[0]) + 1.0), v0 * t[1] + t[0] * v1};
                                            },
                                        .elementwise = true});
  const Tensor x{0.5, 2.0, 3.0}, y{-1.0, 0.25, 4.0}, v{1.0, -2.0, 0.5};
  const GradcheckReport r = gradcheck(op, {x, y}, 2);
  EXPECT_TRUE(r) << r;
  EXPECT_EQ(r.unjudged, 0);
  EXPECT_GT(forward, 0);
  forward = 0;
  const JvpResults along = jvp(op, {x, y}, {v, Tensor()});  // a tangent that is zero comes as none
  EXPECT_EQ(forward, 1);
  EXPECT_EQ(values(along.tangents[0]), values(v * (log(x) + 1.0)));
  EXPECT_EQ(values(along.tangents[1]), values(v * y));
  const auto loss = [&](const Tensor& t) { return sum(op({t, y})[0]); };
  EXPECT_EQ(values(hvp(loss, x, v)), values(v / x));
}
// Where only one mode has a rule the other is its transpose, or says that there is none.
TEST(CustomOp, WithARuleForwardOnlyIsRefusedBackByName) {
  using Many = std::vector<Tensor>;
  const TensorsFunction op =
      custom_op({.name = "ahead",
                 .forward = [](const Many& t) { return Many{t[0] * t[0]}; },
                 .jvp = [](const Many& t, const Many&, const Many& v) { return Many{2.0 * t[0] * v[0]}; }});
  const Tensor x{1.0, 3.0};
  EXPECT_EQ(values(jvp([&](const Tensor& t) { return op({t})[0]; }, x, Tensor{1.0, 1.0}).tangent),
            (std::vector<double>{2, 6}));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(op({x})[0]);
  expect_says([&] { (void)tape.gradient(y, x); }, "ahead");
}
TEST(CustomOp, ThatGivesAnInfiniteTangentIsBlamedForIt) {
  using Many = std::vector<Tensor>;
  const TensorsFunction op =
      custom_op({.name = "root",
                 .forward = [](const Many& t) { return Many{sqrt(t[0])}; },
                 .vjp = [](const Many&, const Many& y, const Many& g) { return Many{g[0] / (2.0 * y[0])}; },
                 .jvp = [](const Many&, const Many& y, const Many& v) { return Many{v[0] / (2.0 * y[0])}; },
                 .elementwise = true});
  const auto f = [&](const Tensor& t) { return op({t})[0]; };
  const Tensor x{4.0, 0.0}, v{1.0, 1.0};
  expect_says([&] { (void)jvp(f, x, v); }, "in the derivative of root");
  expect_says([&] { (void)gradient([&](const Tensor& t) { return sum(f(t)); }, x); }, "in the derivative of root");
}
TEST(CustomOp, IsBlamedByNameElementOperandAndLine) {
  const TensorsFunction bad =
      custom_op({.name = "entropy_term",
                 .forward = [](const std::vector<Tensor>& t) { return std::vector<Tensor>{log(t[0]) * t[1]}; },
                 .elementwise = true});
  const std::uint32_t line = __LINE__ - 3;
  const Tensor y = [&] {
    const scope here("loss");
    return bad({Tensor{1.0, 2.0, 0.0}, Tensor{4.0, 5.0, 6.0}})[0];
  }();
  try {
    (void)values(y);
    FAIL();
  } catch (const NonFiniteError& e) {
    const std::string text = e.what();
    for (const std::string& part :
         {std::string("Source: entropy_term: made -inf at element [2] of [3]"), std::string("x[2] = 0"),
          std::string("x[2] = 6"), std::string("scope loss"), "custom_test.cpp:" + std::to_string(line)})
      EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  const Tensor x{2.0, 6.0};
  GradientTape none;
  none.watch(x);
  const Tensor z = bad({x, x})[0];
  try {
    (void)none.gradient(z, x);
    FAIL();
  } catch (const GradientError& e) {
    EXPECT_NE(std::string(e.what()).find("entropy_term"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("it was given none"), std::string::npos) << e.what();
  }
}
}  // namespace
