// Sorting, searching, sets and differences beyond their samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "wellposed/wellposed.hpp"

namespace {

using wp::Dims;
using wp::Tensor;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

// NaN after every number.
template <class T>
bool precedes(T a, T b, bool descending) {
  if (a != a || b != b) return a == a && b != b;
  return descending ? a > b : a < b;
}

template <class T>
std::vector<std::int64_t> stable_order(const std::vector<T>& v, bool descending) {
  std::vector<std::int64_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return precedes(v[static_cast<std::size_t>(a)], v[static_cast<std::size_t>(b)], descending);
  });
  return order;
}

template <class T>
std::vector<T> random_values(std::size_t n, std::mt19937_64& rng, bool few) {
  std::vector<T> v(n);
  for (T& x : v) {
    if constexpr (std::is_floating_point_v<T>) {
      const T special[] = {T(0),
                           -T(0),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::denorm_min(),
                           T(-1)};
      x = rng() % 5 == 0 ? special[rng() % 7]
                         : static_cast<T>(static_cast<std::int64_t>(rng())) * (few ? T(0x1p-61) : T(1e-10));
      if (few && std::isfinite(x)) x = std::round(x);
    } else {
      x = few ? static_cast<T>(rng() % 7) : static_cast<T>(rng());
    }
  }
  return v;
}

template <class T>
class Sorting : public ::testing::Test {};
using Types = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                               std::uint32_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Sorting, Types);

TYPED_TEST(Sorting, IsStableInBothDirectionsForEveryLength) {
  std::mt19937_64 rng(1);
  for (const std::size_t n : {0U, 1U, 2U, 31U, 32U, 33U, 150U, 399U, 400U, 401U, 5000U, 70'000U})
    for (const bool few : {true, false})
      for (const bool descending : {false, true}) {
        const std::vector<TypeParam> v = random_values<TypeParam>(n, rng, few);
        const Tensor x = Tensor::from(v, {static_cast<std::int64_t>(n)});
        const std::vector<std::int64_t> want = stable_order(v, descending);
        EXPECT_EQ(wp::argsort(x, {.descending = descending}).template to_vector<std::int64_t>(), want) << n;
        std::vector<TypeParam> sorted;
        for (const std::int64_t i : want) sorted.push_back(v[static_cast<std::size_t>(i)]);
        const Tensor got = wp::sort(x, {.descending = descending});
        ASSERT_EQ(got.nbytes(), n * sizeof(TypeParam));
        if (n > 0) {
          EXPECT_EQ(std::memcmp(got.node()->data, sorted.data(), got.nbytes()), 0) << n;  // also the signs of zeros
        }
      }
}

TEST(Sort, WorksAlongEveryAxisOfAStridedTensor) {
  std::mt19937_64 rng(4);
  std::vector<float> memory = random_values<float>(7 * 6 * 5 * 2, rng, false);
  for (float& x : memory)
    if (std::isnan(x)) x = 17;
  const Tensor x = Tensor::borrow(memory.data() + 1, wp::f32, {5, 7, 6}, {2, 60, 10});
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const std::vector<float> got = wp::sort(x, {.axis = axis}).to_vector<float>();
    const std::vector<std::int64_t> order = wp::argsort(x, {.axis = axis}).to_vector<std::int64_t>();
    const std::int64_t shape[] = {5, 7, 6}, strides[] = {2, 60, 10}, rows[] = {42, 6, 1};
    const std::size_t a = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis), b = a == 0 ? 1 : 0,
                      c = a == 2 ? 1 : 2;
    for (std::int64_t i = 0; i < shape[b]; ++i)
      for (std::int64_t j = 0; j < shape[c]; ++j) {
        std::vector<float> line;
        for (std::int64_t k = 0; k < shape[a]; ++k)
          line.push_back(memory[static_cast<std::size_t>(1 + i * strides[b] + j * strides[c] + k * strides[a])]);
        const std::vector<std::int64_t> want = stable_order(line, false);
        for (std::int64_t k = 0; k < shape[a]; ++k) {
          const auto at = static_cast<std::size_t>(i * rows[b] + j * rows[c] + k * rows[a]);
          EXPECT_EQ(order[at], want[static_cast<std::size_t>(k)]);
          EXPECT_EQ(got[at], line[static_cast<std::size_t>(want[static_cast<std::size_t>(k)])]);
        }
      }
  }
}

