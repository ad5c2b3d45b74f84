#include "wellposed/bisect.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Tensor;
using Rows = std::vector<std::int64_t>;

// Rows are their own numbers.
Tensor numbers(std::int64_t n) {
  return wp::reshape(wp::arange(n), {n, 1});
}
bool holds(const Tensor& part, const Rows& all) {
  const Rows there = part.to_vector<std::int64_t>();
  return std::all_of(all.begin(), all.end(),
                     [&](std::int64_t r) { return std::find(there.begin(), there.end(), r) != there.end(); });
}

TEST(Bisect, FindsTheOneRowOfTenThousand) {
  const wp::Bisection b = wp::bisect(numbers(10000), [](const Tensor& t) { return holds(t, {7311}); });
  EXPECT_EQ(b.rows, Rows{7311});
  EXPECT_TRUE(b.minimal);
  EXPECT_LE(b.tries, 30);
  EXPECT_EQ(b.data.shape(), (wp::Dims{1, 1}));
}

TEST(Bisect, FindsRowsThatFailOnlyTogether) {
  for (const Rows& guilty : {Rows{3, 97}, Rows{0, 1, 2}, Rows{5, 40, 41, 99}}) {
    const wp::Bisection b = wp::bisect(numbers(100), [&](const Tensor& t) { return holds(t, guilty); });
    EXPECT_EQ(b.rows, guilty);
  }
}

TEST(Bisect, OfSeveralCausesFindsOne) {
  const wp::Bisection b = wp::bisect(numbers(64), [](const Tensor& t) {
    return holds(t, {9}) || holds(t, {50, 51});
  });
  EXPECT_TRUE(b.rows == Rows{9} || b.rows == (Rows{50, 51}));
}

TEST(Bisect, NeedsAllRowsIfAllAreNeeded) {
  const wp::Bisection b = wp::bisect(numbers(9), [](const Tensor& t) { return t.shape()[0] == 9; });
  EXPECT_EQ(b.rows.size(), 9U);
}

TEST(Bisect, StopsAtTheLimitWithWhatItHas) {
  const wp::Bisection b = wp::bisect(numbers(1000),
                                     [](const Tensor& t) {
                                       return holds(t, {1, 500, 900});
                                     },
                                     {.most_tries = 10});
  EXPECT_FALSE(b.minimal);
  EXPECT_EQ(b.tries, 10);
  EXPECT_TRUE(holds(b.data, {1, 500, 900}));
}

TEST(Bisect, RefusesWhatDoesNotFail) {
  EXPECT_THROW(wp::bisect(numbers(10), [](const Tensor&) { return false; }), wp::ArgumentError);
  EXPECT_THROW(wp::bisect(Tensor(wp::Scalar(1.0)), [](const Tensor&) { return true; }), wp::ArgumentError);
}

}  // namespace
