// The loop around a model: epochs, metrics, early stop, checkpoints that resume to the same bits, and logs.
//   wp::nn::Trainer trainer(model, optimizer, [](wp::nn::Pass& pass, const wp::Batch& b) {
//     return wp::nn::mse(my_model(pass, b["x"]), b["y"]);
//   }, {.epochs = 20, .checkpoint = "run.safetensors", .summaries = "runs/1", .watch_every = 10});
//   trainer.fit(train, validation);
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "wellposed/dataset.hpp"
#include "wellposed/nn.hpp"
#include "wellposed/progress.hpp"
#include "wellposed/summary.hpp"
#include "wellposed/trends.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace nn {

// The loss of a batch, or a number that says how good the model is; means of rows.
using BatchFunction = std::function<Tensor(Pass& pass, const Batch& batch)>;

struct EarlyStop {
  std::string metric = "loss";  // of the validation data if there are any ("loss", or a metric's name), else the loss
  std::int64_t patience = 3;    // epochs without a better value, at least 1; NaN is no better one
  double least = 0;             // better: by more than this
  bool larger = false;          // larger values are better
};

struct TrainerOptions {
  std::int64_t epochs = 1;
  std::optional<EarlyStop> early_stop = std::nullopt;  // ends with the parameters of the best epoch
  // A loss, gradient or update that is Inf or NaN. stop: NonFiniteError with the way back to its source. skip: the
  // batch is left out, the weights stay as they were, and WP-TRD-005 tells the same.
  std::string nonfinite = "stop";

  // A .safetensors file; fit goes on from it if it is there. One that cannot be written (a full disk) is told by
  // WP-NNM-008, and training goes on.
  std::string checkpoint = {};
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end of every epoch

  // A folder for event files. Findings that are told during fit, and what stops it, are texts there ("findings").
  std::string summaries = {};
  std::int64_t log_every = 1;  // steps: loss, learning rate, and what the model gives to summary::histogram, …
  std::int64_t watch_every =
      0;  // steps: activations, weights and gradients of the whole model, to `summaries`; 0: never
  std::int64_t watch_values = 2048;  // of each tensor that are counted, evenly spaced
  std::int64_t trends_every = 0;     // steps that Trends are told of; 0: none

  std::string record = {};                          // a file for the flight recorder
  std::optional<CheckLevel> checks = std::nullopt;  // none: as around fit
  bool progress = true;                             // a bar on a terminal, a line per epoch (at most one per second)
  std::optional<ProgressOutput> output = std::nullopt;  // none: stderr
};

// What hooks see after a step.
struct StepView {
  std::int64_t step, epoch;  // both count from 0
  const Batch& batch;
  double loss, rate;
  const std::vector<Tensor>& gradients;  // one per parameter of the model
  const NamedTensors& activations;
};
struct EpochResult {
  std::int64_t epoch = 0;
  double seconds = 0;
  std::map<std::string, double> values;  // loss, validation/loss, validation/METRIC: means over rows
};
struct History {
  std::vector<EpochResult> epochs;  // of this call
  std::int64_t steps = 0;           // of the whole training, also before a checkpoint
  std::int64_t skipped = 0;         // batches left out by this call
  bool stopped_early = false;
};

// The model and the optimizer must outlive it. Steps set wp::set_step.
class Trainer {
 public:
  Trainer(Model& model, Optimizer& optimizer, BatchFunction loss, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void metric(std::string name, BatchFunction f);  // of the validation data
  void on_step(std::function<void(const StepView&)> hook);
  void on_epoch(std::function<void(const EpochResult&)> hook);

  // Throws ArgumentError for data without a batch (no rows; drop_last and fewer rows than a batch), FormatError for a
  // checkpoint of another model, optimizer or order of data. A batch larger than the data is the data.
  History fit(const Dataset& data, const std::optional<Dataset>& validation = std::nullopt,
              Where where = Where::current());
  // Means over the rows, in evaluation passes: loss and metrics. NaN does not raise.
  std::map<std::string, double> evaluate(const Dataset& data);
  // One update; false: the batch was left out.
  bool step(const Batch& batch, Where where = Where::current());
  double loss() const noexcept { return last_loss_; }  // of the last step

  const Trends& trends() const noexcept { return trends_; }
  SummaryWriter* summaries() noexcept { return writer_ ? &*writer_ : nullptr; }

  // Model, optimizer, random numbers and the place in the data: the whole file or the one before.
  void save_checkpoint(const std::string& path) const;
  void load_checkpoint(const std::string& path);

 private:
  void update(const Batch& batch);
  void rehearse(const Batch& batch, const random::State& begin) const;
  void log_finding(const Finding& finding);
  void keep_checkpoint();
  void log_step(const std::vector<Tensor>& gradients, const Pass& pass, double rate);
  void see_trends(const std::vector<Parameter>& before, const std::vector<Tensor>& gradients, const Pass& pass);
  bool run_epoch(const Dataset& data, Progress* progress);
  bool end_epoch(const std::optional<Dataset>& validation, EpochResult& result);
  bool better(double value) const noexcept;
  void check_order(const Dataset& data) const;

  Model& model_;
  Optimizer& optimizer_;
  const BatchFunction loss_;
  const TrainerOptions options_;
  std::vector<std::pair<std::string, BatchFunction>> metrics_;
  std::vector<std::function<void(const StepView&)>> step_hooks_;
  std::vector<std::function<void(const EpochResult&)>> epoch_hooks_;
  std::optional<SummaryWriter> writer_;
  Trends trends_;
  GradientGuard guard_;
  Where where_;  // who trains

  // What a checkpoint holds beside model and optimizer.
  struct Position {
    std::int64_t step = 0, epoch = 0, batch = 0;  // done
    double sum = 0;                               // of loss · rows in this epoch
    std::int64_t rows = 0;
    std::int64_t order_epoch = -1;  // an epoch, and a checksum of the rows of its first batch
    std::uint64_t order = 0;
    double best = 0;
    std::int64_t waited = 0;  // epochs since the best one, or since the first if none had a value
  } at_;
  NamedTensors best_;  // parameters of the best epoch; empty: there is none
  double last_loss_ = 0;
  // Findings are told by any thread, the log's writer among them.
  std::mutex logging_;
  std::set<std::string> logged_;            // "code op place": each once
  std::atomic<std::int64_t> logged_at_{0};  // the step
  bool told_checkpoint_ = false;            // that it cannot be written
};

}  // namespace nn
}  // namespace gnu::visibility("default")]]wp
