// Reductions, cumulative ops and the softmax family beyond their samples: exactness, every layout, every thread
// count.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Dims;
using wp::Tensor;
using wp::Tensors;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

std::int64_t count_of(const Dims& shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return n;
}

// A tensor of this shape whose memory is permuted, reversed or has gaps, and its values in row-major order.
struct Strided {
  Tensor tensor;
  std::vector<double> values;
};
Strided random_view(const Dims& shape, std::mt19937& rng, wp::DType dtype = wp::f64) {
  const std::size_t rank = shape.size();
  std::vector<std::size_t> order(rank);
  for (std::size_t k = 0; k < rank; ++k) order[k] = k;
  std::shuffle(order.begin(), order.end(), rng);
  Dims strides(rank, 0);
  std::int64_t step = 1 + static_cast<std::int64_t>(rng() % 2), offset = 0;
  for (const std::size_t k : order) {
    strides[k] = step;
    step *= shape[k] + static_cast<std::int64_t>(rng() % 2);
    if (rng() % 4 == 0) {
      offset += strides[k] * (shape[k] - 1);
      strides[k] = -strides[k];
    }
  }
  auto memory = std::make_shared<std::vector<double>>(static_cast<std::size_t>(step + 1));
  for (double& v : *memory) v = static_cast<double>(static_cast<int>(rng() % 2001) - 1000) / 8;
  Strided out;
  Dims index(rank, 0);
  for (std::int64_t e = 0, n = count_of(shape); e < n; ++e) {
    std::int64_t rest = e, at = offset;
    for (std::size_t k = rank; k-- > 0;) {
      at += rest % shape[k] * strides[k];
      rest /= shape[k];
    }
    out.values.push_back((*memory)[static_cast<std::size_t>(at)]);
  }
  if (dtype == wp::f32) {  // the values have few bits: exact in f32
    auto narrow = std::make_shared<std::vector<float>>(memory->begin(), memory->end());
    out.tensor = Tensor::borrow(narrow->data() + offset, wp::f32, shape, strides, [narrow] {});
  } else {
    out.tensor = Tensor::borrow(memory->data() + offset, wp::f64, shape, strides, [memory] {});
  }
  return out;
}

Dims random_shape(std::mt19937& rng) {
  Dims shape;
  const std::size_t rank = 1 + rng() % 4;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t lengths[] = {1, 2, 3, 5, 17, 40};
    shape.push_back(lengths[rng() % (rank > 2 ? 5 : 6)]);
  }
  if (rng() % 6 == 0) shape[rng() % rank] = 700;
  return shape;
}

// fold(run) for every result element, by the definition.
template <class Fold>
std::vector<double> by_definition(const std::vector<double>& x, const Dims& shape, const std::vector<bool>& reduced,
                                  Fold fold) {
  std::vector<std::vector<double>> runs;
  std::int64_t outs = 1;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (!reduced[k]) outs *= shape[k];
  runs.resize(static_cast<std::size_t>(outs));
  for (std::size_t e = 0; e < x.size(); ++e) {
    std::int64_t rest = static_cast<std::int64_t>(e), out = 0, scale = 1;
    for (std::size_t k = shape.size(); k-- > 0;) {
      if (!reduced[k]) {
        out += rest % shape[k] * scale;
        scale *= shape[k];
      }
      rest /= shape[k];
    }
    runs[static_cast<std::size_t>(out)].push_back(x[e]);
  }
  std::vector<double> result;
  for (const auto& run : runs) result.push_back(fold(run));
  return result;
}

double naive_sum(const std::vector<double>& v) {
  double s = 0;
  for (const double x : v) s += x;  // multiples of 1/8 below 2^40: exact
  return s;
}
double naive_var(const std::vector<double>& v, double correction) {
  long double m = static_cast<long double>(naive_sum(v)) / static_cast<long double>(v.size()), q = 0;
  for (const double x : v) q += (x - m) * (x - m);
  return static_cast<double>(q / (static_cast<long double>(v.size()) - correction));
}

