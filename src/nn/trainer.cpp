#include "wellposed/trainer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"
#include "base/told.hpp"
#include "tensor/note.hpp"
#include "trace/window.hpp"
#include "wellposed/blame.hpp"
#include "wellposed/ops.hpp"
#include "wellposed/record.hpp"

namespace wp::nn {
namespace {

[[noreturn]] void refuse(std::string message, std::string advice = {}) {
  raise<ArgumentError>("WP-ARG-001", "Trainer", std::move(message), std::move(advice));
}

bool due(std::int64_t step, std::int64_t every) noexcept {
  return every > 0 && step % every == 0;
}

// Found out before the first step, not after the first hour.
void need_folder(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (const char* const path = folder.empty() ? "." : folder.c_str(); access(path, W_OK | X_OK) != 0)
    raise<FileError>("WP-FIL-001", "Trainer",
                     say("the checkpoint '", file, "' cannot be written: ", std::strerror(errno), "."),
                     "Make the folder first, or choose another.");
}

std::uint64_t checksum(const std::vector<std::int64_t>& rows) noexcept {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const std::int64_t r : rows) h = (h ^ static_cast<std::uint64_t>(r)) * 0x100000001b3U;
  return h;
}

NamedTensors values_of(const Model& model) {
  NamedTensors out;
  for (const Parameter& p : model.parameters()) out.emplace_back(p.name, p.value);
  return out;
}

std::string line_of(const EpochResult& r, std::int64_t epochs) {
  std::string out = say("epoch ", r.epoch + 1, '/', epochs);
  char separator = ':';
  for (const auto& [name, value] : r.values) {
    out += say(std::exchange(separator, ','), ' ', name, ' ', static_cast<float>(value));
  }
  return out + " (" + duration_text(r.seconds) + ")\n";
}

}  // namespace

Trainer::Trainer(Model& model, Optimizer& optimizer, BatchFunction loss, const TrainerOptions& options)
    : model_(model), optimizer_(optimizer), loss_(std::move(loss)), options_(options) {
  if (!loss_) refuse("there is no loss.");
  if (options.nonfinite != "stop" && options.nonfinite != "skip")
    refuse(say("nonfinite must be one of 'stop', 'skip'; got '", options.nonfinite, "'."));
  for (const auto& [name, value] : {std::pair("epochs", options.epochs),
                                    {"checkpoint_every", options.checkpoint_every},
                                    {"log_every", options.log_every},
                                    {"watch_every", options.watch_every},
                                    {"watch_values", options.watch_values},
                                    {"trends_every", options.trends_every}})
    if (value < 0) refuse(say(name, " must not be negative; got ", value, "."));
  if (options.early_stop && options.early_stop->patience < 1)
    refuse(say("the patience of early_stop must be at least 1; got ", options.early_stop->patience, "."));
  if (options.early_stop && !(options.early_stop->least >= 0))
    refuse(say("the least of early_stop must not be negative; got ", options.early_stop->least, "."));
  if (options.watch_every > 0 && options.summaries.empty())
    refuse(say("watch_every = ", options.watch_every, " logs to the folder `summaries`, which is not given."),
           "Give summaries = \"runs/1\", or leave watch_every out.");
  if (!options.checkpoint.empty() && !options.checkpoint.ends_with(".safetensors"))
    refuse(say("a checkpoint is a .safetensors file; got '", options.checkpoint, "'."));
  if (!options.summaries.empty()) writer_.emplace(options.summaries);
}
Trainer::~Trainer() = default;

void Trainer::metric(std::string name, BatchFunction f) {
  metrics_.emplace_back(std::move(name), std::move(f));
}
void Trainer::on_step(std::function<void(const StepView&)> hook) {
  step_hooks_.push_back(std::move(hook));
}
void Trainer::on_epoch(std::function<void(const EpochResult&)> hook) {
  epoch_hooks_.push_back(std::move(hook));
}

void Trainer::update(const Batch& batch) {
  const std::int64_t now = at_.step;
  Pass pass(model_, true);
  const Tensor loss = [&] {
    const detail::Restore<&Context::summaries> restore;
    if (writer_) context().summaries = due(now, options_.log_every) ? &*writer_ : nullptr;
    return loss_(pass, batch);
  }();
  escape(loss, "loss", Counts::made_and_given, where_);
  const std::vector<Tensor> gradients = pass.gradients(loss, where_);
  const bool trends = due(now, options_.trends_every);
  const std::vector<Parameter> before = trends ? model_.parameters() : std::vector<Parameter>();
  const double rate = optimizer_.rate();
  optimizer_.apply(model_, gradients, where_);
  pass.commit();
  last_loss_ = value_at(loss, 0).real();
  if (trends) see_trends(before, gradients, pass);
  if (writer_) log_step(gradients, pass, rate);
  for (const auto& hook : step_hooks_) hook({at_.step, at_.epoch, batch, last_loss_, rate, gradients, pass.seen()});
}

