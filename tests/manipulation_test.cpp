#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ops/moves.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Dims;
using wp::Tensor;

std::vector<std::int64_t> values(const Tensor& t) {
  return t.to_vector<std::int64_t>();
}
const void* memory(const Tensor& t) {
  return t.node()->data;
}

// Every index of a shape, in order.
template <class F>
void each(const Dims& shape, F&& f) {
  Dims at(shape.size(), 0);
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  for (std::int64_t e = 0; e < n; ++e) {
    std::int64_t rest = e;
    for (std::size_t k = shape.size(); k-- > 0;) {
      at[k] = rest % shape[k];
      rest /= shape[k];
    }
    f(at, e);
  }
}

TEST(Reshape, IsAViewWhereverStridesAllow) {
  const Tensor x = wp::reshape(wp::arange(24), {2, 3, 4});
  EXPECT_EQ(memory(wp::reshape(x, {6, 4})), memory(x));
  const Tensor t = wp::permute_dims(x, {1, 2, 0});  // strides 4, 1, 12
  EXPECT_EQ(memory(wp::reshape(t, {12, 2})), memory(x));
  EXPECT_EQ(wp::reshape(t, {12, 2}).strides(), (Dims{1, 12}));
  EXPECT_EQ(memory(wp::reshape(t, {3, 2, 1, 2, 2})), memory(x));
  EXPECT_NE(memory(wp::reshape(t, {3, 8})), memory(x));
  EXPECT_EQ(values(wp::reshape(t, {24})), values(t));
  EXPECT_EQ(wp::reshape(x, {4, -1}).shape(), (Dims{4, 6}));
  EXPECT_NE(memory(wp::reshape(x, {24}, {.copy = true})), memory(x));
  EXPECT_THROW(wp::reshape(t, {24}, {.copy = false}), wp::ArgumentError);
}

TEST(Reshape, RefusesShapesThatDoNotHoldTheElements) {
  const Tensor x = wp::arange(6);
  EXPECT_THROW(wp::reshape(x, {4}), wp::ShapeError);
  EXPECT_THROW(wp::reshape(x, {-1, 4}), wp::ShapeError);
  EXPECT_THROW(wp::reshape(x, {-1, -1}), wp::ShapeError);
  EXPECT_THROW(wp::reshape(x, {-2, 3}), wp::ShapeError);
  EXPECT_THROW(wp::reshape(x, {0, -1}), wp::ShapeError);
  EXPECT_THROW(wp::reshape(x, {std::int64_t{1} << 40, std::int64_t{1} << 40}), wp::ShapeError);
}

TEST(Views, ShareMemoryAndNeverCopy) {
  const Tensor x = wp::reshape(wp::arange(24), {2, 3, 4});
  EXPECT_EQ(memory(wp::expand_dims(x, {.axis = {0, -1}})), memory(x));
  EXPECT_EQ(memory(wp::squeeze(wp::expand_dims(x), 0)), memory(x));
  EXPECT_EQ(memory(wp::moveaxis(x, 0, 2)), memory(x));
  EXPECT_EQ(memory(wp::matrix_transpose(x)), memory(x));
  EXPECT_EQ(memory(wp::broadcast_to(x, {5, 2, 3, 4})), memory(x));
  EXPECT_EQ(memory(wp::unstack(x)[0]), memory(x));
  EXPECT_EQ(static_cast<const char*>(memory(wp::flip(x))) - static_cast<const char*>(memory(x)), 23 * 8);
  EXPECT_EQ(memory(wp::broadcast_arrays({x, wp::Tensor{1}})[0]), memory(x));
}

TEST(Views, KeepTheMemoryTheyShowAlive) {
  Tensor part;
  {
    const Tensor x = wp::reshape(wp::arange(20000), {100, 200});
    part = wp::matrix_transpose(x);
  }
  EXPECT_EQ(values(part)[1], 200);
}

TEST(BroadcastTo, RefusesSizesThatNoIntegerHolds) {
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_THROW(wp::broadcast_to(wp::Tensor(1.0), {big, big}), wp::OutOfMemory);
  EXPECT_EQ(wp::broadcast_to(wp::Tensor(1.0), {big}).size(), big);
  EXPECT_THROW(wp::broadcast_to(wp::Tensor{1, 2}, {3}), wp::ShapeError);
  EXPECT_THROW(wp::broadcast_to(wp::Tensor{1, 2}, {}), wp::ShapeError);
  EXPECT_THROW(wp::broadcast_to(wp::Tensor{1}, {-1}), wp::ShapeError);
}

TEST(Copies, GatherAnyPermutationOfEveryItemSizeAsIndexLoopsDo) {
  std::mt19937 random(7);
  for (const wp::DType d : {wp::u8, wp::i16, wp::f32, wp::f64, wp::c128})
    for (int round = 0; round < 30; ++round) {
      Dims shape, order;
      const int rank = 2 + static_cast<int>(random() % 3);
      for (int k = 0; k < rank; ++k) {
        shape.push_back(1 + static_cast<std::int64_t>(random() % (rank == 2 ? 150 : 20)));
        order.insert(random() % (order.size() + 1), k);
      }
      Tensor x = wp::permute_dims(wp::counting(d, shape), order);
      if (round % 3 == 0) x = wp::flip(x, {.axis = 0});
      const Tensor y = wp::contiguous(x);
      ASSERT_TRUE(y.is_contiguous());
      const std::size_t item = size_of(d);
      each(x.shape(), [&](const Dims& at, std::int64_t e) {
        std::int64_t offset = 0;
        for (std::size_t k = 0; k < at.size(); ++k) offset += at[k] * x.strides()[k];
        ASSERT_EQ(std::memcmp(y.node()->data + e * static_cast<std::int64_t>(item),
                              x.node()->data + offset * static_cast<std::int64_t>(item), item),
                  0)
            << name(d) << " element " << e << " of a permutation " << order[0];
      });
    }
}

