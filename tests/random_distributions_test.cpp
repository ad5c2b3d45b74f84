// Distributions of random draws: shape, moments and tails.
#include <gtest/gtest.h>

#include <map>

#include "draws.hpp"
#include "simd/philox.hpp"
#include "simd/samplers.hpp"

namespace wp::random {
namespace {

// ----------------------------------------------------------------------------------------------------

// ---- the functions that shape draws, against 64-bit significands
// -----------------------------------------------------

double ulps(long double got, long double exact, int digits) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::abs(got - exact) / std::ldexp(1.0L, exponent - digits));
}

TEST(DrawMath, HasLogarithmAndExponentialWithinOneUlp) {
  namespace draw = simd::draw;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const simd::Block b = simd::philox_block(1, i, 0);
    const double u = draw::open_unit(b.low()), scaled = std::ldexp(u, static_cast<int>(b.word[2] % 1900) - 900);
    const double near = 1 + (u - 0.5) * std::ldexp(1.0, -static_cast<int>(b.word[3] % 50));
    for (const double x : {u, scaled, near == 1 ? 2.0 : near})
      ASSERT_LT(ulps(draw::log(x), std::log(static_cast<long double>(x)), 53), 1) << x;
    const float v = draw::open_unit(b.word[0]);
    ASSERT_TRUE(v == 1 || ulps(draw::log(v), std::log(static_cast<long double>(v)), 24) < 1) << v;
    for (const double x : {(u - 0.5) * 1410, u - 0.5})
      ASSERT_LT(ulps(draw::exp(x), std::exp(static_cast<long double>(x)), 53), 1) << x;
  }
  EXPECT_EQ(draw::exp(0), 1);
  EXPECT_EQ(draw::exp(-1e300), 0);
  EXPECT_EQ(draw::exp(1e300), HUGE_VAL);
  EXPECT_EQ(draw::exp(-745), std::exp(-745.0));  // subnormal
}

TEST(DrawMath, KnowsTheLogarithmsOfAcceptanceWithoutCancellation) {
  for (const double t : {-0.99, -0.5, -0.06, -0.0499, -1e-3, 1e-6, 1e-3, 0.0499, 0.0501, 0.3, 2.0, 5.0}) {
    const long double x = t;
    const long double exact = 3 * (std::log1p(x) - x + x * x / 2 - x * x * x / 3);
    const long double size = 1 + std::abs(std::log1p(x)) + std::abs(x) + x * x / 2 + std::abs(x * x * x) / 3;
    const long double cancels =
        4e-18L + (std::abs(t) < 0.05 ? 0 : 0x1p-51L * size);  // truncation; rounding of 1 + t and the terms
    EXPECT_LT(std::abs(simd::draw::fourth_order(t) - exact), cancels) << t;
  }
  // Within ten standard deviations of the mean, that is wherever a draw ever comes from.
  for (const double rate : {10.0, 10.7, 33.0, 1000.0, 1e5, 1e7}) {
    const double deviation = std::sqrt(rate), first = std::max(1.0, std::floor(rate - 10 * deviation));
    for (double k = first; k < rate + 10 * deviation; k += std::ceil(deviation / 10)) {
      const double log_mass =
          -simd::draw::deviance(k, rate) - simd::draw::stirling_error(k) - 0.5 * std::log(2 * M_PI * k);
      const long double l = k, exact = l * std::log(static_cast<long double>(rate)) - rate - std::lgamma(l + 1);
      // Truncated series (1e-14), rounding of the terms (|k - rate| where there is no series), and the long double
      // form itself, which cancels: 2^-64 of its largest term.
      const double terms = std::abs(k - rate) > 0.1 * rate ? std::abs(k - rate) : 0;
      const long double allowed =
          2e-14L + 0x1p-51L * (std::abs(exact) + static_cast<long double>(terms)) + 2e-19L * l * std::log(l);
      EXPECT_LT(std::abs(log_mass - exact), allowed) << rate << " " << k;
    }
  }
}

// ---- distributions
// ---------------------------------------------------------------------------------------------------