TEST(Sort, RefusesWhatHasNoOrderOrNoAxis) {
  EXPECT_THROW(wp::sort(Tensor{std::complex<double>(1, 2)}), wp::DtypeError);
  EXPECT_THROW(wp::sort(Tensor(1.0)), wp::IndexError);
  EXPECT_THROW(wp::sort(Tensor{1.0, 2.0}, {.axis = 1}), wp::IndexError);
}

TEST(Sort, HandsOnTheNotesOfMadeNaN) {
  const Tensor made = wp::log(Tensor{2.0, -1.0});
  EXPECT_THROW((void)wp::sort(made).to_vector<double>(), wp::NonFiniteError);
  EXPECT_THROW((void)wp::argmax(made).item<std::int64_t>(), wp::NonFiniteError);
  EXPECT_EQ(wp::argmax(Tensor{2.0, kNaN}).item<std::int64_t>(), 1);  // a given NaN: the answer of the standard
}

TEST(Argmax, FindsTheFirstOfEqualsInLongLines) {
  for (const std::int64_t n : {3, 4096, 4097, 100'000, 1'000'000}) {
    std::vector<float> v(static_cast<std::size_t>(n), -1.0F);
    v[static_cast<std::size_t>(n - 1)] = v[static_cast<std::size_t>(n / 2)] = 5;
    EXPECT_EQ(wp::argmax(Tensor::from(v, {n})).item<std::int64_t>(), n / 2);
    EXPECT_EQ(wp::argmin(Tensor::from(v, {n})).item<std::int64_t>(), 0);
  }
  const Tensor x{{1.0, 5.0, 5.0}, {7.0, 2.0, 7.0}};
  EXPECT_EQ(wp::argmax(x).item<std::int64_t>(), 3);
  EXPECT_EQ(wp::argmax(x, {.axis = 0}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(wp::argmax(x, {.axis = 1, .keepdims = true}).shape(), (Dims{2, 1}));
  EXPECT_EQ(wp::argmax(x, {.keepdims = true}).shape(), (Dims{1, 1}));
}

TEST(Nonzero, ListsPlacesInRowMajorOrderAlsoOfATransposedTensor) {
  std::mt19937 rng(8);
  std::vector<std::int32_t> v(400 * 300);
  for (auto& x : v) x = rng() % 3 == 0 ? 1 : 0;
  const Tensor x = wp::permute_dims(Tensor::from(v, {400, 300}), {1, 0});
  const wp::Tensors found = wp::nonzero(x);
  ASSERT_EQ(found.size(), 2U);
  const std::vector<std::int64_t> i = found[0].to_vector<std::int64_t>(), j = found[1].to_vector<std::int64_t>();
  std::size_t at = 0;
  for (std::int64_t a = 0; a < 300; ++a)
    for (std::int64_t b = 0; b < 400; ++b)
      if (v[static_cast<std::size_t>(b * 300 + a)]) {
        ASSERT_LT(at, i.size());
        ASSERT_EQ(i[at], a);
        ASSERT_EQ(j[at], b);
        ++at;
      }
  EXPECT_EQ(at, i.size());
  EXPECT_THROW(wp::nonzero(Tensor(1.0)), wp::ShapeError);
}

TEST(Searchsorted, AgreesWithLowerAndUpperBound) {
  std::mt19937_64 rng(5);
  std::vector<double> line = random_values<double>(3000, rng, true), values = random_values<double>(2000, rng, true);
  std::stable_sort(line.begin(), line.end(), [](double a, double b) { return precedes(a, b, false); });
  const Tensor x = Tensor::from(line, {3000}), v = Tensor::from(values, {20, 100});
  const auto left = wp::searchsorted(x, v).to_vector<std::int64_t>();
  const auto right = wp::searchsorted(x, v, std::nullopt, {.side = "right"}).to_vector<std::int64_t>();
  const auto less = [](double a, double b) { return precedes(a, b, false); };
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(left[i], std::lower_bound(line.begin(), line.end(), values[i], less) - line.begin());
    EXPECT_EQ(right[i], std::upper_bound(line.begin(), line.end(), values[i], less) - line.begin());
  }
}

TEST(Searchsorted, TakesASorterAndRefusesABadOne) {
  const Tensor x{5, 1, 3}, v{2, 4};
  EXPECT_EQ(wp::searchsorted(x, v, wp::argsort(x)).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2}));
  EXPECT_THROW(wp::searchsorted(x, v, Tensor{0, 1, 3}), wp::IndexError);
  EXPECT_THROW(wp::searchsorted(x, v, Tensor{0, 1}), wp::ShapeError);
  EXPECT_THROW(wp::searchsorted(Tensor{{1, 2}}, v), wp::ShapeError);
}