TEST(Concat, JoinsLargeStridedAndConvertedArraysAsIndexLoopsDo) {
  const Tensor a = wp::reshape(wp::arange(120000), {300, 400}),
               b = wp::matrix_transpose(wp::reshape(wp::arange(200000), {400, 500}));
  const Tensor y = wp::concat({a, b});
  const auto v = values(y), va = values(a), vb = values(b);
  ASSERT_EQ(y.shape(), (Dims{800, 400}));
  for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], i < va.size() ? va[i] : vb[i - va.size()]);
  const Tensor wide = wp::concat({b, wp::full({500, 3}, 0.5)}, {.axis = 1});
  EXPECT_EQ(wide.dtype(), wp::f64);
  EXPECT_EQ(wide.to_vector<double>()[403 + 1], vb[401]);
  EXPECT_EQ(wide.to_vector<double>()[400], 0.5);
  EXPECT_EQ(wp::concat({a, wp::Tensor{7}}, {.axis = std::nullopt}).size(), 120001);
}

TEST(Concat, RefusesWhatDoesNotFitWithTheShapes) {
  EXPECT_THROW(wp::concat({}), wp::ArgumentError);
  EXPECT_THROW(wp::stack({}), wp::ArgumentError);
  EXPECT_THROW(wp::concat({wp::zeros({2, 3}), wp::zeros({2, 4})}), wp::ShapeError);
  EXPECT_THROW(wp::concat({wp::zeros({2}), wp::zeros({2, 1})}), wp::ShapeError);
  EXPECT_THROW(wp::concat({wp::zeros({}), wp::zeros({})}), wp::IndexError);
  EXPECT_THROW(wp::stack({wp::zeros({2}), wp::zeros({3})}), wp::ShapeError);
  EXPECT_THROW(wp::concat({wp::zeros({2}, {.dtype = wp::u64}), wp::arange(2)}), wp::DtypeError);
}

TEST(Roll, MovesAsIndexLoopsDo) {
  const Tensor x = wp::reshape(wp::arange(5 * 7 * 6), {5, 7, 6});
  const auto v = values(x);
  for (const std::int64_t s : {-13, -1, 0, 3, 7, 100}) {
    const auto got = values(wp::roll(x, {s, 2}, {.axis = {1, 2}}));
    each(x.shape(), [&](const Dims& at, std::int64_t e) {
      const std::int64_t j = ((at[1] - s) % 7 + 7) % 7, k = (at[2] + 4) % 6;
      ASSERT_EQ(got[static_cast<std::size_t>(e)], v[static_cast<std::size_t>((at[0] * 7 + j) * 6 + k)]);
    });
  }
  EXPECT_THROW(wp::roll(x, {1, 2}), wp::ArgumentError);
  EXPECT_THROW(wp::roll(x, {1, 2}, {.axis = {0}}), wp::ArgumentError);
}

TEST(Repetition, RefusesNegativeAndImpossibleCounts) {
  const Tensor x = wp::arange(3);
  EXPECT_EQ(values(wp::repeat(x, wp::Tensor{2, 0, 1})), (std::vector<std::int64_t>{0, 0, 2}));
  EXPECT_THROW(wp::repeat(x, -1), wp::ArgumentError);
  EXPECT_THROW(wp::repeat(x, wp::Tensor{1, 2}), wp::ShapeError);
  EXPECT_THROW(wp::repeat(x, std::int64_t{1} << 50), wp::OutOfMemory);
  EXPECT_THROW(wp::repeat(x, wp::full({3}, std::int64_t{1} << 62)), wp::OutOfMemory);
  EXPECT_THROW(wp::repeat(x, 1.5), wp::DtypeError);
  EXPECT_THROW(wp::tile(x, {-1}), wp::ArgumentError);
  EXPECT_THROW(wp::tile(x, {std::int64_t{1} << 62}), wp::OutOfMemory);
}

TEST(Triangles, KeepNoElementOutsideThemNotEvenANaN) {
  const Tensor x = wp::full({3, 3}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(wp::triu(x, {.k = 3}).to_vector<double>(), std::vector<double>(9, 0.0));
  const auto v = wp::tril(x, {.k = -1}).to_vector<double>();
  EXPECT_EQ(v[0], 0.0);
  EXPECT_TRUE(std::isnan(v[3]));
  EXPECT_THROW(wp::tril(wp::zeros({3})), wp::ShapeError);
}

TEST(Moves, CarryTheSourceOfANonFiniteElementWithThem) {
  const Tensor y = wp::log(wp::Tensor{{1.0, 0.0}, {2.0, 3.0}});
  EXPECT_THROW(wp::reshape(y, {4}).to_vector<double>(), wp::NonFiniteError);
  EXPECT_THROW(wp::concat({wp::ones({2, 2}), y}).to_vector<double>(), wp::NonFiniteError);
  EXPECT_THROW((void)(wp::roll(y, 1)[{1, 0}]).item<double>(), wp::NonFiniteError);
  EXPECT_EQ(wp::tril(y).to_vector<double>()[1], 0.0);           // the element that was made is gone
  EXPECT_EQ(wp::unstack(y)[1].to_vector<double>().size(), 2U);  // as here
}

}  // namespace
