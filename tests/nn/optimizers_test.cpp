// Updates against the published formulas in 64-bit mantissas, over several steps.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "wellposed/nn.hpp"
#include "wellposed/ops.hpp"

namespace {

using namespace wp;
using Real = long double;

constexpr int kSteps = 25;
const std::vector<double> kStart{0.5, -1.25, 3.0, 1e-8, -40.0};

// Gradients that change sign and size from step to step.
double slope(int step, std::size_t i, double) {
  return std::ldexp(std::sin(1.0 + 3.7 * step + static_cast<double>(i)),
                    static_cast<int>(i * 7 % 5) - 2 * (step % 3));
}

// Weights after kSteps of an optimizer.
std::vector<double> trained(nn::Optimizer optimizer) {
  nn::Model model({.dtype = f64});
  const Dims shape{static_cast<std::int64_t>(kStart.size())};
  for (int step = 0; step < kSteps; ++step) {
    nn::Pass pass(model, true);
    const Tensor w =
        pass.parameter("w", shape, [&](const Dims& s, DType, random::Generator&) { return Tensor::from(kStart, s); });
    std::vector<double> g(kStart.size());
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = slope(step, i, 0);
    optimizer.step(pass, sum(w * Tensor::from(g, shape)));
  }
  EXPECT_EQ(optimizer.steps(), kSteps);
  return model["w"].to_vector<double>();
}

struct Cell {
  Real w, a = 0, b = 0;  // weight, and what is kept of it
};
template <class Rule>
void expect_rule(nn::Optimizer optimizer, const Rule& rule) {
  const std::vector<double> got = trained(std::move(optimizer));
  for (std::size_t i = 0; i < kStart.size(); ++i) {
    Cell c{kStart[i]};
    Real size = std::fabs(c.w);
    for (int step = 0; step < kSteps; ++step) {
      rule(c, static_cast<Real>(slope(step, i, 0)), step + 1);
      size = std::max(size, std::fabs(c.w));
    }
    EXPECT_NEAR(got[i], static_cast<double>(c.w), static_cast<double>(size) * kSteps * 4e-16) << "weight " << i;
  }
}

TEST(Optimizers, SgdIsGradientDescent) {
  expect_rule(nn::sgd({.rate = 0.1}), [](Cell& c, Real g, int) { c.w -= 0.1 * g; });
}
TEST(Optimizers, WeightDecayOfSgdAddsTheWeightToTheGradient) {
  expect_rule(nn::sgd({.rate = 0.1, .weight_decay = 0.25}),
              [](Cell& c, Real g, int) { c.w -= 0.1 * (g + 0.25L * c.w); });
}
TEST(Optimizers, MomentumIsSutskeversHeavyBall) {
  expect_rule(nn::sgd({.rate = 0.1, .momentum = 0.9}), [](Cell& c, Real g, int) {
    c.a = static_cast<Real>(0.9) * c.a + g;
    c.w -= 0.1 * c.a;
  });
}
TEST(Optimizers, NesterovLooksAhead) {
  expect_rule(nn::sgd({.rate = 0.1, .momentum = 0.9, .nesterov = true}), [](Cell& c, Real g, int) {
    c.a = static_cast<Real>(0.9) * c.a + g;
    c.w -= 0.1 * (g + static_cast<Real>(0.9) * c.a);
  });
}

void adam_step(Cell& c, Real g, int t, double rate) {
  constexpr Real b1 = 0.9, b2 = 0.999, epsilon = 1e-8;
  c.a = b1 * c.a + (1 - b1) * g;
  c.b = b2 * c.b + (1 - b2) * g * g;
  const Real m = c.a / (1 - std::pow(b1, t)), v = c.b / (1 - std::pow(b2, t));
  c.w -= rate * m / (std::sqrt(v) + epsilon);
}
TEST(Optimizers, AdamIsKingmaAndBasAlgorithm) {
  expect_rule(nn::adam({.rate = 0.01}), [](Cell& c, Real g, int t) { adam_step(c, g, t, 0.01); });
}
TEST(Optimizers, AdamWTakesTheDecayOutOfTheMoments) {
  expect_rule(nn::adamw({.rate = 0.01, .weight_decay = 0.1}), [](Cell& c, Real g, int t) {
    c.w *= 1 - static_cast<Real>(0.01) * static_cast<Real>(0.1);
    adam_step(c, g, t, 0.01);
  });
}
TEST(Optimizers, AdamWithoutMemoryIsTheSignOfTheGradient) {
  nn::Model model({.dtype = f64});
  nn::Optimizer o = nn::adam({.rate = 1, .beta1 = 0, .beta2 = 0, .epsilon = 0});
  nn::Pass pass(model, true);
  const Tensor w = pass.parameter("w", {3}, nn::constant(0));
  o.step(pass, sum(w * Tensor{1e-9, -2.0, 1e9}));
  EXPECT_TRUE(static_cast<bool>(all(equal(model["w"], Tensor{-1.0, 1.0, -1.0}))));
}

TEST(Optimizers, SchedulesGiveTheRatesOfTheirFormulas) {
  const nn::Schedule e = nn::exponential_decay(0.1, 0.5, 10), c = nn::cosine_decay(1, 100, 0.1),
                     p = nn::piecewise({{0, 1.0}, {5, 0.5}, {8, 0.1}}), w = nn::warmup(4, 0.2);
  EXPECT_DOUBLE_EQ(e(0), 0.1);
  EXPECT_DOUBLE_EQ(e(20), 0.025);
  EXPECT_DOUBLE_EQ(c(0), 1);
  EXPECT_DOUBLE_EQ(c(50), 0.55);
  EXPECT_DOUBLE_EQ(c(1000), 0.1);
  EXPECT_EQ(p(4), 1.0);
  EXPECT_EQ(p(5), 0.5);
  EXPECT_EQ(p(100), 0.1);
  EXPECT_DOUBLE_EQ(w(0), 0.05);
  EXPECT_DOUBLE_EQ(w(3), 0.2);
  EXPECT_DOUBLE_EQ(w(9), 0.2);
}
TEST(Optimizers, AScheduleIsFollowedStepByStep) {
  expect_rule(nn::sgd({.rate = nn::piecewise({{0, 0.5}, {10, 0.125}})}),
              [](Cell& c, Real g, int t) { c.w -= (t <= 10 ? 0.5L : 0.125L) * g; });
}

TEST(Optimizers, ClippingKeepsTheDirectionAndTheNormWithoutOverflow) {
  const auto [clipped, norm] = nn::clip_norm({Tensor{3e200, 0.0}, Tensor(), Tensor{{0.0}, {4e200}}}, 10);
  EXPECT_DOUBLE_EQ(norm, 5e200);
  EXPECT_DOUBLE_EQ(clipped[0].to_vector<double>()[0], 6);
  EXPECT_FALSE(clipped[1].defined());
  EXPECT_DOUBLE_EQ(clipped[2].to_vector<double>()[1], 8);
  const auto [same, small] = nn::clip_norm({Tensor{3.0, 4.0}}, 5);
  EXPECT_EQ(small, 5);
  EXPECT_EQ(same[0].to_vector<double>(), (std::vector<double>{3, 4}));
  EXPECT_EQ(nn::clip_value({Tensor{-7.0, 0.5}}, 2)[0].to_vector<double>(), (std::vector<double>{-2, 0.5}));
}
TEST(Optimizers, ClippingIsRightAtBothEndsOfEveryDtype) {
  const auto [large, norm] = nn::clip_norm({full({4}, 3e38, {.dtype = f32})}, 1);
  EXPECT_NEAR(norm, 6e38, 1e32);
  for (const float v : large[0].to_vector<float>()) EXPECT_NEAR(v, 0.5, 1e-6);
  const auto [beyond, infinite] = nn::clip_norm({full({4}, 1e308)}, 1);  // 2e308 is no double
  EXPECT_TRUE(std::isinf(infinite));
  for (const double v : beyond[0].to_vector<double>()) EXPECT_DOUBLE_EQ(v, 0.5);
  const Tensor half = nn::clip_norm({full({1}, 6e4, {.dtype = f16})}, 1e-3).first[0];  // 1e-3 / 6e4 is no f16
  EXPECT_NEAR(astype(half, f64).item<double>(), 1e-3, 1e-6);
  const Tensor bad = nn::clip_norm({Tensor{1.0, std::numeric_limits<double>::infinity()}}, 1).first[0];
  EXPECT_EQ(min(bad).item<double>(), 1) << "what is infinite has no direction";
}
TEST(Optimizers, ClippingTakesNoLimitsThatAreNone) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double most : {-1.0, inf, std::nan("")}) {
    EXPECT_THROW(nn::clip_norm({Tensor{1.0}}, most), ArgumentError) << most;
    EXPECT_THROW(nn::clip_value({Tensor{1.0}}, most), ArgumentError) << most;
    EXPECT_THROW(nn::sgd({.clip = {.norm = most}}), ArgumentError) << most;
    EXPECT_THROW(nn::sgd({.clip = {.value = most}}), ArgumentError) << most;
  }
  EXPECT_THROW(nn::clip_norm({Tensor{1.0}}, 0), ArgumentError);
  EXPECT_EQ(nn::clip_value({Tensor{1.0}}, 0)[0].item<double>(), 0);
}
TEST(Optimizers, ARateThatIsNoneChangesNothing) {
  for (const double rate : {-0.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    nn::Model model;
    nn::Optimizer o = nn::sgd({.rate = [=](std::int64_t step) { return step == 1 ? rate : 0.5; }});
    const auto step = [&] {
      nn::Pass pass(model, true);
      o.step(pass, sum(pass.parameter("w", {1}, nn::constant(1))));
    };
    step();
    EXPECT_THROW(step(), ArgumentError) << rate;
    EXPECT_EQ(model["w"].item<float>(), 0.5F);
    EXPECT_EQ(o.steps(), 1);
    EXPECT_THROW(nn::exponential_decay(rate, 0.5, 10), ArgumentError) << rate;
    EXPECT_THROW(nn::cosine_decay(1, 10, rate), ArgumentError) << rate;
    EXPECT_THROW(nn::piecewise({{0, 1.0}, {5, rate}}), ArgumentError) << rate;
  }
  EXPECT_THROW(nn::exponential_decay(1, -0.5, 10), ArgumentError);
}
TEST(Optimizers, AnInfiniteGradientIsRefusedAlsoWhereItIsClipped) {
  nn::Model model;
  nn::Optimizer o = nn::sgd({.clip = {.norm = 1}});
  nn::Pass pass(model, true);
  (void)pass.parameter("w", {2}, nn::constant(1));
  EXPECT_THROW(o.apply(model, {full({2}, std::numeric_limits<double>::infinity(), {.dtype = f32})}), NonFiniteError);
}
TEST(Optimizers, ClipOptionsActBeforeTheUpdate) {
  nn::Model model({.dtype = f64});
  nn::Optimizer o = nn::sgd({.rate = 1, .clip = {.norm = 1}});
  nn::Pass pass(model, true);
  o.step(pass, sum(pass.parameter("w", {2}, nn::constant(0)) * Tensor{300.0, 400.0}));
  const std::vector<double> w = model["w"].to_vector<double>();
  EXPECT_DOUBLE_EQ(w[0], -0.6);
  EXPECT_DOUBLE_EQ(w[1], -0.8);
}

TEST(Optimizers, AnUpdateThatOverflowsRaisesAndChangesNothing) {
  nn::Model model;
  nn::Optimizer o = nn::sgd({.rate = 1e30, .momentum = 0.9});
  {
    nn::Pass pass(model, true);
    o.step(pass, sum(pass.parameter("fine", {1}, nn::constant(1)) * 0.0) +
                     sum(pass.parameter("w", {2}, nn::constant(1)) * 0.0));
  }
  const std::vector<float> before = model["w"].to_vector<float>();
  nn::Pass pass(model, true);
  const Tensor loss =
      sum(pass.parameter("fine", {1}, nn::constant(1))) + sum(pass.parameter("w", {2}, nn::constant(1)) * 1e10F);
  try {
    o.step(pass, loss);
    FAIL();
  } catch (const NonFiniteError& e) {
    EXPECT_NE(std::string(e.what()).find("update of 'w'"), std::string::npos) << e.what();
  }
  EXPECT_EQ(model["w"].to_vector<float>(), before);
  EXPECT_EQ(model["fine"].to_vector<float>(), std::vector<float>{1});
  EXPECT_EQ(o.steps(), 1);
}
TEST(Optimizers, SquaresThatOverflowInAdamRaiseInsteadOfStoppingTheParameter) {
  nn::Model model;
  nn::Optimizer o = nn::adam();
  nn::Pass pass(model, true);
  const Tensor loss = sum(pass.parameter("w", {2}, nn::constant(1)) * 1e25F);
  EXPECT_THROW(o.step(pass, loss), NonFiniteError);
}

TEST(Optimizers, OptionsOutsideTheirRangeAreRefused) {
  EXPECT_THROW(nn::sgd({.rate = -1}), ArgumentError);
  EXPECT_THROW(nn::sgd({.momentum = 1}), ArgumentError);
  EXPECT_THROW(nn::sgd({.nesterov = true}), ArgumentError);
  EXPECT_THROW(nn::adam({.beta2 = 1}), ArgumentError);
  EXPECT_THROW(nn::adamw({.weight_decay = std::nan("")}), ArgumentError);
  EXPECT_THROW(nn::piecewise({{3, 1.0}}), ArgumentError);
}

TEST(Optimizers, ARuleOfOnesOwnIsOneFunction) {
  const nn::Rule sign{"sign", {}, [](const Tensor& w, const Tensor& g, std::span<Tensor>, double rate, std::int64_t) {
                        return w - wp::sign(g) * rate;
                      }};
  expect_rule(nn::Optimizer(sign, 0.25), [](Cell& c, Real g, int) { c.w -= g > 0 ? 0.25L : -0.25L; });
}
TEST(Optimizers, ARuleThatGivesAnotherShapeOrDtypeChangesNothing) {
  for (const Tensor& made : {zeros({3}, {.dtype = f32}), zeros({2}), Tensor()}) {
    nn::Model model;
    nn::Optimizer o({"mine", {}, [&](const auto&, const auto&, auto, double, auto) { return made; }}, 0.25);
    nn::Pass pass(model, true);
    EXPECT_THROW(o.step(pass, sum(pass.parameter("w", {2}, nn::constant(1)))), ShapeError);
    EXPECT_EQ(model["w"].to_vector<float>(), (std::vector<float>{1, 1}));
  }
}

}  // namespace
