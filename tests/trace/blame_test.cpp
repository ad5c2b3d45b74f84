#include "wellposed/blame.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Blame;
using wp::Dims;
using wp::Tensor;
using wp::Trace;

const double nan = std::nan("");

// 10 rows of 3 columns; row 7, column 2 is `bad`.
Tensor table(double bad) {
  std::vector<double> v(30);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1 + static_cast<double>(i % 7);
  v[23] = bad;
  return Tensor::from(v, {10, 3});
}

TEST(Rows, KeepTheirNumbersThroughShufflingBatchingAndSlicing) {
  const Tensor data = wp::with_rows(table(1), "data");
  const Tensor order = Tensor{7, 3, 9, 1, 0, 2, 8, 4, 6, 5};
  const Tensor shuffled = wp::take(data, order, {.axis = 0});
  const Tensor batch = shuffled[{wp::slice(0, 4)}];
  EXPECT_EQ(wp::rows_of(batch), (std::vector<std::int64_t>{7, 3, 9, 1}));
  EXPECT_EQ(wp::rows_of(batch[{wp::slice(wp::none, wp::none, -1)}]), (std::vector<std::int64_t>{1, 9, 3, 7}));
  EXPECT_EQ(wp::rows_of(batch[{wp::ellipsis, wp::slice(0, 2)}]), (std::vector<std::int64_t>{7, 3, 9, 1}));
  EXPECT_EQ(wp::rows_of(wp::concat({batch, data[{wp::slice(4, 6)}]}, {.axis = 0})),
            (std::vector<std::int64_t>{7, 3, 9, 1, 4, 5}));
  const Tensor two_of_each = wp::reshape(batch, {2, 2, 3});
  EXPECT_TRUE(wp::rows_of(two_of_each).empty()) << "an entry of the first axis holds two rows";
  EXPECT_TRUE(wp::rows_of(wp::matrix_transpose(batch)).empty());
  EXPECT_TRUE(wp::rows_of(wp::exp(batch)).empty()) << "computed values are not data";
}

TEST(Rows, MaskedRowsKeepTheirNumbers) {
  const Tensor data = wp::with_rows(table(1), "data");
  const Tensor mask = wp::greater(wp::arange(10), 6);
  EXPECT_EQ(wp::rows_of(data[{mask}]), (std::vector<std::int64_t>{7, 8, 9}));
}

TEST(Rows, AreForgottenWithTheTensor) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(wp::rows_of(wp::with_rows(table(1), "data")).size(), 10U);
    EXPECT_TRUE(wp::rows_of(table(1)).empty());
  }
}

TEST(Rows, OneNumberPerRow) {
  const std::vector<std::int64_t> three = {1, 2, 3};
  EXPECT_THROW(wp::with_rows(table(1), "data", three), wp::ShapeError);
  EXPECT_THROW(wp::with_rows(Tensor(wp::Scalar(1.0)), "data"), wp::ShapeError);
}