TEST(Uniform, IsUniformInEveryDtype) {
  for (const DType d : {f32, f64}) {
    const std::vector<double> x = values(uniform({kMany}, 1, 0, {.dtype = d}));
    EXPECT_LT(kolmogorov(x, [](double v) { return v; }), kKolmogorov) << name(d);
    EXPECT_LT(std::abs(mean_error(x, 0.5, 1.0 / 12)), kSigmas) << name(d);
  }
  for (const DType d : {f16, bf16}) {  // every value of the grid k / 2^p equally often
    const std::size_t grid = d == f16 ? 2048 : 256;
    std::vector<double> seen(grid, 0), expected(grid, static_cast<double>(kMany) / static_cast<double>(grid));
    for (const double v : values(uniform({kMany}, 1, 0, {.dtype = d})))
      ++seen[static_cast<std::size_t>(v * static_cast<double>(grid))];
    EXPECT_LT(chi_square(seen, expected), kChiSquare) << name(d);
  }
}

TEST(Uniform, StaysBelowHighWhereRoundingWouldReachIt) {
  for (const DType d : {f16, bf16, f32, f64}) {
    const double eps = finfo(d).eps;
    const std::vector<std::pair<double, double>> intervals{
        {1, 1 + eps}, {1, 1 + 2 * eps}, {1 - eps / 2, 1}, {-1, 0}, {-1 - 4 * eps, -1}, {0.1, 0.3}, {1000, 1000.5}};
    for (const auto& [low, high] : intervals) {
      if (d != f64 && low == 1000) continue;
      for (const double v : values(uniform({4096}, 2, 0, {.low = low, .high = high, .dtype = d}))) {
        ASSERT_GE(v, low) << name(d);
        ASSERT_LT(v, high) << name(d);
      }
    }
  }
}

TEST(Uniform, UsesAllOfItsRandomBits) {
  std::uint64_t last = 0;
  for (const double v : values(uniform({64}, 1, 0))) last |= static_cast<std::uint64_t>(v * 0x1p53) & 1;
  EXPECT_EQ(last, 1U);
  last = 0;
  for (const double v : values(uniform({64}, 1, 0, {.dtype = f32})))
    last |= static_cast<std::uint64_t>(v * 0x1p24) & 1;
  EXPECT_EQ(last, 1U);
}

TEST(Normal, HasTheMomentsAndTheShapeOfTheNormalDistribution) {
  for (const DType d : {f32, f64}) {
    const std::vector<double> x = values(normal({kMany}, 7, 0, {.dtype = d}));
    EXPECT_LT(std::abs(power_mean_error(x, 1, 0, 1)), kSigmas) << name(d);
    EXPECT_LT(std::abs(power_mean_error(x, 2, 1, 2)), kSigmas) << name(d);
    EXPECT_LT(std::abs(power_mean_error(x, 3, 0, 15)), kSigmas) << name(d);
    EXPECT_LT(std::abs(power_mean_error(x, 4, 3, 96)), kSigmas) << name(d);
    EXPECT_LT(std::abs(power_mean_error(x, 6, 15, 10170)), kSigmas) << name(d);
    EXPECT_LT(kolmogorov(x, normal_cdf), kKolmogorov) << name(d);
  }
}

TEST(Normal, HasAsManyExtremeDrawsOnEachSideAsItShould) {
  for (const DType d : {f32, f64}) {
    const std::vector<double> x = values(normal({kMany}, 8, 0, {.dtype = d}));
    for (const double q : {2.0, 3.0, 3.5, 4.0, 4.5}) {
      const double expected = static_cast<double>(kMany) * normal_cdf(-q), spread = kSigmas * std::sqrt(expected) + 1;
      const auto above = static_cast<double>(std::count_if(x.begin(), x.end(), [&](double v) { return v > q; }));
      const auto below = static_cast<double>(std::count_if(x.begin(), x.end(), [&](double v) { return v < -q; }));
      EXPECT_LT(std::abs(above - expected), spread) << name(d) << " beyond " << q;
      EXPECT_LT(std::abs(below - expected), spread) << name(d) << " beyond " << -q;
    }
  }
}

