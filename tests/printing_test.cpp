#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "listening.hpp"
#include "wellposed/wellposed.hpp"

namespace {

const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

TEST(Printing, ShowsIntegersRightAlignedInNestedBrackets) {
  EXPECT_EQ((wp::Tensor{{1, -20}, {300, 4}}).to_string(),
            "Tensor([[  1, -20],\n"
            "        [300,   4]])");
}

TEST(Printing, ShowsTheFewestDigitsAlignedAtThePoint) {
  EXPECT_EQ((wp::Tensor{1.0, 2.5, -3.125}).to_string(), "Tensor([ 1.   ,  2.5  , -3.125])");
  EXPECT_EQ((wp::Tensor{0.1, 0.2}).to_string(), "Tensor([0.1, 0.2])");
  EXPECT_EQ((wp::Tensor{1.0 / 3, 2.0 / 3}).to_string(), "Tensor([0.33333333, 0.66666667])");
}

TEST(Printing, UsesExponentsWhenTheRangeAsksForThem) {
  EXPECT_EQ((wp::Tensor{1e10, 1.5}).to_string(), "Tensor([1.0e+10, 1.5e+00])");
  EXPECT_EQ((wp::Tensor{1e-5, 2e-5}).to_string(), "Tensor([1.e-05, 2.e-05])");
  EXPECT_EQ((wp::Tensor{1000.0, 1.0}).to_string(), "Tensor([1000.,    1.])");
  EXPECT_EQ((wp::Tensor{1001.0, 1.0}).to_string(), "Tensor([1.001e+03, 1.000e+00])");
}

TEST(Printing, NamesTheDtypeWhenItIsNotTheDefaultOne) {
  EXPECT_EQ((wp::Tensor{1.0F, 0.1F}).to_string(), "Tensor([1. , 0.1], dtype=f32)");
  EXPECT_EQ(wp::full({2}, 0.1, {.dtype = wp::f16}).to_string(), "Tensor([0.1, 0.1], dtype=f16)");
  EXPECT_EQ(wp::full({2}, 0.1, {.dtype = wp::bf16}).to_string(), "Tensor([0.1, 0.1], dtype=bf16)");
  EXPECT_EQ(wp::full({3}, 200, {.dtype = wp::u8}).to_string(), "Tensor([200, 200, 200], dtype=u8)");
}

TEST(Printing, ShowsBoolsComplexNumbersAndSingleElements) {
  EXPECT_EQ((wp::Tensor{true, false}).to_string(), "Tensor([ True, False])");
  EXPECT_EQ((wp::Tensor{wp::complex128(1, -2.5), wp::complex128(0, 1)}).to_string(), "Tensor([1.-2.5j, 0.+1.j ])");
  EXPECT_EQ(wp::Tensor(2.0).to_string(), "Tensor(2.)");
  EXPECT_EQ(wp::Tensor(true).to_string(), "Tensor(True)");
  EXPECT_EQ(wp::Tensor(7).to_string(), "Tensor(7)");
}

TEST(Printing, ShowsShapeAndDtypeOfEmptyTensors) {
  EXPECT_EQ(wp::zeros({0}).to_string(), "Tensor([], dtype=f64)");
  EXPECT_EQ(wp::zeros({2, 0}).to_string(), "Tensor([], shape=[2, 0], dtype=f64)");
  EXPECT_EQ(wp::Tensor().to_string(), "Tensor(undefined)");
}

TEST(Printing, BreaksLinesAt75Columns) {
  EXPECT_EQ(wp::arange(100, 125).to_string(),
            "Tensor([100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112,\n"
            "        113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124])");
}

TEST(Printing, SummarisesMoreThanAThousandElements) {
  EXPECT_EQ(wp::arange(2000).to_string(), "Tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=[2000])");
  EXPECT_EQ(wp::reshape(wp::arange(1, 1029, 1), {257, 4}).to_string(),
            "Tensor([[   1,    2,    3,    4],\n"
            "        [   5,    6,    7,    8],\n"
            "        [   9,   10,   11,   12],\n"
            "        ...,\n"
            "        [1017, 1018, 1019, 1020],\n"
            "        [1021, 1022, 1023, 1024],\n"
            "        [1025, 1026, 1027, 1028]], shape=[257, 4])");
  EXPECT_EQ(wp::arange(1000).to_string().find("..."), std::string::npos);
}

TEST(Printing, SeparatesMatricesOfAStackByAnEmptyLine) {
  EXPECT_EQ((wp::Tensor{{{1, 2}}, {{3, 4}}}).to_string(),
            "Tensor([[[1, 2]],\n"
            "\n"
            "        [[3, 4]]])");
}

TEST(Printing, FollowsTheStridesOfViews) {
  EXPECT_EQ(wp::matrix_transpose(wp::Tensor{{1, 2}, {3, 4}}).to_string(),
            "Tensor([[1, 3],\n"
            "        [2, 4]])");
  EXPECT_EQ(wp::flip(wp::Tensor{1, 2, 3}).to_string(), "Tensor([3, 2, 1])");
}

std::string line_text(unsigned line) {
  return "printing_test.cpp:" + std::to_string(line);
}

TEST(Printing, NamesTheSourceOfAMadeInfinity) {
  const wp::Tensor x{1.0, 2.0, 0.0, 4.0};
  const wp::Tensor y = wp::log(x);
  const std::string line = line_text(__LINE__ - 1);
  EXPECT_EQ(y.to_string(),
            "Tensor([0.        , 0.69314718,       -inf, 1.38629436])\n"
            "  [2]: -inf made by log at " +
                line + " (x[2] = 0)");
}

TEST(Printing, CountsElementsOfOneSourceAndNamesWhatTheyCameFrom) {
  const wp::Tensor y = wp::log(wp::Tensor{0.0, 0.0, 1.0});
  const std::string line = line_text(__LINE__ - 1);
  EXPECT_EQ((y + y).to_string(),
            "Tensor([-inf, -inf,   0.])\n"
            "  [0] and 1 more: -inf made by log at " +
                line + " (x[0] = 0)");
  EXPECT_EQ((y + wp::Tensor{inf, 0.0, 0.0}).to_string(),
            "Tensor([ nan, -inf,   0.])\n"
            "  [0] and 1 more: nan, from -inf made by log at " +
                line + " (x[0] = 0)");
}

TEST(Printing, ShowsThreeSourcesAndCountsTheRest) {
  wp::Tensors parts;
  std::string text = "Tensor([-inf, -inf, -inf, -inf, -inf])";
  for (int i = 0; i < 5; ++i) {
    parts.push_back(wp::log(wp::Tensor{0.0}));
    if (i < 3)
      text += "\n  [" + std::to_string(i) + "]: -inf made by log at " + line_text(__LINE__ - 2) + " (x[0] = 0)";
  }
  EXPECT_EQ(wp::concat(parts).to_string(), text + "\n  … and 2 more");
}

TEST(Printing, CountsGivenNonFiniteValuesInOneLine) {
  EXPECT_EQ((wp::Tensor{nan, 1.0}).to_string(), "Tensor([nan,  1.])\n  1 non-finite value was given");
  EXPECT_EQ(wp::broadcast_to(wp::Tensor{inf, 1.0}, {3, 2}).to_string(),
            "Tensor([[inf,  1.],\n"
            "        [inf,  1.],\n"
            "        [inf,  1.]])\n"
            "  3 non-finite values were given");
}

TEST(Printing, NeverRaisesNorWarns) {
  const wp::tests::Listening listening;
  const wp::Tensor y = wp::log(wp::Tensor{0.0});
  for (const char* level : {"off", "escape", "warn", "raise"}) {
    const wp::checks here(level);
    EXPECT_FALSE(y.to_string().empty());
  }
  EXPECT_TRUE(listening.told.empty());
}

TEST(Printing, LooksOnceAtElementsThatAViewRepeats) {
  const wp::Tensor huge = wp::broadcast_to(wp::Tensor{inf}, {std::int64_t{1} << 50});
  EXPECT_EQ(huge.to_string(),
            "Tensor([inf, inf, inf, ..., inf, inf, inf], shape=[1125899906842624])\n"
            "  1125899906842624 non-finite values were given");
}

TEST(Printing, WritesToStreams) {
  std::ostringstream out;
  wp::Tensor x{1, 2};
  out << x << ' ' << x[1];
  EXPECT_EQ(out.str(), "Tensor([1, 2]) Tensor(2)");
}

}  // namespace
