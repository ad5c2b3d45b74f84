#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "wellposed/gradcheck.hpp"
#include "wellposed/nn.hpp"
#include "wellposed/ops.hpp"

namespace {

using namespace wp;
using Real = long double;
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Losses, MeanSquaredErrorIsTheMeanOfSquares) {
  const Tensor y{{1.0, 2.0}, {-3.0, 0.5}}, t{{0.0, 2.5}, {-3.0, 4.5}};
  EXPECT_EQ(nn::mse(y, t).item<double>(), (1 + 0.25 + 0 + 16) / 4);
}
TEST(Losses, HuberIsQuadraticInsideAndLinearOutside) {
  const Tensor y{0.5, -0.5, 2.0, -3.0, 1.0}, t = zeros({5});
  EXPECT_DOUBLE_EQ(nn::huber(y, t).item<double>(), (0.125 + 0.125 + 1.5 + 2.5 + 0.5) / 5);
  EXPECT_DOUBLE_EQ(nn::huber(y, t, 2).item<double>(), (0.125 + 0.125 + 2 + 4 + 0.5) / 5);
  EXPECT_EQ(nn::huber(Tensor{1e300}, Tensor{-1e300}).item<double>(), 2e300);
  EXPECT_THROW(nn::huber(y, t, 0), ArgumentError);
}
TEST(Losses, DifferentShapesAreRefusedInsteadOfBroadcast) {
  EXPECT_THROW(nn::mse(ones({4, 1}), ones({4})), ShapeError);
  EXPECT_THROW(nn::huber(ones({4, 1}), ones({4})), ShapeError);
  EXPECT_THROW(nn::softmax_cross_entropy(ones({4, 3}), Tensor{0, 1}), ShapeError);
  EXPECT_THROW(nn::softmax_cross_entropy(ones({4, 3}), ones({4, 1})), ShapeError);
  EXPECT_THROW(nn::mse(zeros({0}), zeros({0})), ShapeError);
}

// log Σ exp(l) − l[c] in 64-bit mantissas.
Real exact(const std::vector<double>& l, std::size_t c) {
  Real top = -inf, rest = 0;
  for (const double v : l) top = std::max(top, static_cast<Real>(v));
  bool skipped = false;
  for (const double v : l) {
    if (v == top && !skipped)
      skipped = true;
    else
      rest += std::exp(static_cast<Real>(v) - top);
  }
  return top - l[c] + std::log1p(rest);
}

TEST(Losses, CrossEntropyIsExactAtExtremeLogits) {
  const std::vector<std::vector<double>> rows{{0, 0, 0},      {1000, -1000, 0},    {1e30, -1e30, 0},
                                              {-1e300, 1, 2}, {40, 0, -40},        {-745, -745, -744},
                                              {1e-300, 0, 0}, {88.8, 88.7, -88.8}, {-inf, 1.0, 2.0}};
  for (const std::vector<double>& row : rows)
    for (std::size_t c = 0; c < 3; ++c) {
      if (std::isinf(row[c])) continue;
      const Tensor logits = Tensor::from(row, {1, 3});
      const auto label = static_cast<std::int64_t>(c);
      const double want = static_cast<double>(exact(row, c)),
                   got = nn::softmax_cross_entropy(logits, Tensor::from(std::vector<std::int64_t>{label}, {1}))
                             .item<double>(),
                   soft = nn::softmax_cross_entropy(logits, astype(one_hot(Tensor{label}, 3), f64)).item<double>();
      EXPECT_NEAR(got, want, std::fabs(want) * 1e-15 + 1e-30)
          << row[0] << ' ' << row[1] << ' ' << row[2] << ", class " << c;
      EXPECT_EQ(got, soft) << "class " << c;
    }
}
TEST(Losses, AClassOfProbabilityZeroMayHaveTheLogitMinusInf) {
  const Tensor logits{{-inf, 0.0, 0.0}}, p{{0.0, 0.5, 0.5}};
  nn::Model model({.dtype = f64});
  nn::Pass pass(model, true);
  const Tensor w = pass.parameter("w", {1, 3}, nn::constant(0));
  const Tensor loss = nn::softmax_cross_entropy(add(w, logits), p);
  EXPECT_DOUBLE_EQ(loss.item<double>(), std::log(2.0));
  EXPECT_TRUE(static_cast<bool>(all(isfinite(pass.gradients(loss)[0]))));
}
TEST(Losses, GradientsOfLossesAreRight) {
  random::Generator g(3);
  const Tensor y = g.normal({4, 3}), t = g.normal({4, 3}), p = softmax(g.normal({4, 3}));
  const auto check = [&](const std::function<Tensor(const Tensor&)>& f) {
    const GradcheckReport r = gradcheck(f, y, 2);
    EXPECT_TRUE(r) << r.to_string();
  };
  check([&](const Tensor& v) { return nn::mse(v, t); });
  check([&](const Tensor& v) { return nn::huber(v, t, 0.7); });
  check([&](const Tensor& v) { return nn::softmax_cross_entropy(v, Tensor{0, 2, 1, 1}); });
  check([&](const Tensor& v) { return nn::softmax_cross_entropy(v, p); });
}
TEST(Losses, AClassThatIsNotThereIsRefused) {
  for (const Tensor& labels : {Tensor{{0, 2}, {1, 3}}, Tensor{{0, 2}, {1, -1}}}) try {
      (void)nn::softmax_cross_entropy(ones({2, 2, 3}), labels);
      FAIL() << labels;
    } catch (const IndexError& e) {
      const std::string said = e.what();
      EXPECT_NE(said.find("labels[1, 1] = "), std::string::npos) << said;
      EXPECT_NE(said.find("is outside of 0 … 2"), std::string::npos) << said;
    }
  const Tensor huge = Tensor::from(std::vector<std::uint64_t>{~std::uint64_t{0}}, {1});
  EXPECT_THROW(nn::softmax_cross_entropy(ones({1, 3}), huge), IndexError);
}
TEST(Losses, ARowThatTheTableHasNotIsRefusedAndTheModelStaysEmpty) {
  for (const int number : {-1, 4}) {
    nn::Model model;
    nn::Pass pass(model);
    EXPECT_THROW(nn::embedding(pass, Tensor{0, number}, 4, 2), IndexError) << number;
    EXPECT_TRUE(model.parameters().empty());
  }
}

}  // namespace
