#include <gtest/gtest.h>

#include "wellposed/wellposed.hpp"

namespace {

TEST(Tensor, TakesShapeAndDtypeFromNestedLists) {
  const wp::Tensor a{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(a.dtype(), wp::i64);
  EXPECT_EQ(a.shape(), (wp::Dims{2, 3}));
  EXPECT_EQ((wp::Tensor{1.0F, 2.0F}).dtype(), wp::f32);
  EXPECT_EQ((wp::Tensor{1, 2.5}).dtype(), wp::f64);
}

TEST(Tensor, NamesTheLineThatMadeAnEscapingInf) {
  const wp::Tensor x{1.0, 2.0, 0.0, 4.0};
  const wp::Tensor y = wp::log(x) + 1.0;
  try {
    (void)y.to_vector<double>();
    FAIL() << "a made -inf left the computation in silence";
  } catch (const wp::NonFiniteError& e) {
    EXPECT_EQ(e.finding().element, (wp::Dims{2}));
    EXPECT_NE(std::string(e.what()).find("tensor_test.cpp"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("x[2] = 0"), std::string::npos) << e.what();
  }
}

}  // namespace