TEST(Normal, ReachesFarTailsWhenTheWordSaysSo) {
  // The least radius words: u = 2^−33, 2^−65. The quantiles are −Φ⁻¹(u / 2) of a radius, √(−2 log u).
  EXPECT_NEAR(simd::draw::normal_pair<float>(0, 0).cos, std::sqrt(66 * std::log(2.0)), 1e-6);
  EXPECT_NEAR(simd::draw::normal_pair<double>(0, 0).cos, std::sqrt(130 * std::log(2.0)), 1e-14);
  EXPECT_EQ(simd::draw::normal_pair<double>(~0ULL, 12345).cos, 0.0);  // u rounds to 1
  for (const std::uint64_t quarter : {0U, 1U, 2U, 3U}) {
    const simd::draw::Turn<double> t = simd::draw::turn<double>(quarter << 62);
    EXPECT_EQ(t.cos, quarter == 0 ? 1.0 : quarter == 2 ? -1.0 : 0.0);
    EXPECT_EQ(t.sin, quarter == 1 ? 1.0 : quarter == 3 ? -1.0 : 0.0);
  }
}

TEST(Normal, ScalesAndShifts) {
  const std::vector<double> z = values(normal({1000}, 3, 0)),
                            x = values(normal({1000}, 3, 0, {.mean = 5, .std = 0.5}));
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(x[i], 5 + 0.5 * z[i]);
  for (const double v : values(normal({8}, 3, 0, {.mean = 5, .std = 0}))) EXPECT_EQ(v, 5);
}

TEST(Exponential, HasItsDistributionAndTail) {
  for (const DType d : {f32, f64}) {
    const std::vector<double> x = values(exponential({kMany}, 4, 0, {.rate = 2, .dtype = d}));
    EXPECT_LT(kolmogorov(x, [](double v) { return -std::expm1(-2 * v); }), kKolmogorov) << name(d);
    EXPECT_LT(std::abs(mean_error(x, 0.5, 0.25)), kSigmas) << name(d);
    const auto far = static_cast<double>(std::count_if(x.begin(), x.end(), [](double v) { return v > 5; }));
    EXPECT_LT(std::abs(far - 1e6 * std::exp(-10)), kSigmas * std::sqrt(1e6 * std::exp(-10))) << name(d);
  }
}

TEST(Gamma, HasItsDistributionForSmallAndLargeConcentrations) {
  const auto distance = [](double concentration, const std::function<double(double)>& cdf) {
    return kolmogorov(values(gamma({kMany}, concentration, 6, 0)), cdf);
  };
  EXPECT_LT(distance(0.5, [](double v) { return std::erf(std::sqrt(v)); }), kKolmogorov);
  EXPECT_LT(distance(1, [](double v) { return -std::expm1(-v); }), kKolmogorov);
  EXPECT_LT(distance(1.5, [](double v) { return std::erf(std::sqrt(v)) - 2 * std::sqrt(v / M_PI) * std::exp(-v); }),
            kKolmogorov);
  EXPECT_LT(distance(3, [](double v) { return 1 - std::exp(-v) * (1 + v + v * v / 2); }), kKolmogorov);
  for (const double a : {0.01, 0.2, 7.0, 1e4, 1e10}) {
    const std::vector<double> x = values(gamma({kMany}, a, 7, 0, {.rate = 4}));
    EXPECT_LT(std::abs(mean_error(x, a / 4, a / 16)), kSigmas) << a;
    std::vector<double> squares = x;  // central, by its own variance: μ₄ = 3a² + 6a
    for (double& v : squares) v = (4 * v - a) * (4 * v - a);
    EXPECT_LT(std::abs(mean_error(squares, a, 2 * a * a + 6 * a)), kSigmas) << a;
  }
}

TEST(Beta, HasItsDistributionAndNeverLeavesTheUnitInterval) {
  const auto distance = [](double a, double b, const std::function<double(double)>& cdf) {
    return kolmogorov(values(beta({kMany}, a, b, 8, 0)), cdf);
  };
  EXPECT_LT(distance(0.5, 0.5, [](double v) { return 2 / M_PI * std::asin(std::sqrt(v)); }), kKolmogorov);
  EXPECT_LT(distance(1, 1, [](double v) { return v; }), kKolmogorov);
  EXPECT_LT(distance(2, 3, [](double v) { return v * v * (6 - 8 * v + 3 * v * v); }), kKolmogorov);
  EXPECT_LT(distance(1, 0.25, [](double v) { return 1 - std::pow(1 - v, 0.25); }), kKolmogorov);
  for (const double a : {1e-300, 1e-3, 1.0, 1e10, 1e300})
    for (const double b : {1e-300, 1e-3, 1.0, 1e10, 1e300})
      for (const double v : values(beta({100}, a, b, 8, 0))) {
        ASSERT_GE(v, 0) << a << " " << b;
        ASSERT_LE(v, 1) << a << " " << b;
      }
}