void expect_all(const Tensor& got, const std::vector<double>& want, double tolerance, const char* what) {
  const std::vector<double> g = got.to_vector<double>();
  ASSERT_EQ(g.size(), want.size()) << what;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (std::isnan(want[i]) && std::isnan(g[i])) continue;
    ASSERT_LE(std::fabs(g[i] - want[i]), tolerance * std::max(1.0, std::fabs(want[i])))
        << what << " element " << i << " of " << got.shape().size() << "-d: " << g[i] << " for " << want[i];
  }
}

TEST(Reductions, AgreeWithTheirDefinitionOverEveryChoiceOfAxesOfAnyLayout) {
  std::mt19937 rng(7);
  for (int round = 0; round < 60; ++round) {
    const Dims shape = random_shape(rng);
    const wp::DType dtype = round % 3 == 0 ? wp::f32 : wp::f64;
    const Strided x = random_view(shape, rng, dtype);
    const double eps = dtype == wp::f32 ? 1e-6 : 1e-14;
    for (unsigned mask = 0; mask < (1U << shape.size()); ++mask) {
      wp::Ints axes;
      std::vector<bool> reduced(shape.size());
      Dims kept, with_ones;
      for (std::size_t k = 0; k < shape.size(); ++k) {
        reduced[k] = (mask >> k) & 1U;
        if (reduced[k])
          axes.push_back(rng() % 2 ? static_cast<std::int64_t>(k)
                                   : static_cast<std::int64_t>(k) - static_cast<std::int64_t>(shape.size()));
        else
          kept.push_back(shape[k]);
        with_ones.push_back(reduced[k] ? 1 : shape[k]);
      }
      const bool keepdims = rng() % 2 != 0;
      const auto naive = [&](auto fold) { return by_definition(x.values, shape, reduced, fold); };
      const Tensor s = wp::sum(x.tensor, {.axis = axes, .keepdims = keepdims});
      EXPECT_EQ(s.shape(), keepdims ? with_ones : kept);
      expect_all(s, naive(naive_sum), 0, "sum");
      expect_all(wp::mean(x.tensor, {.axis = axes}),
                 naive([](const auto& v) { return naive_sum(v) / static_cast<double>(v.size()); }), eps, "mean");
      expect_all(wp::var(x.tensor, {.axis = axes}), naive([](const auto& v) { return naive_var(v, 0); }), 10 * eps,
                 "var");
      expect_all(wp::max(x.tensor, {.axis = axes}),
                 naive([](const auto& v) { return *std::max_element(v.begin(), v.end()); }), 0, "max");
      expect_all(wp::min(x.tensor, {.axis = axes}),
                 naive([](const auto& v) { return *std::min_element(v.begin(), v.end()); }), 0, "min");
      expect_all(wp::count_nonzero(x.tensor, {.axis = axes}), naive([](const auto& v) {
                   return static_cast<double>(v.size()) - static_cast<double>(std::count(v.begin(), v.end(), 0.0));
                 }),
                 0, "count_nonzero");
      expect_all(wp::logsumexp(x.tensor, {.axis = axes}), naive([](const auto& v) {
                   const double m = *std::max_element(v.begin(), v.end());
                   long double t = 0;
                   for (const double e : v) t += std::exp(static_cast<long double>(e) - m);
                   return static_cast<double>(m + std::log(t));
                 }),
                 eps, "logsumexp");
    }
  }
}

