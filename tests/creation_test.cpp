#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/memory.hpp"
#include "wellposed/wellposed.hpp"

namespace {

template <class E, class F>
wp::Finding refused(F&& f) {
  const std::size_t live = wp::memory::stats().live;
  try {
    f();
  } catch (const E& e) {
    EXPECT_EQ(wp::memory::stats().live, live) << "something stayed allocated";
    return e.finding();
  } catch (const wp::Error& e) {
    ADD_FAILURE() << "another error: " << e.what();
    return e.finding();
  }
  ADD_FAILURE() << "not refused";
  return {};
}

bool says(const wp::Finding& f, const std::string& part) {
  return f.text().find(part) != std::string::npos;
}

TEST(Creation, GivesFloatsOf64BitsAndIntegersOf64BitsByDefault) {
  EXPECT_EQ(wp::zeros({2}).dtype(), wp::f64);
  EXPECT_EQ(wp::arange(3).dtype(), wp::i64);
  EXPECT_EQ(wp::arange(3.0).dtype(), wp::f64);
  EXPECT_EQ(wp::linspace(0, 1, 3).dtype(), wp::f64);
  EXPECT_EQ(wp::full({2}, true).dtype(), wp::boolean);
  EXPECT_EQ(wp::zeros({2, 3}, {.dtype = wp::f32}).dtype(), wp::f32);
  EXPECT_EQ(wp::ones_like(wp::Tensor{1.0F}).dtype(), wp::f32);
}

TEST(Creation, HandsOutZerosAsEmptyMemoryAlsoWhenABlockIsReused) {
  for (int i = 0; i < 3; ++i) {
    const wp::Tensor noise = wp::full({100000}, 7.5);
    (void)noise;
  }
  const wp::Tensor x = wp::empty({100000});
  for (const double v : x.to_vector<double>()) ASSERT_EQ(v, 0.0);
}

TEST(Creation, RefusesImpossibleShapesBeforeAllocating) {
  const std::int64_t peta = 1000000000000000;
  for (const wp::Finding& f :
       {refused<wp::OutOfMemory>([&] { wp::zeros({peta}); }), refused<wp::OutOfMemory>([&] {
          wp::ones({peta, 1});
        }),
        refused<wp::OutOfMemory>([&] {
          wp::full({1000, peta / 1000}, 1.5);
        }),
        refused<wp::OutOfMemory>([&] { wp::arange(peta); }), refused<wp::OutOfMemory>([&] { wp::arange(0.0, 1e15); }),
        refused<wp::OutOfMemory>([&] { wp::linspace(0, 1, peta); })}) {
    EXPECT_TRUE(says(f, "8000000000000000 bytes")) << f.text();
    EXPECT_TRUE(says(f, "are available")) << f.text();
  }
  EXPECT_TRUE(says(refused<wp::OutOfMemory>([&] { wp::zeros({peta, peta}); }), "Available:"));
  EXPECT_TRUE(says(refused<wp::OutOfMemory>([&] { wp::eye(std::int64_t{1} << 40); }), "2^62 bytes"));
  EXPECT_TRUE(says(refused<wp::ShapeError>([&] { wp::zeros({2, -3}); }), "[2, -3]"));
  EXPECT_TRUE(says(refused<wp::ShapeError>([&] { wp::eye(-1); }), "negative"));
  EXPECT_EQ(wp::zeros({0, peta, peta}).size(), 0);
}

TEST(Creation, RefusesNumbersThatTheDtypeDoesNotHold) {
  EXPECT_TRUE(says(refused<wp::DtypeError>([&] { wp::full({2}, 0.5, {.dtype = wp::i32}); }), "i32"));
  EXPECT_TRUE(says(refused<wp::DomainError>([&] { wp::full({2}, 300, {.dtype = wp::u8}); }), "300"));
  EXPECT_TRUE(says(refused<wp::DomainError>([&] { wp::full({2}, 1e300, {.dtype = wp::f32}); }), "1e+300"));
  EXPECT_TRUE(says(refused<wp::DomainError>([&] { wp::full_like(wp::Tensor{1.0F}, 1e300); }), "1e+300"));
  EXPECT_TRUE(
      says(refused<wp::DtypeError>([&] { wp::full({2}, wp::complex128(0, 1), {.dtype = wp::f64}); }), "c128"));
  EXPECT_TRUE(says(refused<wp::DomainError>([&] { wp::arange(300, {.dtype = wp::u8}); }), "299"));
  EXPECT_TRUE(says(refused<wp::DomainError>([&] { wp::arange(-1, 3, 1, wp::u64); }), "-1"));
  EXPECT_TRUE(says(refused<wp::DomainError>([&] { wp::linspace(0, 1e300, 5, {.dtype = wp::f32}); }), "1e+300"));
  EXPECT_TRUE(std::isinf(wp::full({1}, HUGE_VAL, {.dtype = wp::f32}).item<double>()));
}

TEST(Creation, RefusesAStepOfZeroAndEndsThatAreNotFinite) {
  EXPECT_TRUE(says(refused<wp::ArgumentError>([&] { wp::arange(0, 3, 0); }), "step must not be 0"));
  EXPECT_TRUE(says(refused<wp::ArgumentError>([&] { wp::arange(HUGE_VAL); }), "finite"));
  EXPECT_TRUE(says(refused<wp::ArgumentError>([&] { wp::linspace(0, std::nan(""), 3); }), "finite"));
  EXPECT_TRUE(says(refused<wp::ArgumentError>([&] { wp::linspace(0, 1, -3); }), "-3"));
}

TEST(Arange, CountsToTheEndsOfTheIntegers) {
  const std::int64_t top = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(wp::arange(top - 2, top).to_vector<std::int64_t>(), (std::vector<std::int64_t>{top - 2, top - 1}));
  EXPECT_EQ(wp::arange(0, top, top - 1).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, top - 1}));
  EXPECT_EQ(wp::arange(5, 0, -2).to_vector<std::int64_t>(), (std::vector<std::int64_t>{5, 3, 1}));
  EXPECT_EQ(wp::arange(3, 3).size(), 0);
}

