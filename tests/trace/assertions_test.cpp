#include "wellposed/assertions.hpp"

#include <gtest/gtest.h>

#include <functional>

#include <cmath>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Dims;
using wp::Tensor;

template <class E, class F>
std::string words(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing was raised";
}

TEST(Assert, FiniteNamesTheOpThatMadeTheValue) {
  const Tensor y = wp::log(Tensor{1.0, 2.0, 0.0, 4.0});
  const std::string said = words<wp::NonFiniteError>([&] { wp::assert_finite(y, "y"); });
  EXPECT_NE(said.find("log"), std::string::npos) << said;
  EXPECT_NE(said.find("x[2] = 0"), std::string::npos) << said;
  EXPECT_THROW(wp::assert_finite(Tensor{1.0, std::nan("")}), wp::NonFiniteError);
  EXPECT_EQ(wp::assert_finite(Tensor{1.0}).item<double>(), 1);
}

TEST(Assert, ShapeTakesAnyLengthForMinusOne) {
  const Tensor x = wp::ones({4, 3});
  wp::assert_shape(x, {-1, 3});
  EXPECT_NE(words<wp::AssertionError>([&] {
              wp::assert_shape(x, {-1, 4}, "features");
            }).find("features must have the shape [-1, 4]; it has [4, 3]"),
            std::string::npos);
  EXPECT_THROW(wp::assert_shape(x, {4, 3, 1}), wp::AssertionError);
  wp::assert_dims_at_most(x, {4, 3});
  EXPECT_THROW(wp::assert_dims_at_most(x, {3, 100}), wp::AssertionError);
}

TEST(Assert, RangeNamesTheFirstElementOutside) {
  const Tensor x = Tensor{{0.2, 0.8}, {0.5, 0.5}, {-0.1, 0.9}};
  const std::string said = words<wp::AssertionError>([&] { wp::assert_range(x, 0, 1, "data"); });
  EXPECT_NE(said.find("data[2, 0] = -0.1 is outside of [0, 1]"), std::string::npos) << said;
  EXPECT_NE(said.find("1 of 6 elements"), std::string::npos) << said;
  wp::assert_range(x, -0.1, 0.9);
  EXPECT_THROW(wp::assert_range(Tensor{0.5, std::nan("")}, 0, 1), wp::AssertionError);
  wp::assert_range(wp::ones({0}), 0, 1);
  wp::assert_range(Tensor{1, 2, 3}, 1, 3);
}

TEST(Assert, SpdTellsSkewFromIndefinite) {
  wp::assert_spd(Tensor{{2.0, 1.0}, {1.0, 2.0}});
  EXPECT_NE(words<wp::AssertionError>([] {
              wp::assert_spd(Tensor{{2.0, 1.0}, {1.5, 2.0}}, "S");
            }).find("not symmetric"),
            std::string::npos);
  EXPECT_NE(words<wp::AssertionError>([] {
              wp::assert_spd(Tensor{{1.0, 2.0}, {2.0, 1.0}}, "S");
            }).find("not positive definite"),
            std::string::npos);
  wp::assert_spd(Tensor{{2.0, 1.0 + 1e-16}, {1.0, 2.0}});
  wp::assert_spd(Tensor{{{2.0, 1.0}, {1.0, 2.0}}, {{1e-200, 0.0}, {0.0, 1e200}}});
  EXPECT_THROW(wp::assert_spd(wp::ones({2, 3})), wp::AssertionError);
}

TEST(Assert, ProbabilitySumsToOneUpToRounding) {
  wp::assert_probability(wp::softmax(wp::random::Generator(3).normal({50, 10}, {.dtype = wp::f32})));
  wp::assert_probability(Tensor{{0.25, 0.75}, {1.0, 0.0}});
  EXPECT_NE(words<wp::AssertionError>([] {
              wp::assert_probability(Tensor{{0.25, 0.75}, {0.5, 0.4}}, -1, "p");
            }).find("sum of p[1] = 0.9"),
            std::string::npos);
  EXPECT_THROW(wp::assert_probability(Tensor{1.5, -0.5}), wp::AssertionError);
}

TEST(Assert, ThatTakesAnyPredicate) {
  const auto even = [](const Tensor& x) { return wp::equal(wp::remainder(x, 2), 0); };
  wp::assert_that(Tensor{2, 4}, even, "labels are even");
  EXPECT_NE(words<wp::AssertionError>([&] {
              wp::assert_that(Tensor{2, 5, 7}, even, "labels are even", "labels");
            }).find("labels are even: labels[1] = 5 does not hold"),
            std::string::npos);
  EXPECT_THROW(wp::assert_that(
                   Tensor{2, 4}, [](const Tensor& x) { return x; }, "wrong"),
               wp::ArgumentError);
}

TEST(Assert, BlameOfTheErrorGoesBackToTheRowOfTheData) {
  const Tensor data = wp::with_rows(Tensor{{0.25, 0.25}, {0.1, 0.4}, {0.1, 3.0}}, "data");
  const std::vector<std::function<void()>> all = {
      [&] { (void)wp::assert_range(data * 2.0, 0, 1); },
      [&] {
        (void)wp::assert_that(
            data * 2.0, [](const Tensor& x) { return x < 5.0; }, "small");
      },
      [&] { (void)wp::assert_probability(wp::clip(data * 2.0, 0.0, 1.0)); },
  };
  for (const auto& assertion : all) {
    const wp::Trace trace;
    try {
      assertion();
      ADD_FAILURE();
    } catch (const wp::AssertionError& e) {
      const wp::Blame b = wp::blame(e);
      EXPECT_EQ(b.source, wp::Blame::Source::data) << b.text();
      EXPECT_EQ(b.row, 2) << b.text();
    }
  }
}

TEST(Assert, TapesSeeThrough) {
  const Tensor x = Tensor{1.0, 2.0};
  wp::GradientTape tape;
  tape.watch(x);
  const Tensor y = wp::sum(wp::square(wp::assert_range(wp::assert_finite(x), 0, 5)));
  EXPECT_EQ(tape.recorded(), 2U);
  EXPECT_EQ(tape.gradient(y, x).to_vector<double>(), (std::vector<double>{2, 4}));
}

TEST(Assert, UndefinedTensorsAreRefused) {
  EXPECT_THROW(wp::assert_finite(Tensor()), wp::ArgumentError);
  EXPECT_THROW(wp::assert_range(Tensor(), 0, 1), wp::ArgumentError);
}

}  // namespace