TEST(Reductions, GiveTheSameBitsOnOneAndOnTwoThreads) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  std::vector<float> v(1'500'000);
  for (float& x : v) x = normal(rng) * 1e3F + 7;
  const Tensor flat = Tensor::from(v, {1'500'000}), tall = Tensor::from(v, {500'000, 3}),
               wide = Tensor::from(v, {3, 500'000});
  const Tensor square = Tensor::from(v, {1000, 1500});
  for (float& x : v) x = x * 1e-3F;
  const Tensor unit = Tensor::from(v, {1000, 1500});
  const auto run = [&] {
    Tensors out;
    for (const Tensor& x : {flat, tall, wide, square})
      for (const std::int64_t axis : {0, -1}) {
        out.push_back(wp::sum(x, {.axis = axis}));
        out.push_back(wp::mean(x, {.axis = axis}));
        out.push_back(wp::var(x, {.axis = axis}));
        out.push_back(wp::logsumexp(x, {.axis = axis}));
        out.push_back(wp::cumulative_sum(x, {.axis = axis}));
        out.push_back(wp::softmax(x, {.axis = axis}));
      }
    out.push_back(wp::prod(unit, {.axis = 0}));
    return out;
  };
  const int before = wp::threads();
  wp::set_threads(1);
  const Tensors one = run();
  wp::set_threads(2);
  const Tensors two = run();
  wp::set_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].nbytes(), two[i].nbytes());
    EXPECT_EQ(std::memcmp(one[i].node()->data, two[i].node()->data, one[i].nbytes()), 0) << "result " << i;
  }
}

TEST(Reductions, OfShortRunsDoNotDependOnTheirNeighbours) {
  std::mt19937 rng(5);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {2, 3, 7, 16}) {
    std::vector<double> v(static_cast<std::size_t>(100 * n));
    for (double& x : v) x = normal(rng);
    const std::vector<double> all = wp::sum(Tensor::from(v, {100, n}), {.axis = -1}).to_vector<double>();
    for (std::size_t i = 0; i < 100; ++i) {
      const std::vector<double> row(v.begin() + static_cast<std::int64_t>(i) * n,
                                    v.begin() + static_cast<std::int64_t>(i + 1) * n);
      EXPECT_EQ(all[i], wp::sum(Tensor::from(row, {n})).item<double>()) << "n = " << n << ", row " << i;
    }
  }
}

TEST(Sum, OfTenMillionSmallFloatsKeepsSixDigits) {
  const std::vector<float> v(10'000'000, 0.1F);
  const double exact = 1e7 * static_cast<double>(0.1F);
  EXPECT_LE(std::fabs(wp::sum(Tensor::from(v, {10'000'000})).item<float>() - exact), 1.0);  // one ulp: 0.0625
}

