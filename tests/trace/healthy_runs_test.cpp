// Trainings that go well, as people run them: nothing may be said about them.
#include <gtest/gtest.h>

#include "listening.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Batch;
using wp::Tensor;
namespace nn = wp::nn;

// Two spirals, or a smooth function of eight numbers with noise.
wp::NamedTensors classes(std::uint64_t seed) {
  wp::random::Generator g(seed);
  const Tensor t = g.uniform({400, 1}, {.low = 0.3, .high = 3.0, .dtype = wp::f32});
  const Tensor which = wp::remainder(wp::arange(400), 2);
  const Tensor turned = t * 2.0 + wp::reshape(wp::astype(which, wp::f32), {400, 1}) * 3.14159;
  const Tensor x = wp::concat({wp::cos(turned) * t, wp::sin(turned) * t}, {.axis = 1});
  return {{"x", x + g.normal({400, 2}, {.std = 0.05, .dtype = wp::f32})}, {"y", which}};
}
wp::NamedTensors curve(std::uint64_t seed) {
  wp::random::Generator g(seed);
  const Tensor x = g.normal({400, 8}, {.dtype = wp::f32});
  const Tensor y =
      wp::sin(wp::sum(x, {.axis = 1, .keepdims = true})) + wp::square(x[{wp::ellipsis, wp::slice(0, 1)}]);
  return {{"x", x}, {"y", y + g.normal({400, 1}, {.std = 0.1, .dtype = wp::f32})}};
}

struct Net {
  std::int64_t width = 32;
  std::string_view activation = "relu";
  nn::Initializer weights = {};
  bool norm = false;
  Tensor operator()(nn::Pass& pass, Tensor x, std::int64_t outputs) const {
    for (const char* name : {"layer1", "layer2"}) {
      const wp::scope here(name);
      x = nn::dense(pass, x, width, {.activation = activation, .weights = weights});
      if (norm) x = nn::batch_norm(pass, x);
    }
    return nn::dense(pass, x, outputs, {.name = "head", .weights = weights});
  }
};

struct Training {
  const char* name;
  bool classify;
  Net net;
  std::function<nn::Optimizer()> optimizer;
  std::int64_t batch = 32;
};
std::vector<Training> trainings() {
  return {
      {"relu, Adam", false, {}, [] { return nn::adam({.rate = 1e-3}); }},
      {"relu, Adam, large steps", true, {}, [] { return nn::adam({.rate = 1e-2}); }},
      {"relu, He, Adam", true, {.weights = nn::he_normal()}, [] { return nn::adam({.rate = 3e-3}); }, 16},
      {"relu, batch norm, AdamW", false, {.norm = true}, [] { return nn::adamw({.rate = 1e-2}); }},
      {"tanh, SGD with momentum",
       true,
       {.activation = "tanh"},
       [] { return nn::sgd({.rate = 0.1, .momentum = 0.9}); }},
      {"small first weights, SGD",
       true,
       {.activation = "tanh", .weights = nn::normal(0.03)},
       [] { return nn::sgd({.rate = 0.5, .momentum = 0.9}); }},
      {"narrow, warm-up", true, {.width = 8}, [] { return nn::adam({.rate = nn::warmup(100, 1e-2)}); }, 8},
      {"clipped, cosine",
       false,
       {.activation = "gelu"},
       [] { return nn::adam({.rate = nn::cosine_decay(5e-3, 600), .clip = {.norm = 1}}); }},
  };
}

TEST(HealthyRuns, OfTheTrainerAreNotWarnedAbout) {
  for (const Training& r : trainings())
    for (const std::uint64_t seed : {1U, 2U}) {
      const wp::tests::Listening heard;
      const wp::Dataset data(r.classify ? classes(seed) : curve(seed), {.batch = r.batch, .seed = seed});
      nn::Model model({.seed = seed});
      nn::Optimizer optimizer = r.optimizer();
      nn::Trainer trainer(model, optimizer,
                          [&](nn::Pass& pass, const Batch& b) {
                            const Tensor y = r.net(pass, b["x"], r.classify ? 2 : 1);
                            return r.classify ? nn::softmax_cross_entropy(y, b["y"]) : nn::mse(y, b["y"]);
                          },
                          {.epochs = 50, .trends_every = 1, .progress = false});
      const nn::History h = trainer.fit(data);
      const double first = h.epochs.front().values.at("loss"), last = h.epochs.back().values.at("loss");
      EXPECT_LT(last, 0.7 * first) << r.name << " does not learn, seed " << seed;
      for (const wp::Finding& f : heard.told) ADD_FAILURE() << r.name << ", seed " << seed << ": " << f.text();
    }
}

}  // namespace
