#include "data/quantiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/expression.hpp"
#include "data/sample.hpp"
#include "wellposed/random.hpp"

namespace wp::data {
namespace {

std::vector<double> draws(std::int64_t n, std::uint64_t seed) {
  return random::Generator(seed).normal({n}).to_vector<double>();
}

TEST(QuantileSketch, IsExactUpToItsLimit) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{10}, static_cast<std::int64_t>(Quantiles::kExact)}) {
    std::vector<double> x = draws(n, 4);
    Quantiles q;
    q.add(x);
    q.settle();
    std::sort(x.begin(), x.end());
    EXPECT_EQ(q.error(), 0);
    for (int k = 0; k <= 100; ++k) {
      const auto rank = std::max<std::int64_t>((k * n + 99) / 100, 1);
      EXPECT_EQ(q.at(k / 100.0), x[static_cast<std::size_t>(rank - 1)]) << n << ' ' << k;
    }
    EXPECT_EQ(q.up_to(x[x.size() / 2]), static_cast<double>(x.size() / 2 + 1));
  }
  Quantiles none;
  none.settle();
  EXPECT_TRUE(std::isnan(none.at(0.5)));
}

// Sorted, reversed, alternating and equal values are hard for sketches; the bound is one that holds.
TEST(QuantileSketch, KeepsItsBoundOnAnyOrder) {
  const std::int64_t n = 3000017;
  for (int order = 0; order < 5; ++order) {
    std::vector<double> x = draws(n, 8);
    if (order == 1) std::sort(x.begin(), x.end());
    if (order == 2) std::sort(x.rbegin(), x.rend());
    if (order == 3)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? static_cast<double>(i) : -static_cast<double>(i);
    if (order == 4)
      for (double& v : x) v = std::round(v);
    Quantiles q;
    for (std::size_t i = 0; i < x.size(); i += 70001)
      q.add(std::span(x).subspan(i, std::min<std::size_t>(70001, x.size() - i)));
    q.settle();
    std::sort(x.begin(), x.end());
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); i += 997) {
      const auto below = std::lower_bound(x.begin(), x.end(), x[i]) - x.begin();
      const auto up_to = std::upper_bound(x.begin(), x.end(), x[i]) - x.begin();
      worst = std::max({worst, std::fabs(q.below(x[i]) - static_cast<double>(below)),
                        std::fabs(q.up_to(x[i]) - static_cast<double>(up_to))});
    }
    EXPECT_LE(worst, static_cast<double>(q.error())) << order;
    EXPECT_LE(static_cast<double>(q.error()), 0.002 * static_cast<double>(n));
  }
}

TEST(QuantileSketch, DoesNotDependOnHowTheValuesCame) {
  const std::vector<double> x = draws(500000, 2);
  Quantiles a, b;
  a.add(x);
  for (std::size_t i = 0; i < x.size(); i += 12345)
    b.add(std::span(x).subspan(i, std::min<std::size_t>(12345, x.size() - i)));
  a.settle();
  b.settle();
  for (int k = 0; k <= 1000; ++k) EXPECT_EQ(a.at(k / 1000.0), b.at(k / 1000.0));
}

TEST(Samples, AreBoundedAndDoNotDependOnTheTiles) {
  const std::vector<double> x = draws(400000, 6);
  const auto histogram = [&](std::int64_t step) {
    Sample s;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); i += step) {
      const std::int64_t n = std::min<std::int64_t>(step, static_cast<std::int64_t>(x.size()) - i);
      s.join(Sample::look({x.data() + i, f64, i, n, {}}), i + n);
    }
    FieldReport r;
    s.histogram(r);
    EXPECT_LE(r.sampled, static_cast<std::int64_t>(Sample::kMost));
    EXPECT_GE(r.sampled, static_cast<std::int64_t>(Sample::kMost) / 3);
    return r.counts;
  };
  EXPECT_EQ(histogram(1000), histogram(65536));
  EXPECT_EQ(histogram(1000), histogram(400000));
}

double value(const char* text, double a, double b) {
  const Expression e = Expression::parse(text);
  const double* values[2];
  for (std::size_t k = 0; k < e.names().size(); ++k) values[k] = e.names()[k] == "a" ? &a : &b;
  double out = -1;
  e.evaluate(std::span(values, e.names().size()), 1, &out);
  return out;
}

TEST(Predicates, ComputeWhatTheySay) {
  const struct {
    const char* text;
    double a, b;
    bool holds;
  } all[] = {{"a < b", 1, 2, true},
             {"a < b", 2, 2, false},
             {"a <= b and not a == b", 2, 2, false},
             {"0 < a < b <= 3", 1, 3, true},
             {"0 < a < b <= 3", 2, 2, false},
             {"a - b - 1 == -2", 1, 2, true},
             {"a + b * 2 == 5", 1, 2, true},
             {"(a + b) * 2 == 6", 1, 2, true},
             {"a / b / 2 == 0.25", 1, 2, true},
             {"-a + 3 > b", 0.5, 2, true},
             {"a % 3 == 2 and -a % 3 == 1", 5, 0, true},
             {"abs(a) == 2 and sqrt(b) == 3", -2, 9, true},
             {"min(a, b) == 1 and max(a, b) == 2", 2, 1, true},
             {"isnan(a) or isfinite(b)", NAN, HUGE_VAL, true},
             {"isfinite(a) or isnan(b)", HUGE_VAL, 1, false},
             {"a == a", NAN, 0, false},
             {"a != a", NAN, 0, false},
             {"a != b", 1, 2, true},
             {"not not a < b", 1, 2, true},
             {"a < 1 or b < 1 and a < 0", 0.5, 2, true},
             {"`a` < b", 1, 2, true},
             {"a < 1e3 and a > .5", 2, 0, true}};
  for (const auto& c : all) EXPECT_EQ(value(c.text, c.a, c.b), c.holds) << c.text;
}

}  // namespace
}  // namespace wp::data
