// Results in memory that the caller gives.
#include <gtest/gtest.h>

#include <cmath>

#include "linalg/tensors.hpp"
#include "ops/dispatch.hpp"

namespace wp {
namespace {

namespace la = linalg;
using matrices::same_bits;

const Tensor a = {{4.0, 1.0}, {1.0, 3.0}}, b = {1.0, 2.0};

TEST(Out, TheResultStandsInTheGivenMemoryWithTheSameBits) {
  Tensor x = empty({2, 2}), y = empty({2});
  const detail::Node *const square = x.node(), *const line = y.node();
  EXPECT_EQ(la::inv(a, {.out = &x}).node(), square);
  EXPECT_TRUE(same_bits(x, la::inv(a)));
  EXPECT_EQ(la::cholesky(a, {.out = &x}).node(), square);
  EXPECT_TRUE(same_bits(x, la::cholesky(a)));
  EXPECT_EQ(la::pinv(a, {.out = &x}).node(), square);
  EXPECT_TRUE(same_bits(x, la::pinv(a)));
  EXPECT_EQ(la::solve(a, b, {.out = &y}).node(), line);
  EXPECT_TRUE(same_bits(y, la::solve(a, b)));
  EXPECT_EQ(la::lstsq(a, b, {.out = &y}).node(), line);
  EXPECT_TRUE(same_bits(y, la::lstsq(a, b)));
  EXPECT_EQ(la::diagnosed::inv(a, {.out = &x}).value.node(), square);
  EXPECT_TRUE(same_bits(x, la::inv(a)));
}

TEST(Out, ADtypeThatIsComputedInAWiderOneIsWrittenToo) {
  for (const DType d : {f16, bf16, f32, c64, c128}) {
    const Tensor m = astype(a, d);
    Tensor x = empty({2, 2}, {.dtype = d});
    const detail::Node* const node = x.node();
    EXPECT_EQ(la::inv(m, {.out = &x}).node(), node);
    EXPECT_TRUE(same_bits(x, la::inv(m))) << name(d);
  }
  Tensor none = empty({0, 0}), stack = empty({3, 2, 2});
  la::inv(empty({0, 0}), {.out = &none});
  la::inv(broadcast_to(a, {3, 2, 2}), {.out = &stack});
  EXPECT_TRUE(same_bits(stack[{2}], la::inv(a)));
}

TEST(Out, WhatDoesNotFitIsRefusedAndUntouched) {
  Tensor x = ones({3, 2}), narrow = ones({2, 2}, {.dtype = f32}), nothing;
  EXPECT_THROW(la::inv(a, {.out = &x}), ShapeError);
  EXPECT_THROW(la::inv(a, {.out = &narrow}), DtypeError);
  EXPECT_THROW(la::inv(a, {.out = &nothing}), ArgumentError);
  EXPECT_TRUE(same_bits(x, ones({3, 2})));
  EXPECT_TRUE(same_bits(narrow, ones({2, 2}, {.dtype = f32})));
}

TEST(Out, MemoryThatOthersSeeIsRefused) {
  Tensor x = ones({2, 2});
  const Tensor copy = x;
  EXPECT_THROW(la::inv(a, {.out = &x}), ArgumentError);
  EXPECT_TRUE(same_bits(copy, ones({2, 2})));
  const Tensor whole = ones({4, 2});
  Tensor view = whole[{slice(0, 2)}];
  EXPECT_THROW(la::inv(a, {.out = &view}), ArgumentError);
  std::vector<double> memory(4, 1.0);
  Tensor lent = Tensor::borrow(memory.data(), f64, {2, 2});
  EXPECT_THROW(la::inv(a, {.out = &lent}), ArgumentError);
  Tensor own = la::inv(a);
  EXPECT_THROW(la::inv(own, {.out = &own}), ArgumentError);
  EXPECT_TRUE(same_bits(own, la::inv(a)));
}

TEST(Out, ABadMemberRaisesWithTheGoodOnesWritten) {
  Tensor x = ones({2, 2, 2});
  const Tensor stack = wp::stack({a, ones({2, 2})});
  EXPECT_THROW(la::inv(stack, {.out = &x}), SingularMatrix);
  EXPECT_TRUE(same_bits(x[{0}], la::inv(a)));
  EXPECT_TRUE(static_cast<bool>(all(isnan(x[{1}]))));
  la::inv(wp::stack({a, a}), {.out = &x});
  EXPECT_TRUE(static_cast<bool>(all(isfinite(x))));
}

TEST(Out, ANoteOfTheOldValueIsGone) {
  Tensor x = log(Tensor{{-1.0, 1.0}, {1.0, 1.0}});
  ASSERT_NE(x.node()->note, nullptr);
  la::inv(a, {.out = &x});
  EXPECT_EQ(x.node()->note, nullptr);
  EXPECT_EQ(x.to_vector<double>().size(), 4U);
}

}  // namespace
}  // namespace wp
