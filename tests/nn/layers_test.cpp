#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "wellposed/context.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/index.hpp"
#include "wellposed/linalg.hpp"
#include "wellposed/nn.hpp"
#include "wellposed/ops.hpp"

namespace {

using namespace wp;
using Real = long double;

Tensor draw(const Dims& shape, std::uint64_t seed) {
  return random::Generator(seed).normal(shape);
}
std::vector<double> values(const Tensor& t) {
  return reshape(t, {-1}).to_vector<double>();
}

// Gradients of a layer in its input and in all of its parameters, against differences.
template <class Layer>
void expect_gradients(const Layer& layer, const Tensor& x, bool training) {
  nn::Model model({.seed = 3, .dtype = f64});
  {
    nn::Pass pass(model);
    (void)layer(pass, x);
  }
  std::vector<Tensor> at{x};
  std::vector<std::string> names;
  for (const nn::Parameter& p : model.parameters())
    if (p.trained) {
      at.push_back(p.value + draw(p.value.shape(), 11) * 0.1);
      names.push_back(p.name);
    }
  const random::State begin = model.random().state();
  const auto f = [&](const std::vector<Tensor>& v) -> std::vector<Tensor> {
    nn::Model copy = model;
    copy.random().set_state(begin);
    for (std::size_t k = 0; k < names.size(); ++k) copy.set(names[k], v[k + 1]);
    nn::Pass pass(copy, training);
    return {layer(pass, v[0])};
  };
  const GradcheckReport r = gradcheck(f, at);
  EXPECT_TRUE(r) << r.to_string();
  EXPECT_GT(r.entries, 0);
}

TEST(Layers, DenseIsTheProductPlusBias) {
  nn::Model model({.seed = 1, .dtype = f64});
  nn::Pass pass(model);
  const Tensor x = draw({3, 2, 4}, 5);
  const scope here("layer1");
  const Tensor y = nn::dense(pass, x, 3, {.activation = "tanh", .offsets = nn::normal(1)});
  const std::vector<double> w = values(model["layer1/dense/weights"]), b = values(model["layer1/dense/bias"]),
                            v = values(x), got = values(y);
  EXPECT_EQ(y.shape(), (Dims{3, 2, 3}));
  for (std::size_t r = 0; r < 6; ++r)
    for (std::size_t u = 0; u < 3; ++u) {
      Real s = b[u];
      for (std::size_t k = 0; k < 4; ++k) s += static_cast<Real>(v[r * 4 + k]) * w[k * 3 + u];
      EXPECT_NEAR(got[r * 3 + u], static_cast<double>(std::tanh(s)), 1e-15);
    }
  ASSERT_EQ(pass.seen().size(), 1U);
  EXPECT_EQ(pass.seen()[0].first, "layer1/dense/output");
}
TEST(Layers, GradientsOfDenseAreRight) {
  for (const char* name : {"none", "relu", "gelu", "sigmoid", "silu", "softplus", "tanh", "softmax"})
    expect_gradients([&](nn::Pass& p, const Tensor& x) { return nn::dense(p, x, 3, {.activation = name}); },
                     draw({4, 5}, 1), true);
}

TEST(Layers, EmbeddingGivesTheRowsOfItsTable) {
  nn::Model model;
  nn::Pass pass(model);
  const Tensor y = nn::embedding(pass, Tensor{{4, 0}, {1, 4}}, 5, 3);
  const Tensor table = model["embedding/weights"];
  EXPECT_EQ(y.shape(), (Dims{2, 2, 3}));
  EXPECT_TRUE(static_cast<bool>(all(equal(y[{0, 0}], table[{4}]))));
  EXPECT_TRUE(static_cast<bool>(all(equal(y[{1, 0}], table[{1}]))));
  pass.again();
  EXPECT_THROW(nn::embedding(pass, Tensor{5}, 5, 3), IndexError);
  pass.again();
  EXPECT_THROW(nn::embedding(pass, Tensor{0.5}, 5, 3), DtypeError);
}
TEST(Layers, GradientsOfEmbeddingAddUpOverRepeatedRows) {
  nn::Model model({.dtype = f64});
  nn::Pass pass(model, true);
  const Tensor loss = sum(nn::embedding(pass, Tensor{2, 0, 2, 2}, 3, 1));
  EXPECT_EQ(values(pass.gradients(loss)[0]), (std::vector<double>{1, 0, 3}));
}

TEST(Layers, LayerNormHasMeanZeroAndVarianceOneInEveryRow) {
  nn::Model model({.dtype = f64});
  nn::Pass pass(model);
  const Tensor x = draw({4, 6}, 2) * 3.0 + 1e6;
  const std::vector<double> v = values(x), got = values(nn::layer_norm(pass, x));
  for (std::size_t r = 0; r < 4; ++r) {
    Real mean = 0, variance = 0;
    for (std::size_t k = 0; k < 6; ++k) mean += v[r * 6 + k] / 6.0L;
    for (std::size_t k = 0; k < 6; ++k) variance += (v[r * 6 + k] - mean) * (v[r * 6 + k] - mean) / 6.0L;
    for (std::size_t k = 0; k < 6; ++k)
      EXPECT_NEAR(got[r * 6 + k], static_cast<double>((v[r * 6 + k] - mean) / std::sqrt(variance + 1e-5L)), 2e-10);
  }
}
TEST(Layers, LayerNormOfARowOfEqualNumbersIsItsOffset) {
  nn::Model model({.dtype = f64});
  nn::Pass pass(model);
  EXPECT_EQ(values(nn::layer_norm(pass, full({2, 3}, 7.0))), std::vector<double>(6, 0.0));
}
TEST(Layers, GradientsOfNormsAreRight) {
  expect_gradients([](nn::Pass& p, const Tensor& x) { return nn::layer_norm(p, x); }, draw({3, 4}, 4), true);
  expect_gradients([](nn::Pass& p, const Tensor& x) { return nn::batch_norm(p, x); }, draw({5, 3}, 4), true);
  expect_gradients([](nn::Pass& p, const Tensor& x) { return nn::batch_norm(p, x); }, draw({2, 3, 2}, 4), true);
  expect_gradients([](nn::Pass& p, const Tensor& x) { return nn::batch_norm(p, x); }, draw({5, 3}, 4), false);
}

TEST(Layers, BatchNormTrainsWithTheBatchAndEvaluatesWithRunningStatistics) {
  nn::Model model({.dtype = f64});
  const Tensor x{{1.0, 10.0}, {2.0, 20.0}, {6.0, 60.0}};  // means 3, 30; variances 14/3, 1400/3
  {
    nn::Pass pass(model, true);
    const std::vector<double> y = values(nn::batch_norm(pass, x, {.momentum = 0.75}));
    EXPECT_NEAR(y[0], -2 / std::sqrt(14.0 / 3 + 1e-5), 1e-15);
    EXPECT_NEAR(y[5], 30 / std::sqrt(1400.0 / 3 + 1e-5), 1e-15);
    EXPECT_EQ(values(model["batch_norm/mean"]), (std::vector<double>{0, 0})) << "before the step counts";
    pass.commit();
  }
  EXPECT_EQ(values(model["batch_norm/mean"]), (std::vector<double>{0.75, 7.5}));
  const std::vector<double> v = values(model["batch_norm/variance"]);
  EXPECT_NEAR(v[0], 0.75 + 0.25 * 7, 1e-15);  // 14/3 · 3/2 = 7
  EXPECT_NEAR(v[1], 0.75 + 0.25 * 700, 1e-13);
  nn::Pass pass(model);
  const std::vector<double> y = values(nn::batch_norm(pass, x));
  EXPECT_NEAR(y[0], 0.25 / std::sqrt(2.5 + 1e-5), 1e-15);
  EXPECT_EQ(values(model["batch_norm/mean"]), (std::vector<double>{0.75, 7.5})) << "evaluation changes nothing";
}
TEST(Layers, BatchNormOfOneRowIsRefusedInTraining) {
  nn::Model model;
  nn::Pass training(model, true), evaluation(model);
  EXPECT_THROW(nn::batch_norm(training, ones({1, 3})), ShapeError);
  EXPECT_NO_THROW(nn::batch_norm(evaluation, ones({1, 3})));
}

TEST(Layers, DropoutDropsAtItsRateAndKeepsTheMean) {
  nn::Model model({.seed = 9, .dtype = f64});
  const std::int64_t n = 200000;
  for (const double rate : {0.1, 0.5, 0.9}) {
    nn::Pass pass(model, true);
    const Tensor y = nn::dropout(pass, ones({n}), rate);
    const double zeros = sum(astype(equal(y, 0), f64)).item<double>() / static_cast<double>(n);
    EXPECT_NEAR(zeros, rate, 5 * std::sqrt(rate * (1 - rate) / static_cast<double>(n)));
    EXPECT_EQ(max(y).item<double>(), 1 / (1 - rate));
  }
}
TEST(Layers, DropoutIsAFunctionOfTheSeedAndOffInEvaluation) {
  const Tensor x = draw({100}, 1);
  nn::Model a({.seed = 1, .dtype = f64}), b({.seed = 1, .dtype = f64}), c({.seed = 2, .dtype = f64});
  nn::Pass pa(a, true), pb(b, true), pc(c, true), evaluation(a);
  const std::vector<double> first = values(nn::dropout(pa, x, 0.5));
  EXPECT_EQ(values(nn::dropout(pb, x, 0.5)), first);
  EXPECT_NE(values(nn::dropout(pc, x, 0.5)), first);
  EXPECT_NE(values(nn::dropout(pa, x, 0.5)), first) << "the next draw is another";
  EXPECT_EQ(values(nn::dropout(evaluation, x, 0.5)), values(x));
  EXPECT_EQ(values(nn::dropout(pa, x, 0)), values(x));
  EXPECT_THROW(nn::dropout(pa, x, 1), ArgumentError);
  EXPECT_THROW(nn::dropout(pa, x, std::nan("")), ArgumentError);
}
TEST(Layers, GradientsOfDropoutPassWhereValuesPass) {
  expect_gradients([](nn::Pass& p, const Tensor& x) { return nn::dropout(p, x, 0.4); }, draw({7, 3}, 8), true);
}
TEST(Layers, WhatDropoutDropsDoesNotPoisonTheGradient) {
  nn::Model model({.seed = 4, .dtype = f64});
  nn::Pass pass(model, true);
  const Tensor w = pass.parameter("w", {64}, nn::constant(0));
  const Tensor y = nn::dropout(pass, w, 0.5);
  const Tensor slope = pass.gradients(sum(y))[0];
  EXPECT_TRUE(static_cast<bool>(all(isfinite(slope))));
}

TEST(Layers, BadArgumentsNameTheRule) {
  nn::Model model;
  nn::Pass pass(model);
  EXPECT_THROW(nn::dense(pass, ones({2, 3}), 0), ArgumentError);
  EXPECT_THROW(nn::dense(pass, Tensor(1.0), 3), ShapeError);
  EXPECT_THROW(nn::activation("relv", ones({2})), ArgumentError);
  EXPECT_EQ(nn::dense(pass, zeros({0, 3}), 4).shape(), (Dims{0, 4}));
}

TEST(Initializers, HaveTheSpreadOfTheirFormulas) {
  random::Generator g(1);
  const auto deviation = [&](const nn::Initializer& i) {
    const Tensor x = i({200, 300}, f64, g);
    EXPECT_NEAR(mean(x).item<double>(), 0, 1e-3);
    return wp::std(x).item<double>();
  };
  EXPECT_NEAR(deviation(nn::glorot_uniform()), std::sqrt(2.0 / 500), 5e-4);
  EXPECT_NEAR(deviation(nn::glorot_normal()), std::sqrt(2.0 / 500), 5e-4);
  EXPECT_NEAR(deviation(nn::he_uniform()), 0.1, 1e-3);
  EXPECT_NEAR(deviation(nn::he_normal()), 0.1, 1e-3);
  EXPECT_NEAR(deviation(nn::lecun_normal()), std::sqrt(1.0 / 200), 1e-3);
  EXPECT_NEAR(deviation(nn::uniform(0.3)), 0.3 / std::sqrt(3.0), 1e-3);
  EXPECT_NEAR(deviation(nn::normal(0.2)), 0.2, 2e-3);
}
TEST(Initializers, OrthogonalMatricesAreOrthogonal) {
  for (const Dims& shape : {Dims{5, 5}, Dims{7, 3}, Dims{3, 7}, Dims{2, 3, 4}}) {
    random::Generator g(2);
    const Tensor q = reshape(nn::orthogonal(2)(shape, f64, g), {-1, shape.back()});
    const Tensor small = q.shape(0) < q.shape(1) ? matmul(q, matrix_transpose(q)) : matmul(matrix_transpose(q), q);
    EXPECT_LT(max(abs(small - 4.0 * eye(small.shape(0)))).item<double>(), 1e-14);
  }
}

}  // namespace
