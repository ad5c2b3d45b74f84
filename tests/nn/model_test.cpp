#include <gtest/gtest.h>

#include "files.hpp"
#include "listening.hpp"
#include "wellposed/nn.hpp"

namespace {

using namespace wp;

Tensor two_layers(nn::Pass& pass, const Tensor& x) {
  Tensor y;
  {
    const scope here("layer1");
    y = nn::batch_norm(pass, nn::dense(pass, x, 4, {.activation = "relu"}));
  }
  const scope here("layer2");
  return nn::dense(pass, y, 2);
}
nn::Model built(std::uint64_t seed = 1) {
  nn::Model model({.seed = seed});
  nn::Pass pass(model);
  (void)two_layers(pass, ones({2, 3}));
  return model;
}
std::vector<std::string> names(const nn::Model& m) {
  std::vector<std::string> out;
  for (const nn::Parameter& p : m.parameters()) out.push_back(p.name);
  return out;
}

class Models : public Files {};

TEST_F(Models, ParametersAreNamedByTheirScopes) {
  EXPECT_EQ(names(built()),
            (std::vector<std::string>{"layer1/dense/weights", "layer1/dense/bias", "layer1/batch_norm/mean",
                                      "layer1/batch_norm/variance", "layer1/batch_norm/scale",
                                      "layer1/batch_norm/offset", "layer2/dense/weights", "layer2/dense/bias"}));
  EXPECT_EQ(built().size(), 3 * 4 + 4 + 4 + 4 + 4 * 2 + 2);
}
TEST_F(Models, ScopesAroundThePassAreNoPartOfNames) {
  const scope outer("train");
  EXPECT_EQ(names(built())[0], "layer1/dense/weights");
}
TEST_F(Models, FirstValuesDependOnSeedAndNameOnly) {
  nn::Model other({.seed = 1});
  nn::Pass pass(other);
  const scope here("layer2");
  (void)nn::dense(pass, ones({2, 4}), 2);
  const auto w = [](const nn::Model& m) { return m["layer2/dense/weights"].to_vector<float>(); };
  EXPECT_EQ(w(other), w(built(1)));
  EXPECT_NE(w(other), w(built(2)));
}
TEST_F(Models, CopiesAreValues) {
  nn::Model a = built();
  const nn::Model b = a;
  a.set("layer2/dense/bias", ones({2}, {.dtype = f32}));
  EXPECT_EQ(b["layer2/dense/bias"].to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_THROW(a.set("layer2/dense/bias", ones({3}, {.dtype = f32})), ShapeError);
  EXPECT_THROW(a.set("layer2/dense/bias", ones({2})), DtypeError);
}
TEST_F(Models, TwoLayersOfOneNameAreRefused) {
  nn::Model model;
  nn::Pass pass(model);
  (void)nn::dense(pass, ones({1, 2}), 2);
  try {
    (void)nn::dense(pass, ones({1, 2}), 2);
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_SAYS(std::string(e.what()), "'dense/weights' is asked for twice");
  }
  EXPECT_NO_THROW(nn::dense(pass, ones({1, 2}), 2, {.name = "second"}));
}
TEST_F(Models, WeightsThatAreSharedGetTheSumOfTheirGradients) {
  nn::Model model({.dtype = f64});
  nn::Pass pass(model, true);
  const auto f = [&](double x) { return sum(nn::dense(pass, full({1, 1}, x), 1)); };
  Tensor loss = f(2);
  pass.again();
  loss = loss + f(5);
  EXPECT_EQ(pass.gradients(loss)[0].item<double>(), 7);
}
TEST_F(Models, AParameterKeepsItsShape) {
  nn::Model model = built();
  nn::Pass pass(model);
  EXPECT_THROW(two_layers(pass, ones({2, 5})), ShapeError);
}
TEST_F(Models, AnUnknownNameIsAnsweredWithTheNearest) {
  try {
    (void)built()["layer1/dense/weight"];
    FAIL();
  } catch (const ArgumentError& e) {
    EXPECT_SAYS(std::string(e.what()), "Did you mean 'layer1/dense/weights'?");
  }
}
TEST_F(Models, AParameterTheLossDoesNotDependOnIsToldOnce) {
  const tests::Listening heard;
  nn::Model model;
  for (int k = 0; k < 3; ++k) {
    nn::Pass pass(model, true);
    (void)pass.parameter("idle", {2}, nn::constant(1));
    EXPECT_FALSE(pass.gradients(sum(pass.parameter("busy", {2}, nn::constant(1))))[0].defined());
  }
  ASSERT_EQ(heard.told.size(), 1U);
  EXPECT_EQ(heard.told[0].code, "WP-NNM-003");
  EXPECT_SAYS(heard.told[0].message, "'idle'");
}
TEST_F(Models, OnlyTrainingPassesHaveGradients) {
  nn::Model model;
  nn::Pass evaluation(model), training(model, true);
  EXPECT_THROW(evaluation.gradients(sum(two_layers(evaluation, ones({2, 3})))), GradientError);
  EXPECT_THROW(training.gradients(two_layers(training, ones({2, 3}))), ShapeError);
}

TEST_F(Models, WhatIsSavedIsLoaded) {
  nn::Model a = built(1), b = built(2), fresh;
  a.save(path("m.safetensors"));
  b.load(path("m.safetensors"));
  fresh.load(path("m.safetensors"));
  for (const nn::Parameter& p : a.parameters()) {
    EXPECT_EQ(reshape(b[p.name], {-1}).to_vector<float>(), reshape(p.value, {-1}).to_vector<float>()) << p.name;
    EXPECT_EQ(reshape(fresh[p.name], {-1}).to_vector<float>(), reshape(p.value, {-1}).to_vector<float>()) << p.name;
  }
  EXPECT_EQ(fresh.size(), a.size()) << "statistics are not trained";
  EXPECT_EQ(files(), 1U);
}
TEST_F(Models, FilesOfOtherModelsAreRefusedNamingEveryDifference) {
  nn::Model other({.seed = 1});
  {
    nn::Pass pass(other);
    const scope here("layer1");
    (void)nn::dense(pass, ones({2, 3}), 5);
    (void)pass.parameter("extra", {1}, nn::constant(1));
  }
  other.save(path("other.safetensors"));
  nn::Model model = built();
  const std::vector<float> before = model["layer1/dense/bias"].to_vector<float>();
  try {
    model.load(path("other.safetensors"));
    FAIL();
  } catch (const FormatError& e) {
    const std::string text = e.what();
    EXPECT_SAYS(text, "'layer1/dense/weights' is f32 [3, 5] in the file, f32 [3, 4] in the model.");
    EXPECT_SAYS(text, "'layer1/extra' is in the file, not in the model.");
    EXPECT_SAYS(text, "'layer2/dense/weights' is in the model, not in the file.");
  }
  EXPECT_EQ(model["layer1/dense/bias"].to_vector<float>(), before);
}
TEST_F(Models, AModelThatWasLoadedMakesNoNewParameters) {
  built().save(path("m.safetensors"));
  nn::Model model;
  model.load(path("m.safetensors"));
  nn::Pass pass(model);
  const scope here("layer3");
  EXPECT_THROW(nn::dense(pass, ones({2, 3}), 2), FormatError);
}
TEST_F(Models, BrokenFilesAreRefused) {
  nn::Model model = built();
  EXPECT_THROW(model.load(path("none.safetensors")), FileError);
  EXPECT_THROW(model.load(write("bad.safetensors", "what")), FormatError);
}

}  // namespace
