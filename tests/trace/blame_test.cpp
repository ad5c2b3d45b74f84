#include "wellposed/blame.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
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

// What an error is about goes back as far as a tensor does: also where a function refused its argument, or the checks
// a result.
TEST(BlameOf, AnErrorGoesBackToTheRowOfTheData) {
  const auto data = [] { return wp::with_rows(Tensor{{2.0, 1.0}, {1.0, -3.0}}, "data"); };
  const auto nan = [] { return wp::with_rows(Tensor{{2.0, 1.0}, {1.0, NAN}}, "data"); };
  const std::vector<std::pair<const char*, std::function<void()>>> made = {
      {"a result at level raise",
       [&] {
         const wp::checks strict(wp::CheckLevel::raise);
         (void)wp::log(data() * 2.0);
       }},
      {"an argument of linear algebra", [&] { (void)wp::linalg::inv(wp::log(data() * 2.0)); }},
      {"a cast", [&] { (void)wp::astype(wp::log(data() * 2.0), wp::i64); }},
  };
  const std::vector<std::pair<const char*, std::function<void()>>> given = {
      {"an argument of linear algebra",
       [&] {
         (void)wp::linalg::solve(nan() * 2.0, Tensor{1.0, 2.0});
       }},
      {"a cast", [&] { (void)wp::astype(nan() * 2.0, wp::i32); }},
      {"an integer division",
       [] {
         (void)wp::floor_divide(7, wp::with_rows(Tensor{{2, 1}, {1, 0}}, "data")[{wp::slice(0, 2)}]);
       }},
  };
  for (const bool op : {true, false})
    for (const auto& [name, run] : op ? made : given) {
      const wp::Trace trace;
      try {
        run();
        ADD_FAILURE() << name;
      } catch (const wp::Error& e) {
        const wp::Blame b = wp::blame(e);
        if (op) {
          EXPECT_EQ(b.chain.back().op, "log") << name << ": " << b.text();
          EXPECT_EQ(b.chain.back().element, (wp::Dims{1, 1})) << name;
          EXPECT_EQ(b.operands, std::vector<std::string>{"x[1, 1] = -6"}) << name;
          EXPECT_EQ(b.rows, std::vector<std::int64_t>{1}) << name << ": " << b.text();
        } else {
          EXPECT_EQ(b.source, wp::Blame::Source::data) << name << ": " << b.text();
          EXPECT_EQ(b.row, 1) << name;
          EXPECT_EQ(b.entry, wp::Dims{1}) << name;
        }
      }
    }
}

TEST(BlameOf, AResultThatWasRefusedIsTheOpAlsoWithoutATrace) {
  const wp::checks strict(wp::CheckLevel::raise);
  try {
    (void)wp::log(Tensor{1.0, -3.0});
    ADD_FAILURE();
  } catch (const wp::NonFiniteError& e) {
    const wp::Blame b = wp::blame(e);
    EXPECT_EQ(b.source, wp::Blame::Source::op);
    EXPECT_EQ(b.chain.back().op, "log");
    EXPECT_EQ(b.operands, std::vector<std::string>{"x[1] = -3"});
  }
}

// A name changes nothing: who made a value, what tapes know, what may not leave.
TEST(BlameOf, AResultThatWasNamedOrNumberedIsTheOpThatMadeIt) {
  const Tensor raw{{1.0, 2.0}, {0.0, 3.0}};
  for (const wp::CheckLevel level : {wp::CheckLevel::off, wp::CheckLevel::escape})
    for (const bool rows : {false, true}) {
      const wp::checks checked(level);
      const Trace trace;
      const Tensor logs = wp::reshape(wp::log(raw), {2, 2});
      const Tensor y = rows ? wp::with_rows(logs, "logs") : wp::named(logs, "logs");
      const Blame b = wp::blame(wp::sum(y * 2.0));
      EXPECT_EQ(b.source, Blame::Source::op) << b.text();
      EXPECT_EQ(b.chain.back().op, "log");
      EXPECT_EQ(b.operands, std::vector<std::string>{"x[1, 0] = 0"});
      EXPECT_EQ(b.rows, rows ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>());
      if (level == wp::CheckLevel::escape) {
        EXPECT_THROW((void)wp::named(wp::log(Tensor(0.0)), "l").item<double>(), wp::NonFiniteError);
      }
    }
  const Trace trace;
  const Tensor bad = wp::with_rows(Tensor{{1.0}, {NAN}} * 2.0, "data");
  EXPECT_EQ(wp::blame(wp::sum(bad)).row, 1) << "what was given before has no better name";
  wp::GradientTape tape;
  const Tensor x{3.0};
  tape.watch(x);
  const Tensor h = wp::named(x * 2.0, "h");
  EXPECT_EQ(tape.gradient(wp::sum(h * h), x).to_vector<double>(), std::vector<double>{24.0});
}