// The same step on copies, so that blame finds its calls: nothing is kept of steps that go well.
void Trainer::rehearse(const Batch& batch, const random::State& begin) const {
  const detail::Restore<&Context::summaries> restore;
  context().summaries = nullptr;
  Model model = model_;
  Optimizer optimizer = optimizer_;
  model.random().set_state(begin);
  Pass pass(model, true);
  const Tensor loss = loss_(pass, batch);
  escape(loss, "loss", Counts::made_and_given, where_);
  const std::vector<Tensor> gradients = pass.gradients(loss, where_);
  optimizer.apply(model, gradients, where_);
}

bool Trainer::step(const Batch& batch, Where where) {
  where_ = where;
  set_step(at_.step);
  logged_at_ = at_.step;
  const random::State begin = model_.random().state();
  std::optional<Trace> trace;
  const auto run = [&] {
    try {
      update(batch);
    } catch (const NonFiniteError&) {
      trace.emplace();
      rehearse(batch, begin);
      throw;
    }
  };
  bool done = true;
  if (options_.nonfinite == "skip") {
    done = guard_.attempt(run, where_);
  } else {
    try {
      run();
    } catch (const NonFiniteError& e) {
      Finding f = e.finding();
      f.message += say("\n  Training stops at step ", at_.step, ". ", blame(e).text());
      if (writer_) log_finding(f);
      throw NonFiniteError(std::move(f), e.subject());
    }
  }
  ++at_.step;
  return done;
}

void Trainer::log_finding(const Finding& f) {
  if (f.severity == Severity::note) return;
  {
    const std::lock_guard lock(logging_);  // not while it is written: that may be a finding too
    if (!logged_.insert(say(f.code, ' ', f.op, ' ', f.place.text())).second) return;
  }
  writer_->text("findings", f.text(), {logged_at_, false});
}

// A full disk costs the checkpoint, not the training.
void Trainer::keep_checkpoint() {
  try {
    save_checkpoint(options_.checkpoint);
    told_checkpoint_ = false;
  } catch (const FileError& e) {
    if (std::exchange(told_checkpoint_, true)) return;
    report({.code = "WP-NNM-008",
            .op = "Trainer",
            .message = say("the checkpoint of step ", at_.step, " is lost: ", e.finding().message,
                           " Training goes on; what was written before is still there."),
            .advice = "Make room on the disk: it is tried again at the next checkpoint.",
            .place = where_,
            .step = at_.step});
  }
}

void Trainer::log_step(const std::vector<Tensor>& gradients, const Pass& pass, double rate) {
  const SummaryAt at{at_.step, false};
  if (due(at_.step, options_.log_every)) {
    writer_->scalar("loss", last_loss_, at);
    writer_->scalar("rate", rate, at);
  }
  if (!due(at_.step, options_.watch_every)) return;
  const HistogramAt some{at_.step, false, 30, options_.watch_values};
  for (const auto& [name, value] : pass.seen()) writer_->histogram(name, value, some);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& p = model_.parameters()[i];
    writer_->histogram(p.name, p.value, some);
    if (gradients[i].defined()) writer_->histogram(p.name + "/gradient", gradients[i], some);
  }
}

void Trainer::see_trends(const std::vector<Parameter>& before, const std::vector<Tensor>& gradients,
                         const Pass& pass) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const Parameter& p = model_.parameters()[i];
    const Tensor change = [&] {
      const trace::Aside aside;
      return subtract(p.value, before[i].value);
    }();
    trends_.see(p.name, p.value, gradients[i], change);
  }
  for (const auto& [name, value] : pass.seen()) trends_.see_units(name, value);
}

std::map<std::string, double> Trainer::evaluate(const Dataset& data) {
  const detail::Restore<&Context::summaries> restore;
  context().summaries = nullptr;
  std::map<std::string, double> sums;
  double rows = 0;
  for (const Batch& batch : data.epoch(0)) {
    const auto n = static_cast<double>(batch.rows.size());
    const auto add = [&](const std::string& name, const BatchFunction& f) {
      Pass pass(model_);
      const Tensor value = f(pass, batch);
      if (value.size() != 1)
        raise<ShapeError>("WP-SHP-005", "Trainer", say("'", name, "' must be one number; got ", value.shape(), "."));
      sums[name] += n * value_at(value, 0).real();
    };
    add("loss", loss_);
    for (const auto& [name, f] : metrics_) add(name, f);
    rows += n;
  }
  for (auto& [name, value] : sums) value /= rows;
  return sums;
}

void Trainer::check_order(const Dataset& data) const {
  if (at_.order_epoch < 0) return;
  Batch first;
  wp::Epoch epoch = data.epoch(at_.order_epoch);
  if (!epoch.next(first) || checksum(first.rows) != at_.order || at_.batch > data.batches())
    raise<FormatError>(
        "WP-NNM-002", "Trainer",
        say("'", options_.checkpoint, "' was written with other data: the rows of the first batch differ."),
        "Use the same rows, batch and seed, or another file.");
}