TEST(Unique, RebuildsItsInputAndCountsEveryElementOnce) {
  std::mt19937_64 rng(6);
  for (const std::size_t n : {1U, 30U, 6000U}) {
    const std::vector<float> v = random_values<float>(n, rng, true);
    const wp::UniqueAllResult u = wp::unique_all(Tensor::from(v, {static_cast<std::int64_t>(n)}));
    const auto values = u.values.to_vector<float>();
    const auto inverse = u.inverse_indices.to_vector<std::int64_t>(), first = u.indices.to_vector<std::int64_t>();
    const auto counts = u.counts.to_vector<std::int64_t>();
    for (std::size_t i = 1; i < values.size(); ++i)
      EXPECT_TRUE(precedes(values[i - 1], values[i], false) || std::isnan(values[i - 1])) << i;
    for (std::size_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(inverse[i]);
      EXPECT_TRUE(values[k] == v[i] || (std::isnan(v[i]) && std::isnan(values[k])));
      EXPECT_LE(first[k], static_cast<std::int64_t>(i));
    }
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), static_cast<std::int64_t>(n));
  }
  EXPECT_TRUE(std::signbit(wp::unique_values(Tensor{-0.0, 0.0, 1.0}).to_vector<double>()[0]));
  EXPECT_EQ(wp::unique_counts(Tensor{kNaN, kInf, kNaN}).values.shape(), (Dims{3}));
}

TEST(Diff, PutsPrependAndAppendAroundXAndAcceptsOneNumber) {
  const Tensor x{{1, 4, 9}, {2, 3, 5}};
  EXPECT_EQ(wp::diff(x, 0).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3, 5, 2, 1, 2}));
  EXPECT_EQ(wp::diff(x, std::nullopt, Tensor{{1, 1, 1}}, {.axis = 0}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, -1, -4, -1, -2, -4}));
  EXPECT_EQ(wp::diff(x, std::nullopt, std::nullopt, {.n = 7}).shape(), (Dims{2, 0}));
  EXPECT_THROW(wp::diff(x, Tensor{{1}}), wp::ShapeError);
  EXPECT_THROW(wp::diff(x, std::nullopt, std::nullopt, {.n = -1}), wp::ArgumentError);
}

TEST(Searching, GivesTheSameBitsOnOneAndOnTwoThreads) {
  std::mt19937_64 rng(9);
  std::vector<float> v = random_values<float>(900'000, rng, false);
  const Tensor x = Tensor::from(v, {300, 3000}), flat = Tensor::from(v, {900'000});
  const auto run = [&] {
    wp::Tensors out;
    for (const std::int64_t axis : {0, 1}) {
      out.push_back(wp::argsort(x, {.axis = axis}));
      out.push_back(wp::argmax(x, {.axis = axis}));
    }
    out.push_back(wp::argmin(flat));
    out.push_back(wp::nonzero(flat)[0]);
    out.push_back(wp::searchsorted(wp::sort(flat), flat));
    return out;
  };
  const int before = wp::threads();
  wp::set_threads(1);
  const wp::Tensors one = run();
  wp::set_threads(2);
  const wp::Tensors two = run();
  wp::set_threads(before);
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(std::memcmp(one[i].node()->data, two[i].node()->data, one[i].nbytes()), 0);
}

}  // namespace