TEST(BlameOf, WhatAFunctionInsideOfAnotherMadeIsItsOwn) {
  const auto log_of = [](const Tensor& x) {
    return wp::VjpResult{wp::log(x), [x](const Tensor& g) { return g / x; }};
  };
  for (const bool traced : {true, false}) {
    std::optional<Trace> trace;
    if (traced) trace.emplace();
    const Tensor y = wp::custom_gradient(log_of, wp::with_rows(Tensor{{1.0}, {-3.0}}, "data"));
    const Blame b = wp::blame(wp::sum(y));
    EXPECT_EQ(b.chain.back().op, "log") << b.text();
    EXPECT_EQ(b.operands, std::vector<std::string>{"x[1, 0] = -3"}) << b.text();
    if (traced) {
      EXPECT_EQ(b.rows, std::vector<std::int64_t>{1});
    }
  }
}

// Comparisons and searches carry the note of a made NaN; the way back goes to that NaN, not to the largest number.
TEST(BlameOf, AnAnswerGoesBackToTheNanItRestsOn) {
  const std::vector<std::pair<const char*, std::function<void(const Tensor&)>>> all = {
      {"bool", [](const Tensor& r) { (void)static_cast<bool>(r[1] > 1e-8); }},
      {"all", [](const Tensor& r) { (void)wp::all(r < 1e9).item<bool>(); }},
      {"argmax", [](const Tensor& r) { (void)wp::argmax(r).item<std::int64_t>(); }},
  };
  for (const auto& [name, ask] : all) {
    const Trace trace;
    const Tensor r = wp::log(wp::with_rows(Tensor{50.0, -1.0, 3.0}, "data"));
    try {
      ask(r);
      ADD_FAILURE() << name;
    } catch (const wp::NonFiniteError& e) {
      const Blame b = wp::blame(e);
      EXPECT_EQ(b.source, Blame::Source::op) << name << ": " << b.text();
      EXPECT_EQ(b.chain.back().op, "log") << name << ": " << b.text();
      EXPECT_EQ(b.operands, std::vector<std::string>{"x[1] = -1"}) << name;
      EXPECT_EQ(b.rows, std::vector<std::int64_t>{1}) << name;
    }
  }
}

TEST(Rows, KeepTheirNumbersInOtherDtypesAndBetweenBounds) {
  const Tensor data = wp::with_rows(Tensor{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, "data")[{wp::slice(1, 3)}];
  const std::vector<std::int64_t> rows{1, 2};
  EXPECT_EQ(wp::rows_of(wp::astype(data, wp::f32)), rows);
  EXPECT_EQ(wp::rows_of(wp::astype(data, wp::f64, {.copy = true})), rows);
  EXPECT_EQ(wp::rows_of(wp::clip(data, 0.0, 5.0)), rows);
  EXPECT_EQ(wp::rows_of(wp::minimum(data, 5.0)), rows);
  EXPECT_EQ(wp::rows_of(wp::maximum(data, data)), rows);
  EXPECT_TRUE(wp::rows_of(wp::maximum(data, wp::with_rows(Tensor{{1.0, 2.0}, {3.0, 4.0}}, "data"))).empty());
}

TEST(BlameOf, AFinitePlaceFollowsTheLargestOperand) {
  const Trace trace;
  const Tensor x = wp::with_rows(table(1e30), "data");
  (void)wp::log(Tensor{-1.0});
  const Blame b = wp::blame(wp::matmul(x * 2.0, wp::ones({3, 2})), {7, 1});
  EXPECT_EQ(b.source, Blame::Source::data) << b.text();
  EXPECT_EQ(b.row, 7);
  EXPECT_EQ(b.entry, Dims{2});
  EXPECT_EQ(b.spread, 0) << "the NaN is not because of it";
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