TEST(TruncatedNormal, HasItsDistributionForEveryKindOfInterval) {
  const std::vector<std::pair<double, double>> intervals{
      {-2, 2},       {0, HUGE_VAL}, {-HUGE_VAL, HUGE_VAL}, {-0.5, 1}, {0.1, 3},   {0.5, 0.75},
      {1, HUGE_VAL}, {1, 3},        {5, HUGE_VAL},         {-6, -5},  {-0.25, 0}, {-1, 6}};
  for (const auto& [low, high] : intervals) {
    const std::vector<double> x = values(truncated_normal({200000}, 9, 0, {.low = low, .high = high}));
    const double sign = low > 0 ? -1 : 1;  // tails by the side where the distribution function is small
    const double a = normal_cdf(sign > 0 ? low : -high), b = normal_cdf(sign > 0 ? high : -low);
    std::vector<double> mirrored = x;
    for (double& v : mirrored) v *= sign;
    EXPECT_LT(kolmogorov(mirrored, [&](double v) { return (normal_cdf(v) - a) / (b - a); }), kKolmogorov)
        << low << " to " << high;
    EXPECT_GE(*std::min_element(x.begin(), x.end()), low);
    EXPECT_LE(*std::max_element(x.begin(), x.end()), high);
  }
}

TEST(Poisson, HasItsProbabilitiesOnBothSidesOfTheChangeOfMethod) {
  for (const double rate : {0.1, 1.0, 3.5, 9.999, 10.0, 12.5, 60.0, 1000.0}) {
    const std::vector<double> x = values(poisson({kMany}, rate, 10, 0));
    const auto size = static_cast<std::size_t>(rate + 10 * std::sqrt(rate) + 20);
    std::vector<double> count(size, 0), seen, expected;
    for (const double v : x) ++count[std::min(static_cast<std::size_t>(v), size - 1)];
    double pooled = 0, mass = 0;  // classes with fewer than 20 expected draws are joined
    for (std::size_t k = 0; k < size; ++k) {
      const auto n = static_cast<double>(k);
      pooled += count[k];
      mass += static_cast<double>(kMany) * std::exp(n * std::log(rate) - rate - std::lgamma(n + 1));
      if (mass < 20) continue;
      seen.push_back(pooled);
      expected.push_back(mass);
      pooled = mass = 0;
    }
    seen.back() += pooled;
    expected.back() += mass;
    EXPECT_LT(chi_square(seen, expected), kChiSquare) << rate;
  }
}

TEST(Poisson, HasMeanAndVarianceEqualForHugeRates) {
  for (const double rate : {1e6, 1e12, 1e15}) {
    std::vector<double> x = values(poisson({kMany}, rate, 11, 0));
    EXPECT_LT(std::abs(mean_error(x, rate, rate)), kSigmas) << rate;
    for (double& v : x) v = (v - rate) / std::sqrt(rate);
    EXPECT_LT(std::abs(power_mean_error(x, 2, 1, 2)), kSigmas) << rate;
    EXPECT_LT(kolmogorov(x, normal_cdf), kKolmogorov) << rate;
  }
}

TEST(Bernoulli, MeetsItsProbability) {
  for (const double p : {0.5, 0.3, 0.001, 0.999}) {
    const std::vector<double> x = values(bernoulli({kMany}, p, 12, 0));
    EXPECT_LT(std::abs(mean_error(x, p, p * (1 - p))), kSigmas) << p;
  }
}