TEST(Arange, GivesTheSameValuesInEveryPieceOfALargeArray) {
  const wp::Tensor x = wp::arange(200001), y = wp::arange(0.5, 100001.0, 0.5);
  const auto a = x.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], static_cast<std::int64_t>(i));
  const auto b = y.to_vector<double>();
  for (std::size_t i = 0; i < b.size(); ++i) ASSERT_EQ(b[i], 0.5 + 0.5 * static_cast<double>(i));
}

TEST(Linspace, HasExactEndsAndIsMonotoneAlsoAtTheEdgesOfTheRange) {
  const double max = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min();
  for (const auto& [a, b] : {std::pair{-max, max}, {0.1, 0.7}, {-tiny, 3 * tiny}, {1e-300, 1e300}, {0.0, tiny}})
    for (const std::int64_t n : {2, 3, 10, 1001}) {
      const auto x = wp::linspace(a, b, n).to_vector<double>();
      EXPECT_EQ(x.front(), a);
      EXPECT_EQ(x.back(), b);
      for (std::size_t i = 1; i < x.size(); ++i) EXPECT_LE(x[i - 1], x[i]);
      for (const double v : x) EXPECT_TRUE(std::isfinite(v));
    }
  EXPECT_EQ(wp::linspace(-max, max, 3).to_vector<double>()[1], 0.0);
}

TEST(Meshgrid, GivesViewsOfItsArguments) {
  const wp::Tensor x{1, 2}, y{3, 4, 5};
  const wp::Tensors xy = wp::meshgrid({x, y}), ij = wp::meshgrid({x, y}, {.indexing = "ij"});
  EXPECT_EQ(xy[0].shape(), (wp::Dims{3, 2}));
  EXPECT_EQ(ij[1].to_vector<int>(), (std::vector<int>{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(xy[0].data<std::int64_t>(), x.data<std::int64_t>());
  EXPECT_TRUE(says(refused<wp::ArgumentError>([&] { wp::meshgrid({x, y}, {.indexing = "yx"}); }), "'xy', 'ij'"));
}

}  // namespace
