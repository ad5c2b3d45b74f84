#include "wellposed/trends.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "listening.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;

// Logistic regression on noise with a line in it; returns the step of the first finding (−1: none) and that of
// overflow.
struct Course {
  std::int64_t warned = -1, overflowed = -1;
  std::vector<wp::Finding> findings;
};
Course least_squares(double rate, int steps, std::uint64_t seed, bool momentum = false) {
  const wp::tests::Listening quiet;
  wp::random::Generator g(seed);
  const Tensor x = g.normal({64, 8}, {.dtype = wp::f32}), y = g.normal({64, 1}, {.dtype = wp::f32});
  Tensor w = g.normal({8, 1}, {.dtype = wp::f32}), velocity = wp::zeros({8, 1}, {.dtype = wp::f32});
  wp::Trends trends;
  Course run;
  const wp::checks off("off");
  for (int step = 0; step < steps; ++step) {
    wp::set_step(step);
    wp::GradientTape tape;
    tape.watch(w);
    const Tensor loss = wp::mean(wp::square(wp::subtract(wp::matmul(x, w), y)));
    if (run.overflowed < 0 && !std::isfinite(loss.item<float>())) run.overflowed = step;
    if (run.overflowed >= 0) break;
    const Tensor d = tape.gradient(loss, w);
    velocity = momentum ? wp::add(wp::multiply(velocity, 0.9), d) : d;
    const Tensor update = wp::multiply(velocity, -rate);
    trends.see("w", w, d, update);
    if (run.warned < 0 && !trends.findings().empty()) run.warned = step;
    w = wp::add(w, update);
  }
  wp::set_step(-1);
  run.findings = trends.findings();
  return run;
}

TEST(Trend, ADivergingRunIsToldAtLeastTwentyStepsBeforeItOverflows) {
  for (const double rate : {1.1, 1.3, 2.0}) {
    const Course run = least_squares(rate, 1000, 1);
    ASSERT_GE(run.overflowed, 0) << rate;
    ASSERT_GE(run.warned, 0) << rate;
    EXPECT_GE(run.overflowed - run.warned, 20) << rate;
    EXPECT_EQ(run.findings[0].code, "WP-TRD-001");
  }
}

TEST(Trend, HealthyRunsAreNotWarnedAbout) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Course run = least_squares(seed % 2 ? 0.05 : 0.3, 400, seed, seed % 3 == 0 && seed % 2);
    EXPECT_EQ(run.overflowed, -1) << seed;
    EXPECT_TRUE(run.findings.empty()) << seed << ": " << run.findings[0].text();
  }
}

TEST(Trend, NumbersWithoutASquareAreTold) {
  const wp::tests::Listening quiet;
  wp::Trends trends;
  trends.see("w", Tensor{1e20F, 1.0F}, Tensor{1.0F, 1.0F});
  trends.see("w", Tensor{1e20F, 1.0F}, Tensor{1.0F, 1.0F});
  trends.see("v", Tensor{1e18F, 1.0F}, Tensor{1.0F, 1.0F});
  ASSERT_EQ(trends.findings().size(), 1U);
  EXPECT_EQ(trends.findings()[0].code, "WP-TRD-002");
}

TEST(Trend, UpdatesLargerThanTheWeightsAreToldOnceTheyLast) {
  const wp::tests::Listening quiet;
  wp::Trends trends;
  for (int i = 0; i < 15; ++i) trends.see("w", Tensor{1.0}, Tensor{1.0}, Tensor{-2.0});
  EXPECT_TRUE(trends.findings().empty());
  trends.see("w", Tensor{1.0}, Tensor{1.0}, Tensor{-2.0});
  ASSERT_EQ(trends.findings().size(), 1U);
  EXPECT_EQ(trends.findings()[0].code, "WP-TRD-003");
}

TEST(Trend, UnitsThatStaySilentAreDead) {
  const wp::tests::Listening quiet;
  wp::Trends trends({.patience = 5});
  const Tensor mostly = Tensor{{0.0, 0.0, 0.0, 1.0}, {0.0, 0.0, 0.0, 0.0}}, some = Tensor{{0.0, 1.0, 0.0, 1.0}};
  for (int i = 0; i < 10; ++i) {
    trends.see_units("good", some);
    trends.see_units("bad", mostly);
  }
  ASSERT_EQ(trends.findings().size(), 1U);
  EXPECT_EQ(trends.findings()[0].code, "WP-TRD-004");
  EXPECT_NE(trends.findings()[0].message.find("3 of 4 units"), std::string::npos);
}

