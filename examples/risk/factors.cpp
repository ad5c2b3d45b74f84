// A small risk model: returns of 20 assets from 5 factors. One row is bad, and one factor says what two others say.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "wellposed/wellposed.hpp"

namespace nn = wp::nn;
namespace linalg = wp::linalg;

namespace {

const std::vector<std::string> kFactors{"market", "size", "value", "momentum", "growth"};

// 500 days: growth is market minus value, up to rounding; on day 317 somebody wrote percents.
wp::NamedTensors history() {
  wp::random::Generator g(11);
  const wp::Tensor free = g.normal({500, 4}, {.std = 0.01});
  const wp::Tensor growth = free[{wp::slice(), wp::slice(0, 1)}] - free[{wp::slice(), wp::slice(2, 3)}];
  wp::Tensor factors = wp::concat({free, growth}, {.axis = 1});
  const wp::Tensor exposure = g.normal({5, 20});
  const wp::Tensor returns = wp::matmul(factors, exposure) + g.normal({500, 20}, {.std = 0.002});
  factors[{317, 3}] = -1.7;
  return {{"factors", factors}, {"returns", returns}};
}

wp::Tensor predicted(nn::Pass& pass, const wp::Tensor& factors) {
  const wp::scope here("exposures");
  return nn::dense(pass, factors, 20, {.bias = false});
}

}  // namespace

int main() {
  // 1. At the door: which rows are no returns?
  wp::NamedTensors data = history();
  wp::Schema schema;
  schema.tensor("factors").finite().range(-0.5, 0.5);
  schema.tensor("returns").finite().range(-0.5, 0.5);
  const wp::Report report = wp::validate(data, schema);
  std::cout << report.findings()[0].message << "\n";
  std::int64_t bad = -1;
  for (const wp::RuleReport& rule : report.rules)
    if (!rule.holds) bad = rule.first[0].row;
  for (auto& [name, values] : data)
    values = wp::concat({values[{wp::slice(0, bad)}], values[{wp::slice(bad + 1, wp::none)}]}, {.axis = 0});

  // 2. Are the factors different things? The diagnosis of their covariance says which are not.
  wp::SummaryWriter log("runs/risk");
  log.text("findings/validation", report.text(), {.step = 0});
  const wp::Tensor covariance = linalg::covariance(data[0].second);
  const auto [inverse, diagnosis] = linalg::diagnosed::inv(covariance, {.names = kFactors});
  const std::string words = "the covariance of the factors " + diagnosis[0].message;
  std::cout << words << "\n";
  log.diagnosis("factors", diagnosis, {.step = 0});
  log.text("findings/diagnosis", words, {.step = 0});
  log.close();
  data[0].second = data[0].second[{wp::slice(), wp::slice(0, 4)}];  // without growth
  std::printf("without growth: condition %.1f\n",
              linalg::diagnosed::inv(linalg::covariance(data[0].second)).diagnosis[0].cond);

  // 3. Training, with histograms of exposures, their gradients and the predictions.
  const auto [train, validation] =
      wp::Dataset({{"factors", data[0].second * 100.0}, {"returns", data[1].second * 100.0}},
                  {.batch = 50, .seed = 5})
          .split(0.2);
  nn::Model model({.seed = 1, .dtype = wp::f64});
  nn::Optimizer optimizer = nn::adam({.rate = 0.05});
  nn::Trainer trainer(
      model, optimizer,
      [](nn::Pass& pass, const wp::Batch& b) { return nn::huber(predicted(pass, b["factors"]), b["returns"]); },
      {.epochs = 100,
       .early_stop = nn::EarlyStop{.patience = 3},
       .summaries = "runs/risk",
       .watch_every = 20,
       .progress = false});
  const nn::History done = trainer.fit(train, validation);
  std::printf("%zu epochs, validation loss %.4f (noise alone: about 0.020)\n", done.epochs.size(),
              trainer.evaluate(validation).at("loss"));

  // 4. One page shows the report, the spectrum, the curves and the histograms.
  std::ofstream("risk.html") << wp::events_page(wp::read_events("runs"), "risk model");
  std::cout << "Open it:  tensorboard --logdir runs   or the page risk.html\n";
}