TEST(Sum, IsWithinAFewRoundingsOfTheExactSumOfIllConditionedData) {
  // Integers scaled by 2^-20 whose exact sum fits 64 bits: the error is at most (chain + log2) · u · Σ|x|.
  std::mt19937_64 rng(11);
  std::vector<double> v(200'000);
  std::int64_t exact = 0;
  double size = 0;
  for (double& x : v) {
    const auto k = static_cast<std::int64_t>(rng() >> 20) - (std::int64_t{1} << 43);
    exact += k;
    x = static_cast<double>(k) * 0x1p-20;
    size += std::fabs(x);
  }
  const double want = static_cast<double>(exact) * 0x1p-20, got = wp::sum(Tensor::from(v, {200'000})).item<double>();
  EXPECT_LE(std::fabs(got - want), 40 * 0x1p-53 * size);
  std::vector<double> twice = v;
  for (const double x : v) twice.push_back(-x);
  EXPECT_LE(std::fabs(wp::sum(Tensor::from(twice, {400'000})).item<double>()), 40 * 0x1p-53 * 2 * size);
}

TEST(Sum, IsFiniteWheneverTheExactSumIs) {
  std::vector<double> v(10'000, 1.7e308);
  for (std::size_t i = 0; i < v.size(); i += 2) v[i] = -1.7e308;
  v.push_back(3.0);
  EXPECT_TRUE(std::isfinite(wp::sum(Tensor::from(v, {10'001})).item<double>()));
  const Tensor rows = Tensor::from(std::vector<double>{1.7e308, 1.7e308, -1.7e308, 1, 2, 4}, {2, 3});
  EXPECT_EQ(wp::sum(rows, {.axis = 1}).to_vector<double>(), (std::vector<double>{1.7e308, 7}));
}

TEST(Mean, OfHugeNumbersDoesNotOverflow) {
  EXPECT_NEAR(wp::mean(Tensor::from(std::vector<double>(5000, 1.7e308), {5000})).item<double>() / 1.7e308, 1, 1e-15);
  EXPECT_EQ(wp::mean(Tensor::from(std::vector<float>(5000, 3e38F), {5000})).item<float>(), 3e38F);
}

TEST(Mean, OfNothingIsAMadeNaN) {
  const Tensor m = wp::mean(Tensor::from(std::vector<double>{}, {0}));
  EXPECT_THROW((void)m.item<double>(), wp::NonFiniteError);
}

TEST(Var, IsExactForDataFarFromZero) {
  EXPECT_EQ(wp::var(Tensor{1e9 + 1, 1e9 + 2, 1e9 + 3}, {.correction = 1}).item<double>(), 1.0);
  std::mt19937 rng(2);
  for (const double offset : {1e8, 1e12, 1e15}) {
    std::vector<double> v(100'000);
    long double m = 0, q = 0;
    for (double& x : v) {
      x = offset + static_cast<double>(rng() % 17);
      m += x - offset;
    }
    m /= static_cast<long double>(v.size());
    for (const double x : v) q += (x - offset - m) * (x - offset - m);
    const double want = static_cast<double>(q / static_cast<long double>(v.size()));
    EXPECT_NEAR(wp::var(Tensor::from(v, {100'000})).item<double>(), want, 1e-13 * want) << offset;
    for (const double got : wp::var(Tensor::from(v, {1000, 100}), {.axis = 0}).to_vector<double>())
      EXPECT_NEAR(got, want, 0.2 * want) << offset;
  }
}

TEST(Var, OfEqualElementsIsZero) {
  for (const double c : {0.1, 1e-300, 3.3e300, -7.7})
    for (const std::int64_t n : {1, 3, 16, 17, 5000, 300'000}) {
      const Tensor x = Tensor::from(std::vector<double>(static_cast<std::size_t>(n), c), {n});
      EXPECT_EQ(wp::var(x).item<double>(), 0.0) << c << " × " << n;
      EXPECT_EQ(wp::std(x).item<double>(), 0.0) << c << " × " << n;
    }
  for (const double v :
       wp::var(Tensor::from(std::vector<float>(30'000, 0.1F), {10'000, 3}), {.axis = 0}).to_vector<double>())
    EXPECT_EQ(v, 0.0);
}

TEST(Std, NeitherOverflowsNorUnderflows) {
  for (const double scale : {1e-300, 1e-160, 1.0, 1e160, 1e300}) {
    const Tensor x = Tensor::from(std::vector<double>{1 * scale, 2 * scale, 3 * scale}, {3});
    EXPECT_NEAR(wp::std(x, {.correction = 1}).item<double>() / scale, 1.0, 1e-14) << scale;
  }
  const Tensor f = Tensor::from(std::vector<float>{1e-30F, 2e-30F, 3e-30F, 1e30F, 2e30F, 3e30F}, {2, 3});
  const std::vector<double> s = wp::std(f, {.axis = 1, .correction = 1}).to_vector<double>();
  EXPECT_NEAR(s[0] / 1e-30, 1.0, 1e-6);
  EXPECT_NEAR(s[1] / 1e30, 1.0, 1e-6);
  const Tensor z = Tensor{std::complex<double>(1e200, 0), std::complex<double>(0, 1e200)};
  EXPECT_NEAR(wp::std(z).item<double>() / 1e200, std::sqrt(0.5), 1e-14);
}

TEST(Prod, NeitherOverflowsNorUnderflowsOnTheWay) {
  std::vector<double> v;
  for (int i = 0; i < 4000; ++i) v.push_back(i % 2 ? 1e300 : 1e-300);
  EXPECT_NEAR(wp::prod(Tensor::from(v, {4000})).item<double>(), 1.0, 1e-9);
  std::vector<double> rows;
  for (int i = 0; i < 1000; ++i) rows.insert(rows.end(), 4, i % 2 ? 1e300 : 1e-300);
  for (const double p : wp::prod(Tensor::from(rows, {1000, 4}), {.axis = 0}).to_vector<double>())
    EXPECT_NEAR(p, 1.0, 1e-9);
  EXPECT_EQ(wp::prod(Tensor{1e-300, 1e-300}).item<double>(), 0.0);
}

TEST(Max, GivesNaNWhereverItStands) {
  for (const std::int64_t n : {1, 5, 31, 32, 33, 100, 5000, 600'000})
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      std::vector<float> v(static_cast<std::size_t>(n), 1.0F);
      v[static_cast<std::size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      const Tensor x = Tensor::from(v, {n});
      EXPECT_TRUE(std::isnan(wp::max(x).item<float>())) << n << " " << at;
      EXPECT_TRUE(std::isnan(wp::min(x).item<float>())) << n << " " << at;
      EXPECT_EQ(wp::argmax(x).item<std::int64_t>(), at);
      EXPECT_EQ(wp::argmin(x).item<std::int64_t>(), at);
    }
}

TEST(Max, RefusesAnEmptyRun) {
  const Tensor x = Tensor::from(std::vector<float>{}, {0, 3});
  EXPECT_THROW(wp::max(x, {.axis = 0}), wp::ShapeError);
  EXPECT_EQ(wp::max(x, {.axis = 1}).shape(), (Dims{0}));
  EXPECT_THROW(wp::argmax(x), wp::ShapeError);
}

TEST(Min, ThatStartsFromInfinityIsSilent) {
  EXPECT_EQ(wp::min(Tensor{kInf, 3.0, kInf}).item<double>(), 3.0);
}

TEST(Any, OfAMadeNaNRaisesWhenAskedForItsTruth) {
  const Tensor made = wp::log(Tensor{-1.0, 2.0});
  EXPECT_THROW((void)wp::any(made).item<bool>(), wp::NonFiniteError);
  EXPECT_TRUE(wp::any(Tensor{kNaN, 0.0}).item<bool>());  // a given one counts as true
}

TEST(CountNonzero, CountsInEveryWidthBeyondTheRangeOfSmallCounters) {
  for (const std::int64_t n : {255, 256, 40'000, 1'000'000}) {
    EXPECT_EQ(wp::count_nonzero(Tensor::from(std::vector<std::int8_t>(static_cast<std::size_t>(n), -1), {n}))
                  .item<std::int64_t>(),
              n);
    EXPECT_EQ(wp::count_nonzero(Tensor::from(std::vector<std::uint16_t>(static_cast<std::size_t>(n), 7), {n}))
                  .item<std::int64_t>(),
              n);
    EXPECT_EQ(wp::count_nonzero(Tensor::from(std::vector<double>(static_cast<std::size_t>(n), kNaN), {n}))
                  .item<std::int64_t>(),
              n);
  }
  const Tensor tall = Tensor::from(std::vector<std::int8_t>(3'000'000, 1), {1'000'000, 3});
  EXPECT_EQ(wp::count_nonzero(tall, {.axis = 0}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>(3, 1'000'000)));
  EXPECT_TRUE(wp::all(tall).item<bool>());
}

TEST(CumulativeSum, EndsWithTheExactSumOfIllConditionedData) {
  std::vector<double> v{1};
  for (int i = 0; i < 1000; ++i) {
    v.push_back(1e16);
    v.push_back(1e-3);
    v.push_back(-1e16);
  }
  const std::vector<double> c = wp::cumulative_sum(Tensor::from(v, {3001})).to_vector<double>();
  EXPECT_NEAR(c.back(), 2.0, 1e-12);
}

TEST(CumulativeSum, BeginsWithZeroWhenAskedAndTakesDtype) {
  const Tensor x = Tensor::from(std::vector<std::int8_t>{100, 100, 100}, {3});
  EXPECT_EQ(wp::cumulative_sum(x, {.include_initial = true}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 100, 200, 300}));
  EXPECT_EQ(wp::cumulative_sum(x, {.dtype = wp::i8}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{100, -56, 44}));
  EXPECT_THROW(wp::cumulative_sum(Tensor{{1.0}}), wp::ArgumentError);
  EXPECT_THROW(wp::sum(Tensor{1.5}, {.dtype = wp::i64}), wp::DtypeError);
}

TEST(LinesOfAnyLayout, GiveCumulativeSumsAndSoftmaxByTheirDefinition) {
  std::mt19937 rng(19);
  for (int round = 0; round < 60; ++round) {
    const Dims shape = random_shape(rng);
    const wp::DType dtype = round % 2 ? wp::f32 : wp::f64;
    const Strided x = random_view(shape, rng, dtype);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      std::int64_t inner = 1;
      for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
      std::vector<double> sums(x.values.size()), soft(x.values.size()), logs(x.values.size());
      const std::int64_t n = shape[axis], lines = static_cast<std::int64_t>(x.values.size()) / n;
      for (std::int64_t l = 0; l < lines; ++l) {
        const auto at = [&](std::int64_t i) {
          return static_cast<std::size_t>((l / inner * n + i) * inner + l % inner);
        };
        double running = 0, m = -kInf;
        for (std::int64_t i = 0; i < n; ++i) {
          sums[at(i)] = running += x.values[at(i)];
          m = std::max(m, x.values[at(i)]);
        }
        long double t = 0;
        for (std::int64_t i = 0; i < n; ++i) t += std::exp(static_cast<long double>(x.values[at(i)]) - m);
        for (std::int64_t i = 0; i < n; ++i) {
          soft[at(i)] = static_cast<double>(std::exp(static_cast<long double>(x.values[at(i)]) - m) / t);
          logs[at(i)] = static_cast<double>(static_cast<long double>(x.values[at(i)]) - m - std::log(t));
        }
      }
      const auto a = static_cast<std::int64_t>(axis);
      const double eps = dtype == wp::f32 ? 1e-6 : 1e-14;
      expect_all(wp::cumulative_sum(x.tensor, {.axis = a}), sums, 0, "cumulative_sum");
      expect_all(wp::softmax(x.tensor, {.axis = a}), soft, eps, "softmax");
      expect_all(wp::log_softmax(x.tensor, {.axis = a}), logs, eps, "log_softmax");
    }
  }
}

TEST(Softmax, OfALineOfMinusInfinityIsAMadeNaNThatNamesTheReason) {
  const Tensor x{{-kInf, -kInf}, {0.0, 1.0}};
  const Tensor y = wp::softmax(x);
  try {
    (void)y.to_vector<double>();
    FAIL() << "a made NaN left in silence";
  } catch (const wp::NonFiniteError& e) {
    EXPECT_NE(std::string(e.what()).find("a line of -inf has no softmax"), std::string::npos) << e.what();
  }
  EXPECT_EQ(wp::logsumexp(x, {.axis = 1}).to_vector<double>()[0], -kInf);
}

TEST(Softmax, OfATensorFullOfMadeNaNIsCheckedInLinearTime) {
  const Tensor bad = wp::log(Tensor::from(std::vector<double>(250'000, -1.0), {500, 500}));
  for (const std::int64_t axis : {0, 1}) {  // quadratic looking would take minutes
    EXPECT_THROW((void)wp::softmax(bad, {.axis = axis}).to_vector<double>(), wp::NonFiniteError);
    EXPECT_THROW((void)wp::cumulative_sum(bad, {.axis = axis}).to_vector<double>(), wp::NonFiniteError);
    EXPECT_THROW((void)wp::argsort(bad, {.axis = axis}).to_vector<std::int64_t>(), wp::NonFiniteError);
  }
}

}  // namespace