TEST(Guard, OneBadBatchDoesNotReachTheWeights) {
  const wp::tests::Listening listening;
  const std::vector<wp::Finding>& told = listening.told;
  const wp::Trace trace;
  std::vector<double> v(40, 1);
  v[21] = std::nan("");
  const Tensor data = wp::with_rows(Tensor::from(v, {20, 2}), "data");
  Tensor w = Tensor{{0.5}, {0.25}};
  wp::GradientGuard guard;
  for (int b = 0; b < 5; ++b) {
    const Tensor x = data[{wp::slice(4 * b, 4 * b + 4)}];
    guard.attempt([&] {
      wp::GradientTape tape;
      tape.watch(w);
      const Tensor loss = wp::mean(wp::square(wp::matmul(x, w)));
      w = wp::subtract(w, wp::multiply(tape.gradient(loss, w), 0.1));
    });
  }
  EXPECT_EQ(guard.refused(), 1);
  EXPECT_TRUE(std::isfinite(w[{0, 0}].item<double>()));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].code, "WP-TRD-005");
  EXPECT_NE(told[0].message.find("data row 10, column 1 = nan"), std::string::npos) << told[0].message;
}

// A step whose gradient, or whose update, is not finite where `bad` says so.
struct Steps {
  Tensor w = Tensor{0.5F}, v = Tensor{0.25F};
  void both(float slope_of_v) {
    w = wp::subtract(w, 1.0);
    wp::GradientTape tape;
    tape.watch(v);
    v = wp::subtract(v, tape.gradient(wp::sum(wp::divide(v, slope_of_v)), v));
  }
};

TEST(Guard, RefusesAlsoWhereChecksAreOffOrOnlyWarn) {
  for (const char* level : {"off", "warn", "escape"}) {
    const wp::tests::Listening quiet;
    const wp::checks around(level);
    Steps s;
    wp::GradientGuard guard;
    EXPECT_FALSE(guard.attempt([&] { s.both(0.0F); })) << level;
    EXPECT_EQ(s.v.item<float>(), 0.25F) << level;
    EXPECT_TRUE(guard.attempt([&] { s.both(2.0F); })) << level;
    EXPECT_EQ(guard.refused(), 1) << level;
    EXPECT_EQ(wp::context().level, wp::parse_check_level(level));
  }
}

TEST(Guard, RefusesAnUpdateThatOverflowsThoughItsGradientDoesNot) {
  const wp::tests::Listening quiet;
  Tensor w{1.0F, 3e38F};
  const Tensor gradient{1.0F, -3e38F};
  wp::GradientGuard guard;
  EXPECT_FALSE(guard.attempt([&] { w = wp::subtract(w, gradient); }, {&w}));
  EXPECT_EQ(w.to_vector<float>(), (std::vector<float>{1.0F, 3e38F}));
  ASSERT_EQ(quiet.told.size(), 1U);
  EXPECT_NE(quiet.told[0].message.find("the weights are as they were"), std::string::npos);
  EXPECT_NE(quiet.told[0].message.find("subtract[1]"), std::string::npos) << quiet.told[0].message;
}

TEST(Guard, PutsBackWhatAStepHadAssignedBeforeItFailed) {
  const wp::tests::Listening quiet;
  Steps s;
  wp::GradientGuard guard;
  EXPECT_FALSE(guard.attempt([&] { s.both(0.0F); }, {&s.w, &s.v}));
  EXPECT_EQ(s.w.item<float>(), 0.5F);
  EXPECT_EQ(s.v.item<float>(), 0.25F);
  EXPECT_TRUE(guard.attempt([&] { s.both(2.0F); }, {&s.w, &s.v}));
  EXPECT_EQ(s.w.item<float>(), -0.5F);
}

TEST(Guard, DoesNotSayThatWeightsAreAsTheyWereWhereItCannotKnow) {
  const wp::tests::Listening quiet;
  Steps s;
  wp::GradientGuard guard;
  EXPECT_FALSE(guard.attempt([&] { s.both(0.0F); }));
  EXPECT_EQ(s.w.item<float>(), -0.5F) << "what the step assigned before it failed";
  ASSERT_EQ(quiet.told.size(), 1U);
  EXPECT_EQ(quiet.told[0].message.find("as they were"), std::string::npos) << quiet.told[0].message;
}

TEST(Guard, AcceptsWhatIsFinite) {
  const wp::tests::Listening quiet;
  wp::GradientGuard guard;
  EXPECT_TRUE(guard.accepts({Tensor{1.0}, Tensor(), Tensor{2.0}}));
  EXPECT_FALSE(guard.accepts({Tensor{1.0}, Tensor{HUGE_VAL}}));
  EXPECT_EQ(guard.refused(), 1);
}

}  // namespace