TEST(BlameOf, ABadRowIsTheRowInTheDataSet) {
  const Trace trace;
  const Tensor data = wp::with_rows(table(nan), "data");
  const Tensor x = wp::take(data, Tensor{4, 2, 7, 0}, {.axis = 0});
  const Tensor w = wp::named(wp::ones({3, 5}), "w");
  const Tensor h = wp::tanh(wp::matmul(wp::divide(x, 2.0), w));
  const Tensor loss = wp::mean(wp::square(h));
  const Blame b = wp::blame(loss);
  EXPECT_EQ(b.source, Blame::Source::data);
  EXPECT_EQ(b.name, "data");
  EXPECT_EQ(b.row, 7);
  EXPECT_EQ(b.entry, Dims{2});
  const std::string text = b.text();
  EXPECT_NE(
      text.find(
          "mean ← square[2, 0] ← tanh[2, 0] ← matmul[2, 0] ← divide[2, 2] ← take[2, 2] ← data row 7, column 2 = nan"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("blame_test.cpp:"), std::string::npos);
}

TEST(BlameOf, AMadeValueIsTheOpWithItsOperandsAndTheRowItRestsOn) {
  const Trace trace;
  std::vector<double> v(30, 2);
  for (std::size_t k = 15; k < 18; ++k) v[k] = 0;  // row 5 sums to 0
  const Tensor x = wp::with_rows(Tensor::from(v, {10, 3}), "data")[{wp::slice(3, 7)}];
  const Tensor share = wp::divide(x, wp::sum(x, {.axis = 1, .keepdims = true}));
  const Blame b = wp::blame(wp::sum(share));
  EXPECT_EQ(b.source, Blame::Source::op);
  EXPECT_EQ(b.chain.back().op, "divide");
  EXPECT_EQ(b.chain.back().element, (Dims{2, 0}));
  EXPECT_EQ(b.rows, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(b.rows_name, "data");
  ASSERT_EQ(b.operands.size(), 2U);
  EXPECT_EQ(b.operands[0], "x1[2, 0] = 0");
}

TEST(BlameOf, AMadeInfinityIsTheSourceOfTheNanThatFollows) {
  const Trace trace;
  const Tensor x = Tensor{1.0, 2.0, 0.0, 4.0};
  const Tensor y = wp::log(x);
  const Blame b = wp::blame(wp::sum(wp::subtract(y, y)));
  EXPECT_EQ(b.chain.back().op, "log");
  EXPECT_EQ(b.chain.back().element, Dims{2});
  EXPECT_EQ(b.value, "-inf");
}

TEST(BlameOf, AnInfinityThatWasGivenDoesNotTakeTheBlameForANan) {
  const Trace trace;
  const Tensor mask = Tensor{0.0, -HUGE_VAL};
  const Blame b = wp::blame(wp::multiply(mask, Tensor{1.0, 0.0}));
  EXPECT_EQ(b.source, Blame::Source::op);
  EXPECT_EQ(b.chain.back().op, "multiply");
}

TEST(BlameOf, AParameterIsNamed) {
  const Trace trace;
  const Tensor w = wp::named(Tensor{{1.0, nan}, {2.0, 3.0}}, "layer1.weight");
  const Blame b = wp::blame(wp::sum(wp::exp(w)));
  EXPECT_EQ(b.source, Blame::Source::given);
  EXPECT_EQ(b.name, "layer1.weight");
  EXPECT_EQ(b.entry, (Dims{0, 1}));
}

TEST(BlameOf, AGradientGoesBackThroughTheDerivative) {
  const Trace trace;
  const Tensor x = Tensor{1.0, 0.0, 4.0};
  wp::GradientTape tape;
  tape.watch(x);
  const Tensor y = wp::sum(wp::sqrt(x));
  try {
    tape.gradient(y, x);
    FAIL() << "the derivative of sqrt at 0 is infinite";
  } catch (const wp::NonFiniteError& e) {
    const Blame b = wp::blame(e);
    EXPECT_EQ(b.source, Blame::Source::op);
    EXPECT_NE(b.chain.back().op.find("in the derivative of sqrt"), std::string::npos) << b.text();
    EXPECT_EQ(b.chain.back().element, Dims{1});
  }
}

TEST(BlameOf, WithoutATraceTheNoteStillNamesTheSourceAndSaysHowToSeeMore) {
  const Blame b = wp::blame(wp::sum(wp::log(Tensor{1.0, 0.0})));
  EXPECT_EQ(b.source, Blame::Source::op);
  EXPECT_EQ(b.chain.back().op, "log");
  EXPECT_NE(b.missing.find("Trace"), std::string::npos);
}

TEST(BlameOf, AShortWindowSaysThatItIsTooShort) {
  const Trace trace({.calls = 4});
  Tensor y = wp::log(Tensor{1.0, 0.0});
  for (int i = 0; i < 20; ++i) y = wp::add(y, 1.0);
  EXPECT_EQ(trace.calls(), 4U);
  EXPECT_EQ(trace.let_go(), 17U);
  const Blame b = wp::blame(y);
  EXPECT_EQ(b.chain.size(), 5U);  // four calls, and the source that the note remembers
  EXPECT_EQ(b.chain.back().op, "log");
  EXPECT_NE(b.missing.find("let go of 17 calls"), std::string::npos) << b.missing;
}

TEST(BlameOf, GivenValuesInAShortWindowAreNotCalledGiven) {
  const Trace trace({.calls = 2});
  Tensor y = Tensor{1.0, nan};
  for (int i = 0; i < 5; ++i) y = wp::add(y, 1.0);
  EXPECT_EQ(wp::blame(y).source, Blame::Source::unknown);
}

TEST(BlameOf, AnIndexOutOfRangeGoesBackToTheDataItCameFrom) {
  const wp::Trace trace;
  const Tensor tokens = wp::with_rows(Tensor{{3, 17}, {12, 8}, {2, 1000}}, "tokens");
  const Tensor batch = wp::take(tokens, Tensor{2, 0}, {.axis = 0});
  for (const bool one_hot : {false, true}) try {
      const Tensor flat = wp::reshape(batch, {-1});
      (void)(one_hot ? wp::one_hot(flat, 1000) : wp::take(wp::ones({1000, 8}), flat, {.axis = 0}));
      FAIL() << "1000 is out of range";
    } catch (const wp::IndexError& e) {
      EXPECT_EQ(e.finding().element, (wp::Dims{1}));
      const wp::Blame b = wp::blame(e);
      EXPECT_EQ(b.source, wp::Blame::Source::data);
      EXPECT_EQ(b.row, 2);
      EXPECT_EQ(b.entry, (wp::Dims{1}));
      EXPECT_EQ(b.value, "1000");
    }
}

TEST(BlameOf, AFinitePlaceFollowsTheLargestOperand) {
  const Trace trace;
  const Tensor x = wp::with_rows(table(1e30), "data");
  const Blame b = wp::blame(wp::matmul(x, wp::ones({3, 2})), {7, 1});
  EXPECT_EQ(b.source, Blame::Source::data);
  EXPECT_EQ(b.row, 7);
  EXPECT_EQ(b.entry, Dims{2});
}

TEST(BlameOf, WhatCannotBeAskedIsRefused) {
  EXPECT_THROW(wp::blame(Tensor{1.0, 2.0}), wp::ArgumentError);
  EXPECT_THROW(wp::blame(Tensor{1.0, 2.0}, {2}), wp::IndexError);
  EXPECT_THROW(wp::blame(Tensor()), wp::ArgumentError);
}

TEST(BlameReport, IsJsonAndAPage) {
  const Trace trace;
  const Blame b = wp::blame(wp::sum(wp::log(Tensor{1.0, 0.0})));
  const std::string json = b.json();
  EXPECT_NE(json.find("\"source\": \"op\""), std::string::npos);
  EXPECT_NE(json.find("\"operands\": [\"x[1] = 0\"]"), std::string::npos) << json;
  const std::string path = ::testing::TempDir() + "blame.html";
  b.html(path);
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  EXPECT_NE(page.str().find("log[1]"), std::string::npos);
}

}  // namespace
