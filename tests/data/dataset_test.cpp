#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "files.hpp"

namespace {

using wp::Batch;
using wp::Dataset;

class Datasets : public Files {};

Tensor numbers(std::int64_t n, std::int64_t columns) {
  return wp::reshape(wp::arange(static_cast<double>(n * columns)), {n, columns});
}

std::vector<std::int64_t> order_of(const Dataset& d, std::int64_t epoch) {
  std::vector<std::int64_t> out;
  for (const Batch& b : d.epoch(epoch)) out.insert(out.end(), b.rows.begin(), b.rows.end());
  return out;
}

TEST_F(Datasets, GiveEveryRowOnceInAnEpochWithItsNumber) {
  const Tensor x = numbers(1003, 3);
  for (const int prefetch : {0, 1, 4}) {
    const Dataset d({{"x", x}}, {.batch = 64, .seed = 5, .prefetch = prefetch});
    EXPECT_EQ(d.batches(), 16);
    std::set<std::int64_t> seen;
    std::int64_t number = 0;
    for (const Batch& b : d.epoch(0)) {
      EXPECT_EQ(b.number, number++);
      EXPECT_EQ(wp::rows_of(b["x"]), b.rows);
      EXPECT_EQ(&b.only(), &b["x"]);
      const auto v = b["x"].to_vector<double>();
      for (std::size_t i = 0; i < b.rows.size(); ++i) {
        EXPECT_TRUE(seen.insert(b.rows[i]).second);
        for (std::size_t c = 0; c < 3; ++c)
          EXPECT_EQ(v[3 * i + c], static_cast<double>(3 * b.rows[i]) + static_cast<double>(c));
      }
    }
    EXPECT_EQ(number, 16);
    EXPECT_EQ(seen.size(), 1003U);
  }
  EXPECT_EQ(Dataset({{"x", x}}, {.batch = 64, .drop_last = true}).batches(), 15);
}

TEST_F(Datasets, HaveAnOrderThatSeedAndEpochDecide) {
  const Dataset a({{"x", numbers(100, 1)}}, {.seed = 1}), b({{"x", numbers(100, 1)}}, {.seed = 2, .prefetch = 0});
  EXPECT_EQ(order_of(a, 0), order_of(a, 0));
  EXPECT_NE(order_of(a, 0), order_of(a, 1));
  EXPECT_NE(order_of(a, 0), order_of(b, 0));
  std::vector<std::int64_t> plain(100);
  std::iota(plain.begin(), plain.end(), 0);
  EXPECT_EQ(order_of(Dataset({{"x", numbers(100, 1)}}, {.shuffle = false}), 3), plain);
}

TEST_F(Datasets, SplitIntoPartsThatShareNoRowAndKeepTheNumbers) {
  const Dataset d({{"x", numbers(1000, 1)}}, {.seed = 3});
  const auto [train, test] = d.split(0.2);
  EXPECT_EQ(train.rows(), 800);
  EXPECT_EQ(test.rows(), 200);
  std::set<std::int64_t> all;
  for (const Dataset& part : {train, test})
    for (const Batch& b : part.epoch(0)) {
      const auto v = b.only().to_vector<double>();
      for (std::size_t i = 0; i < v.size(); ++i) EXPECT_EQ(v[i], static_cast<double>(b.rows[i]));
      all.insert(b.rows.begin(), b.rows.end());
    }
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(d.split(0).second.rows(), 0);
  EXPECT_EQ(d.split(0).second.batches(), 0);
  EXPECT_EQ(order_of(d.split(0.2).second, 0), order_of(test, 0));
}

TEST_F(Datasets, JoinFilesAndSayWhereARowCameFrom) {
  wp::save(path("a.npy"), numbers(10, 2));
  wp::save(path("b.npy"), numbers(5, 2) + 100.0);
  const Dataset d(std::vector<std::string>{"x=" + path("a.npy"), "x=" + path("b.npy")},
                  {.batch = 4, .shuffle = false});
  EXPECT_EQ(d.rows(), 15);
  EXPECT_EQ(d.origin(12), (std::pair<std::string, std::int64_t>(path("b.npy"), 2)));
  std::vector<double> v;
  for (const Batch& b : d.epoch())
    for (const double x : b["x"].to_vector<double>()) v.push_back(x);
  EXPECT_EQ(v.at(2 * 12), 104);
  EXPECT_THROW((void)d.origin(15), wp::IndexError);
}

TEST_F(Datasets, LetBlameGoFromALossBackToTheRowAndColumnOfTheFile) {
  wp::random::Generator g(3);
  Tensor raw = g.normal({10000, 6});
  raw[{7311, 4}] = std::numeric_limits<double>::quiet_NaN();
  wp::save(path("data.npy"), raw);
  const Tensor w = g.normal({6, 1});
  const Dataset d(std::vector<std::string>{path("data.npy")}, {.batch = 100, .seed = 11});
  const wp::Trace trace;
  int bad = 0;
  for (const Batch& b : d.epoch(0)) {
    const Tensor loss = wp::mean(wp::square(wp::matmul(b["data"], w)));
    if (wp::isfinite(loss).item<bool>()) continue;
    ++bad;
    const wp::Blame found = wp::blame(loss);
    EXPECT_EQ(found.source, wp::Blame::Source::data);
    EXPECT_EQ(found.row, 7311);
    EXPECT_SAYS(found.text(), "data row 7311, column 4 = nan");
  }
  EXPECT_EQ(bad, 1);
}

TEST_F(Datasets, AreCheckedAgainstASchemaOnTheWayIn) {
  Tensor raw = wp::ones({100, 3});
  raw[{17, 2}] = -1.0;
  wp::save(path("x.npy"), raw);
  wp::Schema s;
  s.tensor().range(0, 2);
  try {
    const Dataset d(std::vector<std::string>{path("x.npy")}, {.schema = s});
    ADD_FAILURE() << "it was let in";
  } catch (const wp::ValidationError& e) {
    EXPECT_SAYS(std::string(e.what()), "element [17, 2] = -1 is below 0; 1 of 300 values; row 17");
  }
  EXPECT_THROW(Dataset({{"x", raw}}, {.schema = s}), wp::ValidationError);
  EXPECT_TRUE(Dataset({{"x", wp::ones({4, 2})}}, {.schema = s}).report().ok());
  EXPECT_EQ(Dataset({{"x", wp::ones({4, 2})}}, {.schema = s}).report().rules.size(), 1U);
}

TEST_F(Datasets, RefuseWhatHasNoRowsOrDifferentOnes) {
  EXPECT_THROW(Dataset({{"x", numbers(3, 1)}, {"y", numbers(4, 1)}}), wp::ShapeError);
  EXPECT_THROW(Dataset({{"x", numbers(3, 1)}, {"x", numbers(3, 2)}}), wp::ShapeError);
  EXPECT_THROW(Dataset(wp::NamedTensors{}), wp::ArgumentError);
  EXPECT_THROW(Dataset({{"x", Tensor(1.0)}}), wp::ArgumentError);
  EXPECT_THROW(Dataset({{"x", numbers(3, 1)}}, {.batch = 0}), wp::ArgumentError);
  EXPECT_THROW(Dataset(std::vector<std::string>{path("none.npy")}), wp::FileError);
  EXPECT_THROW((void)Dataset({{"x", numbers(3, 1)}}).split(2), wp::ArgumentError);
  Batch b;
  wp::Epoch e = Dataset({{"x", numbers(3, 1)}}).epoch();
  EXPECT_TRUE(e.next(b));
  EXPECT_THROW((void)b["y"], wp::ArgumentError);
  EXPECT_FALSE(e.next(b));
  EXPECT_EQ(Dataset({{"x", numbers(0, 1)}}).batches(), 0);
}

TEST_F(Datasets, MayBeLeftInTheMiddleOfAnEpoch) {
  const Dataset d({{"x", numbers(1000, 2)}}, {.batch = 10, .prefetch = 3});
  for (int i = 0; i < 50; ++i)
    for (const Batch& b : d.epoch(i))
      if (b.number == i % 4) break;
}

TEST_F(Datasets, TakeRowsOfStridedTensors) {
  const Tensor x = wp::matrix_transpose(numbers(4, 50));
  const Dataset d({{"x", x}}, {.batch = 7, .seed = 1});
  for (const Batch& b : d.epoch())
    for (std::size_t i = 0; i < b.rows.size(); ++i)
      EXPECT_EQ(b.only().to_vector<double>()[4 * i + 2], static_cast<double>(100 + b.rows[i]));
}

}  // namespace