TEST(Integers, AreEquallyProbableForRangesThatDoNotDivideThePowersOfTwo) {
  for (const std::int64_t range : {2, 3, 6, 7, 100, 1000}) {
    std::vector<double> seen(static_cast<std::size_t>(range), 0);
    for (const double v : values(integers({kMany}, -5, range - 5, 13, 0))) ++seen[static_cast<std::size_t>(v + 5)];
    EXPECT_LT(
        chi_square(seen, std::vector<double>(seen.size(), static_cast<double>(kMany) / static_cast<double>(range))),
        kChiSquare)
        << range;
  }
  // Of 3 · 2^61 values each third must have a third of the draws; word mod range would give the first two 3/8 each.
  const std::int64_t third = std::int64_t{1} << 61;
  std::vector<double> seen(3, 0);
  for (const std::int64_t v : integers({kMany}, 0, 3 * third, 13, 0).to_vector<std::int64_t>())
    ++seen[static_cast<std::size_t>(v / third)];
  EXPECT_LT(chi_square(seen, std::vector<double>(3, static_cast<double>(kMany) / 3)), kChiSquare);
}

TEST(Integers, FillTheWholeRangeOfEachDtype) {
  for (const DType d : {i8, u8}) {
    const IntegerInfo limits = iinfo(d);
    const std::vector<std::int64_t> x =
        integers({20000}, limits.min, limits.max, 1, 0, {.dtype = d, .endpoint = true}).to_vector<std::int64_t>();
    EXPECT_EQ(*std::min_element(x.begin(), x.end()), limits.min);
    EXPECT_EQ(*std::max_element(x.begin(), x.end()), static_cast<std::int64_t>(limits.max));
  }
}

TEST(Permutation, HasEveryNumberOnceAndEveryOrderEquallyOften) {
  for (const std::int64_t n : {0, 1, 2, 1000, 5000}) {
    std::vector<std::int64_t> x = permutation(n, 2, 0).to_vector<std::int64_t>();
    std::sort(x.begin(), x.end());
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(x[static_cast<std::size_t>(i)], i);
  }
  std::map<std::vector<std::int64_t>, double> orders;
  constexpr int draws = 48000;
  Generator g(14);
  for (int i = 0; i < draws; ++i) ++orders[g.permutation(4).to_vector<std::int64_t>()];
  EXPECT_EQ(orders.size(), 24U);
  std::vector<double> seen;
  for (const auto& [order, count] : orders) seen.push_back(count);
  EXPECT_LT(chi_square(seen, std::vector<double>(seen.size(), draws / 24.0)), kChiSquare);
}

TEST(Permuted, MovesWholeSlicesInTheOrderOfPermutation) {
  const Tensor x{{0, 1, 2}, {10, 11, 12}, {20, 21, 22}, {30, 31, 32}};
  const std::vector<std::int64_t> rows = permutation(4, 3, 5).to_vector<std::int64_t>(),
                                  columns = permutation(3, 3, 5).to_vector<std::int64_t>();
  const std::vector<std::int64_t> by_row = permuted(x, 3, 5).to_vector<std::int64_t>(),
                                  by_column = permuted(x, 3, 5, {.axis = -1}).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(by_row[3 * i + j], 10 * rows[i] + static_cast<std::int64_t>(j));
      EXPECT_EQ(by_column[3 * i + j], 10 * static_cast<std::int64_t>(i) + columns[j]);
    }
}

TEST(Categorical, DrawsClassesWithTheProbabilitiesOfSoftmax) {
  const Tensor logits{{0.0, 1.0, -HUGE_VAL, 2.0, -1.0}, {1000.0, 1000.0, 999.0, 0.0, 998.5}};
  const std::vector<std::int64_t> x = categorical(logits, 15, 0, {.draws = kMany}).to_vector<std::int64_t>();
  const std::vector<double> l = values(logits);
  for (std::size_t row = 0; row < 2; ++row) {
    double total = 0;
    for (std::size_t k = 0; k < 5; ++k) total += std::exp(l[5 * row + k] - (row ? 1000 : 2));
    std::vector<double> seen(5, 0), expected;
    for (std::size_t i = 0; i < kMany; ++i) ++seen[static_cast<std::size_t>(x[row * kMany + i])];
    std::vector<double> possible;
    for (std::size_t k = 0; k < 5; ++k) {
      const double p = std::exp(l[5 * row + k] - (row ? 1000 : 2)) / total;
      if (p == 0 || p < 1e-300) {
        EXPECT_EQ(seen[k], 0) << "class " << k << " is impossible";
        continue;
      }
      possible.push_back(seen[k]);
      expected.push_back(p * static_cast<double>(kMany));
    }
    EXPECT_LT(chi_square(possible, expected), kChiSquare) << "row " << row;
  }
}

}  // namespace
}  // namespace wp::random