bool Trainer::run_epoch(const Dataset& data, Progress* progress) {
  wp::Epoch epoch = data.epoch(at_.epoch);
  Batch batch;
  for (std::int64_t k = 0; k < at_.batch; ++k) (void)epoch.next(batch);
  bool any = at_.rows > 0;
  while (epoch.next(batch)) {
    if (batch.number == 0) {
      at_.order = checksum(batch.rows);
      at_.order_epoch = at_.epoch;
    }
    if (step(batch, where_)) {
      at_.sum += last_loss_ * static_cast<double>(batch.rows.size());
      at_.rows += static_cast<std::int64_t>(batch.rows.size());
      any = true;
    }
    ++at_.batch;
    if (!options_.checkpoint.empty() && due(at_.step, options_.checkpoint_every)) keep_checkpoint();
    if (progress) progress->add();
  }
  return any;
}

bool Trainer::better(double value) const noexcept {
  if (std::isnan(value)) return false;
  const EarlyStop& e = *options_.early_stop;
  return best_.empty() || (e.larger ? value > at_.best + e.least : value < at_.best - e.least);
}

// Metrics, and whether to stop; the position goes to the next epoch.
bool Trainer::end_epoch(const std::optional<Dataset>& validation, EpochResult& result) {
  result.epoch = at_.epoch;
  result.values["loss"] = at_.sum / static_cast<double>(at_.rows);
  if (validation)
    for (const auto& [name, value] : evaluate(*validation)) result.values["validation/" + name] = value;
  if (writer_)
    for (const auto& [name, value] : result.values) writer_->scalar("epoch/" + name, value, {at_.step - 1, false});
  ++at_.epoch;
  at_.batch = at_.rows = 0;
  at_.sum = 0;
  if (!options_.early_stop) return false;
  const std::string name = (validation ? "validation/" : "") + options_.early_stop->metric;
  const auto watched = result.values.find(name);
  if (watched == result.values.end())
    refuse(say("early_stop watches '", name, "', which is not measured."),
           "Give its name to metric(), or use 'loss'.");
  if (better(watched->second)) {
    at_.best = watched->second;
    at_.waited = 0;
    best_ = values_of(model_);
  } else {
    ++at_.waited;
  }
  return at_.waited >= options_.early_stop->patience;
}

History Trainer::fit(const Dataset& data, const std::optional<Dataset>& validation, Where where) {
  where_ = where;
  if (data.batches() == 0)
    refuse(say("the data set has no batch: ", plural(data.rows(), "row"), "."),
           data.rows() > 0 ? "Its batches have more rows, and drop_last drops them: use smaller batches." : "");
  if (validation && validation->batches() == 0) refuse("the validation data set has no batch.");
  const detail::Restore<&Context::step> step_before;
  std::optional<wp::checks> level;
  if (options_.checks) level.emplace(*options_.checks);
  std::optional<Recorder> recorder;
  if (!options_.record.empty()) recorder.emplace(options_.record);
  std::optional<AlsoTold> told;
  if (writer_) told.emplace([this](const Finding& f) { log_finding(f); });
  if (!options_.checkpoint.empty()) {
    if (std::filesystem::exists(options_.checkpoint)) {
      load_checkpoint(options_.checkpoint);
      check_order(data);
    } else {
      need_folder(options_.checkpoint);
    }
  }
  const ProgressOutput output = options_.output ? *options_.output : ProgressOutput::standard();
  std::optional<Progress> progress;
  if (options_.progress)
    progress.emplace("training", (options_.epochs - at_.epoch) * data.batches() - at_.batch, "steps", output);
  History history;
  const std::int64_t refused = guard_.refused();
  double last_line = -1;
  bool stop = options_.early_stop && at_.waited >= options_.early_stop->patience;
  while (!stop && at_.epoch < options_.epochs) {
    const double begin = output.seconds();
    if (!run_epoch(data, progress ? &*progress : nullptr))
      raise<NonFiniteError>("WP-NNM-007", "Trainer", say("every batch of epoch ", at_.epoch, " was left out."),
                            "The findings WP-TRD-005 say why.");
    EpochResult result;
    stop = end_epoch(validation, result);
    result.seconds = output.seconds() - begin;
    if (!options_.checkpoint.empty() && (options_.checkpoint_every == 0 || stop || at_.epoch == options_.epochs))
      keep_checkpoint();
    for (const auto& hook : epoch_hooks_) hook(result);
    const bool last = stop || at_.epoch == options_.epochs;
    if (options_.progress && (last || output.seconds() - last_line >= 1)) {
      output.write((output.tty ? "\r\x1b[K" : "") + line_of(result, options_.epochs));
      last_line = output.seconds();
    }
    history.epochs.push_back(std::move(result));
  }
  if (options_.early_stop && !best_.empty())
    for (const auto& [name, value] : best_) model_.set(name, value);
  if (writer_) writer_->flush();
  history.steps = at_.step;
  history.skipped = guard_.refused() - refused;
  history.stopped_early = stop;
  return history;
}

}  // namespace wp::nn
