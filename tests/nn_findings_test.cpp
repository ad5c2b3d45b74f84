// Triggers of the findings of models and training.
#include <gtest/gtest.h>

#include <limits>

#include "findings.hpp"
#include "small_files.hpp"

namespace wp::triggers {
namespace {

void two_layers(const char* second) {
  nn::Model model;
  nn::Pass pass(model);
  use(nn::dense(pass, ones({1, 2}), 2));
  use(nn::dense(pass, ones({1, 2}), 2, {.name = second}));
}
void set_of_shape(const Dims& shape) {
  nn::Model model({.dtype = f64});
  use(nn::Pass(model).parameter("w", {2}, nn::constant(1)));
  model.set("w", zeros(shape));
}
void loss_with(double factor) {
  nn::Model model;
  nn::Pass pass(model, true);
  const Tensor w = pass.parameter("w", {2}, nn::constant(1)), v = pass.parameter("v", {2}, nn::constant(1));
  (void)pass.gradients(factor == 0 ? sum(w) : sum(w) + sum(v));
}
void gradients(bool training) {
  nn::Model model;
  nn::Pass pass(model, training);
  (void)pass.gradients(sum(pass.parameter("w", {2}, nn::constant(1))));
}
void norm_of_rows(std::int64_t rows) {
  nn::Model model;
  nn::Pass pass(model, true);
  use(nn::batch_norm(pass, reshape(arange(rows * 3, {.dtype = f32}), {rows, 3})));
}
// The findings that tell of each batch are expected and kept quiet.
void train_on(double value) {
  nn::Model model;
  nn::Optimizer optimizer = nn::sgd();
  nn::Trainer trainer(model, optimizer,
                      [](nn::Pass& pass, const Batch& b) { return mean(square(nn::dense(pass, b.only(), 1))); },
                      {.nonfinite = "skip", .progress = false});
  const FindingHandler loud = on_finding([](const Finding&) {});
  try {
    (void)trainer.fit(Dataset({{"x", full({4, 2}, value)}}));
  } catch (...) {
    on_finding(loud);
    throw;
  }
  on_finding(loud);
}

void keep_checkpoint(rlim_t most) {
  const tests::Folder folder;
  const tests::SmallFiles full(most);
  nn::Model model;
  nn::Optimizer optimizer = nn::sgd();
  nn::Trainer trainer(model, optimizer,
                      [](nn::Pass& pass, const Batch& b) { return mean(square(nn::dense(pass, b.only(), 1))); },
                      {.checkpoint = folder.path() + "/run.safetensors", .progress = false});
  (void)trainer.fit(Dataset({{"x", ones({4, 2})}}));
}

}  // namespace

const Rows& of_models() {
  static const Rows all{
      {"WP-NNM-001", [] { two_layers("dense"); }, [] { two_layers("second"); }},
      {"WP-NNM-002", [] { set_of_shape({3}); }, [] { set_of_shape({2}); }},
      {"WP-NNM-003", [] { loss_with(0); }, [] { loss_with(1); }},
      {"WP-NNM-004", [] { gradients(false); }, [] { gradients(true); }},
      {"WP-NNM-005", [] { norm_of_rows(1); }, [] { norm_of_rows(2); }},
      {"WP-NNM-006",
       [] {
         use(nn::mse(ones({4, 1}), ones({4})));
       },
       [] { use(nn::mse(ones({4}), ones({4}))); }},
      {"WP-NNM-007", [] { train_on(std::numeric_limits<double>::quiet_NaN()); }, [] { train_on(1); }},
      {"WP-NNM-008", [] { keep_checkpoint(10); }, [] { keep_checkpoint(RLIM_INFINITY); }},
  };
  return all;
}

TEST(Findings, OfModelsEachHaveATriggerAndANeighbour) {
  expect_triggers(of_models());
}

}  // namespace wp::triggers
