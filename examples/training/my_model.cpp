// The document's my_model: two scopes, a histogram of what leaves each of them, and the training loop around it.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "wellposed/wellposed.hpp"

namespace nn = wp::nn;

namespace {

wp::Tensor my_model(nn::Pass& pass, const wp::Tensor& input) {
  wp::Tensor layer1_output, layer2_output;
  {
    const wp::scope here("layer1");
    layer1_output = wp::relu(input);
    wp::summary::histogram("output", layer1_output);
  }
  {
    const wp::scope here("layer2");
    layer2_output = nn::dense(pass, layer1_output, 64);
    wp::summary::histogram("output", layer2_output);
  }
  return layer2_output;
}

}  // namespace

int main() {
  // 640 rows of 32 numbers, and what a model with other weights makes of them.
  const wp::Tensor x = wp::random::Generator(1).normal({640, 32}, {.dtype = wp::f32});
  nn::Model teacher({.seed = 2});
  nn::Pass lesson(teacher);
  const wp::Dataset data({{"x", x}, {"y", my_model(lesson, x)}}, {.batch = 32, .seed = 3});

  nn::Model model({.seed = 4});
  nn::Optimizer optimizer = nn::adam({.rate = nn::cosine_decay(0.02, 200)});
  nn::Trainer trainer(
      model, optimizer,
      [](nn::Pass& pass, const wp::Batch& batch) { return nn::mse(my_model(pass, batch["x"]), batch["y"]); },
      {.epochs = 10, .summaries = "runs/my_model", .watch_every = 10, .progress = false});
  trainer.on_epoch([](const nn::EpochResult& r) {
    if (r.epoch % 3 == 0) std::printf("epoch %d: loss %.1e\n", static_cast<int>(r.epoch), r.values.at("loss"));
  });
  trainer.fit(data);

  // What TensorBoard will show, and a page for those who have none.
  const auto runs = wp::read_events("runs");
  for (const auto& [tag, series] : runs.at("my_model").histograms)
    std::cout << "histogram " << tag << ": " << series.step.size() << " steps\n";
  std::ofstream("my_model.html") << wp::events_page(runs, "my_model");
  std::cout << "Open it:  tensorboard --logdir runs   or the page my_model.html\n";
}
