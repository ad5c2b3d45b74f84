#include "wellposed/trainer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "files.hpp"
#include "listening.hpp"
#include "small_files.hpp"

namespace {

using namespace wp;

// y = 2 x₀ − x₁ + 1 with a little noise.
NamedTensors line(std::int64_t rows, std::uint64_t seed = 5) {
  random::Generator g(seed);
  const Tensor x = g.normal({rows, 2}, {.dtype = f32});
  const Tensor y = matmul(x, Tensor{{2.0F}, {-1.0F}}) + 1.0F + g.normal({rows, 1}, {.std = 0.01, .dtype = f32});
  return {{"x", x}, {"y", y}};
}
NamedTensors with_bad_row() {
  NamedTensors d = line(100);
  d[0].second[{61, 1}] = std::numeric_limits<float>::quiet_NaN();
  return d;
}
Tensor net(nn::Pass& pass, const Tensor& x) {
  Tensor h;
  {
    const scope here("layer1");
    h = nn::dropout(pass, nn::batch_norm(pass, nn::dense(pass, x, 8, {.activation = "relu"})), 0.2);
  }
  const scope here("layer2");
  return nn::dense(pass, h, 1);
}
Tensor loss_of(nn::Pass& pass, const Batch& b) {
  return nn::mse(net(pass, b["x"]), b["y"]);
}
Tensor linear_loss(nn::Pass& pass, const Batch& b) {
  return nn::mse(nn::dense(pass, b["x"], 1), b["y"]);
}

// One training from its parts, quiet.
struct Job {
  nn::Model model{{.seed = 3}};
  nn::Optimizer optimizer;
  nn::Trainer trainer;
  explicit Job(nn::TrainerOptions options, nn::Optimizer o = nn::adam({.rate = 0.01}), nn::BatchFunction f = loss_of)
      : optimizer(std::move(o)), trainer(model, optimizer, std::move(f), quiet(std::move(options))) {}
  static nn::TrainerOptions quiet(nn::TrainerOptions o) {
    if (!o.output) o.progress = false;
    return o;
  }
};
std::map<std::string, std::vector<float>> weights(const nn::Model& m) {
  std::map<std::string, std::vector<float>> out;
  for (const nn::Parameter& p : m.parameters()) out[p.name] = reshape(p.value, {-1}).to_vector<float>();
  return out;
}

class Training : public Files {
 protected:
  const Dataset data_{line(100), {.batch = 16, .seed = 9}};
};

TEST_F(Training, FindsTheLineThatTheDataLieOn) {
  Job run({.epochs = 60}, nn::sgd({.rate = 0.05, .momentum = 0.9}), linear_loss);
  const nn::History h = run.trainer.fit(data_);
  EXPECT_EQ(h.steps, 60 * 7);
  ASSERT_EQ(h.epochs.size(), 60U);
  EXPECT_LT(h.epochs.back().values.at("loss"), 3e-4);
  const std::vector<float> w = weights(run.model)["dense/weights"];
  EXPECT_NEAR(w[0], 2, 0.02);
  EXPECT_NEAR(w[1], -1, 0.02);
  EXPECT_NEAR(run.model["dense/bias"].item<float>(), 1, 0.02);
}
TEST_F(Training, IsTheHandWrittenLoopBitForBit) {
  Job run({.epochs = 2});
  (void)run.trainer.fit(data_);
  nn::Model model({.seed = 3});
  nn::Optimizer optimizer = nn::adam({.rate = 0.01});
  for (int e = 0; e < 2; ++e)
    for (const Batch& b : data_.epoch(e)) {
      nn::Pass pass(model, true);
      optimizer.step(pass, loss_of(pass, b));
    }
  EXPECT_EQ(weights(run.model), weights(model));
}

TEST_F(Training, AKilledRunResumesToTheSameBits) {
  Job whole({.epochs = 5});
  const nn::History h = whole.trainer.fit(data_);
  for (const std::int64_t killed_at : {0, 1, 6, 7, 17, 30}) {
    const std::string file = path("run-" + std::to_string(killed_at) + ".safetensors");
    const nn::TrainerOptions options{.epochs = 5, .checkpoint = file, .checkpoint_every = 3};
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Job run(options);
      run.trainer.on_step([&](const nn::StepView& s) {
        if (s.step == killed_at) std::raise(SIGKILL);
      });
      (void)run.trainer.fit(data_);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(fs::exists(file), killed_at >= 3);
    Job resumed(options);
    const nn::History rest = resumed.trainer.fit(data_);
    EXPECT_EQ(weights(resumed.model), weights(whole.model)) << killed_at;
    EXPECT_EQ(resumed.model.random().state(), whole.model.random().state());
    EXPECT_EQ(rest.steps, h.steps);
    EXPECT_EQ(rest.epochs.back().values, h.epochs.back().values) << "the mean of an epoch that was cut in two";
  }
}
TEST_F(Training, GoesOnWhenTheDiskIsFullAndEachLossIsToldOnce) {
  Job whole({.epochs = 5});
  (void)whole.trainer.fit(data_);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const tests::Listening heard;
    const tests::SmallFiles full(1500);
    std::map<std::string, int> told;
    bool same = false;
    {
      Job run({.epochs = 5, .checkpoint = path("run.safetensors"), .checkpoint_every = 1, .summaries = path("runs")});
      (void)run.trainer.fit(data_);
      same = weights(run.model) == weights(whole.model);
    }
    for (const Finding& f : heard.told) ++told[f.code];
    _exit(same && told == std::map<std::string, int>{{"WP-NNM-008", 1}, {"WP-SUM-002", 1}} ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const Events log = read_events(path("runs")).at("");
  EXPECT_EQ(log.damage.size(), 0U);
  EXPECT_GT(log.scalars.at("loss").step.size(), 3U);
}
TEST_F(Training, ACheckpointWithoutAFolderIsRefusedBeforeTheFirstStep) {
  Job run({.checkpoint = path("none/run.safetensors")});
  try {
    (void)run.trainer.fit(data_);
    FAIL();
  } catch (const FileError& e) {
    EXPECT_SAYS(std::string(e.what()), "No such file or directory");
  }
  EXPECT_TRUE(run.model.parameters().empty());
}
TEST_F(Training, FindingsAndWhatStopsItAreInTheLog) {
  const tests::Listening heard;
  {
    Job run({.epochs = 2, .summaries = path("runs")}, nn::adam({.rate = 0.01}), [](nn::Pass& pass, const Batch& b) {
      (void)pass.parameter("idle", {2}, nn::constant(0));
      return linear_loss(pass, b);
    });
    EXPECT_THROW(run.trainer.fit(Dataset(with_bad_row(), {.batch = 16, .seed = 9})), NonFiniteError);
  }
  report({.code = "WP-NNM-003", .op = "after", .message = "the training is over"});
  const auto runs = read_events(path("runs"));
  const std::vector<std::string>& texts = runs.at("").texts.at("findings").value;
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_SAYS(texts[0], "WP-NNM-003");
  EXPECT_SAYS(texts[0], "'idle'");
  EXPECT_SAYS(texts[1], "x row 61, column 1 = nan");
  const std::string page = events_page(runs, "run");
  EXPECT_LT(page.find("x row 61, column 1 = nan"), page.find("<svg")) << "findings stand before the curves";
}
TEST_F(Training, ARunThatIsDoneStaysDone) {
  const nn::TrainerOptions options{.epochs = 2, .checkpoint = path("run.safetensors")};
  Job first(options), second(options), longer({.epochs = 3, .checkpoint = path("run.safetensors")});
  (void)first.trainer.fit(data_);
  EXPECT_TRUE(second.trainer.fit(data_).epochs.empty());
  EXPECT_EQ(weights(second.model), weights(first.model));
  EXPECT_EQ(longer.trainer.fit(data_).epochs.size(), 1U);
  EXPECT_EQ(files(), 1U);
}
TEST_F(Training, CheckpointsOfOthersAreRefused) {
  const nn::TrainerOptions options{.epochs = 1, .checkpoint = path("run.safetensors")};
  Job run(options);
  (void)run.trainer.fit(data_);
  const auto why = [&](Job& other, const Dataset& data) -> std::string {
    try {
      (void)other.trainer.fit(data);
    } catch (const FormatError& e) {
      return e.what();
    }
    return "no error";
  };
  Job optimizer(options, nn::sgd());
  EXPECT_SAYS(why(optimizer, data_), "the optimizer adam, this is sgd");
  Job data(options);
  EXPECT_SAYS(why(data, Dataset(line(100), {.batch = 16, .seed = 10})), "other data");
  Job built(options, nn::adam(), linear_loss);
  {
    nn::Pass pass(built.model);
    (void)nn::dense(pass, ones({1, 2}), 1);
  }
  EXPECT_SAYS(why(built, data_), "'layer1/dense/weights' is in the file, not in the model");
  Job lazy(options, nn::adam(), linear_loss);  // finds out when it asks for a parameter
  lazy.trainer.load_checkpoint(options.checkpoint);
  Batch b;
  wp::Epoch epoch = data_.epoch(0);
  ASSERT_TRUE(epoch.next(b));
  EXPECT_THROW(lazy.trainer.step(b), FormatError);
  run.model.save(path("model.safetensors"));
  Job plain({.checkpoint = path("model.safetensors")});
  EXPECT_SAYS(why(plain, data_), "it says nothing of a training");
}

TEST_F(Training, StopsEarlyWithTheBestParameters) {
  // Training data that say the opposite of the validation data: each epoch makes it worse.
  NamedTensors other = line(40, 6);
  other[1].second = -other[1].second;
  Job run({.epochs = 50, .early_stop = nn::EarlyStop{.patience = 2}}, nn::sgd({.rate = 0.01}), linear_loss);
  std::vector<std::map<std::string, std::vector<float>>> after;
  run.trainer.on_epoch([&](const nn::EpochResult&) { after.push_back(weights(run.model)); });
  const nn::History h = run.trainer.fit(data_, Dataset(other, {.batch = 10}));
  EXPECT_TRUE(h.stopped_early);
  std::size_t best = 0;
  for (std::size_t k = 1; k < h.epochs.size(); ++k)
    if (h.epochs[k].values.at("validation/loss") < h.epochs[best].values.at("validation/loss")) best = k;
  ASSERT_EQ(h.epochs.size(), best + 3);
  EXPECT_EQ(weights(run.model), after[best]);
}
TEST_F(Training, StopsEarlyAlsoWhenNoEpochHadAValue) {
  Job run({.epochs = 50, .early_stop = nn::EarlyStop{.metric = "bad", .patience = 3}}, nn::sgd(), linear_loss);
  run.trainer.metric("bad", [](nn::Pass&, const Batch&) { return Tensor(std::nan("")); });
  const nn::History h = run.trainer.fit(data_, data_);
  EXPECT_TRUE(h.stopped_early);
  EXPECT_EQ(h.epochs.size(), 3U);
}
TEST_F(Training, CheckpointsWithWordsThatAreNoNumbersAreRefusedAndChangeNothing) {
  const std::string good = path("run.safetensors"), bad = path("bad.safetensors");
  Job run({.epochs = 1, .checkpoint = good});
  (void)run.trainer.fit(data_);
  const NamedTensors arrays = load_all(good);
  const auto why = [&](const std::string& key, const std::optional<std::string>& text) -> std::string {
    SaveOptions options;
    for (const auto& [k, v] : load_metadata(good))
      if (k != key || text) options.metadata.emplace_back(k, k == key ? *text : v);
    save_all(bad, arrays, options);
    Job other({});
    try {
      other.trainer.load_checkpoint(bad);
    } catch (const FormatError& e) {
      EXPECT_TRUE(other.model.parameters().empty());
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(why("step", "7"), "no error");
  EXPECT_SAYS(why("step", "abc"), "its 'step' must be a number from 0 on; got 'abc'");
  EXPECT_SAYS(why("batch", "-1"), "got '-1'");
  EXPECT_SAYS(why("epoch", "1 "), "got '1 '");
  EXPECT_SAYS(why("sum", ""), "its 'sum' must be a number");
  EXPECT_SAYS(why("optimizer.steps", "1e3"), "got '1e3'");
  EXPECT_SAYS(why("random.counter", std::nullopt), "it has no 'random.counter'");
}
TEST_F(Training, AMetricThatIsNotMeasuredCannotStopIt) {
  Job run({.early_stop = nn::EarlyStop{.metric = "accuracy"}});
  EXPECT_THROW(run.trainer.fit(data_), ArgumentError);
}
TEST_F(Training, MetricsAreMeansOverRowsOfTheValidationData) {
  Job run({});
  run.trainer.metric("mean of x0", [](nn::Pass& pass, const Batch& b) {
    EXPECT_FALSE(pass.training());
    return mean(b["x"][{slice(), 0}]);
  });
  const NamedTensors d = line(37);
  const nn::History h = run.trainer.fit(data_, Dataset(d, {.batch = 10}));
  EXPECT_NEAR(h.epochs[0].values.at("validation/mean of x0"), mean(d[0].second[{slice(), 0}]).item<float>(), 1e-6);
}

TEST_F(Training, ABadRowStopsItWithItsNumberAndColumn) {
  Job run({.epochs = 3});
  try {
    (void)run.trainer.fit(Dataset(with_bad_row(), {.batch = 16, .seed = 9}));
    FAIL();
  } catch (const NonFiniteError& e) {
    EXPECT_SAYS(std::string(e.what()), "Training stops at step");
    EXPECT_SAYS(std::string(e.what()), "x row 61, column 1 = nan");
  }
  for (const auto& [name, values] : weights(run.model))
    for (const float v : values) EXPECT_TRUE(std::isfinite(v)) << name;
}
TEST_F(Training, ABadRowIsLeftOutWithItsBatchOnRequest) {
  const tests::Listening heard;
  Job run({.epochs = 2, .nonfinite = "skip"});
  const nn::History h = run.trainer.fit(Dataset(with_bad_row(), {.batch = 16, .seed = 9}));
  EXPECT_EQ(h.skipped, 2);
  EXPECT_EQ(h.steps, 14);
  ASSERT_EQ(heard.told.size(), 2U);
  EXPECT_EQ(heard.told[0].code, "WP-TRD-005");
  EXPECT_SAYS(heard.told[0].message, "x row 61, column 1 = nan");
  for (const auto& [name, values] : weights(run.model))
    for (const float v : values) EXPECT_TRUE(std::isfinite(v)) << name << ": running statistics too";
}
TEST_F(Training, AParameterThatIsInfiniteIsBlamedByName) {
  Job run({}, nn::adam(), linear_loss);
  (void)run.trainer.fit(data_);
  run.model.set("dense/bias", full({1}, std::numeric_limits<float>::infinity(), {.dtype = f32}));
  nn::Optimizer o = nn::adam();
  nn::Trainer again(run.model, o, linear_loss, {.progress = false});
  try {
    (void)again.fit(data_);
    FAIL();
  } catch (const NonFiniteError& e) {
    EXPECT_SAYS(std::string(e.what()), "dense/bias");
    EXPECT_SAYS(std::string(e.what()), "at trainer_test.cpp");
  }
}

TEST_F(Training, DataWithoutABatchAreRefused) {
  Job run({});
  EXPECT_THROW(run.trainer.fit(Dataset({{"x", zeros({0, 2})}, {"y", zeros({0, 1})}})), ArgumentError);
  EXPECT_THROW(run.trainer.fit(Dataset(line(10), {.batch = 16, .drop_last = true})), ArgumentError);
  EXPECT_THROW(run.trainer.fit(data_, Dataset({{"x", zeros({0, 2})}, {"y", zeros({0, 1})}})), ArgumentError);
}
TEST_F(Training, ABatchLargerThanTheDataIsTheData) {
  Job large({.epochs = 3}), exact({.epochs = 3});
  (void)large.trainer.fit(Dataset(line(10), {.batch = 64, .shuffle = false}));
  (void)exact.trainer.fit(Dataset(line(10), {.batch = 10, .shuffle = false}));
  EXPECT_EQ(weights(large.model), weights(exact.model));
}
TEST_F(Training, OptionsThatAreNoneAreRefused) {
  EXPECT_THROW(Job({.nonfinite = "ignore"}), ArgumentError);
  EXPECT_THROW(Job({.checkpoint = "run.txt"}), ArgumentError);
  EXPECT_THROW(Job({.epochs = -1}), ArgumentError);
  EXPECT_THROW(Job({.early_stop = nn::EarlyStop{.patience = -1}}), ArgumentError);
  EXPECT_THROW(Job({.early_stop = nn::EarlyStop{.least = std::nan("")}}), ArgumentError);
  EXPECT_THROW(Job({.watch_every = 5}), ArgumentError) << "there is no folder to log to";
  EXPECT_THROW(Job({.log_every = -1}), ArgumentError);
}

TEST_F(Training, OneSwitchLogsActivationsWeightsAndGradients) {
  {
    Job run({.epochs = 2, .summaries = path("runs"), .watch_every = 5}, nn::adam(),
            [](nn::Pass& pass, const Batch& b) {
              summary::histogram("chosen", b["x"]);
              return loss_of(pass, b);
            });
    (void)run.trainer.fit(data_);
  }
  const Events e = read_events(path("runs")).at("");
  EXPECT_EQ(e.scalars.at("loss").step.size(), 14U);
  EXPECT_EQ(e.scalars.at("rate").value[3], static_cast<double>(1e-3F));
  EXPECT_EQ(e.scalars.at("epoch/loss").step, (std::vector<std::int64_t>{6, 13}));
  EXPECT_EQ(e.histograms.at("chosen").step.size(), 14U);
  for (const char* tag : {"layer1/dense/weights", "layer1/dense/weights/gradient", "layer1/dense/output",
                          "layer1/batch_norm/variance", "layer2/dense/bias", "layer2/dense/output"})
    EXPECT_EQ(e.histograms.at(tag).step, (std::vector<std::int64_t>{0, 5, 10})) << tag;
}
TEST_F(Training, TrendsAreToldOfADivergingRun) {
  const tests::Listening heard;
  Job run({.epochs = 40, .trends_every = 1}, nn::sgd({.rate = 3}), linear_loss);
  EXPECT_THROW(run.trainer.fit(data_), NonFiniteError);
  ASSERT_FALSE(run.trainer.trends().findings().empty());
  EXPECT_EQ(run.trainer.trends().findings()[0].code, "WP-TRD-001");
}
TEST_F(Training, RecordsAndChecksForItsTimeOnly) {
  bool recorded = false;
  const std::int64_t before = context().step;
  Job run({.record = path("run.wpr"), .checks = CheckLevel::raise});
  run.trainer.on_step([&](const nn::StepView&) {
    recorded = recording() == path("run.wpr");
    EXPECT_EQ(context().level, CheckLevel::raise);
  });
  (void)run.trainer.fit(data_);
  EXPECT_TRUE(recorded);
  EXPECT_EQ(recording(), "");
  EXPECT_EQ(context().level, CheckLevel::escape);
  EXPECT_TRUE(fs::exists(path("run.wpr")));
  EXPECT_EQ(context().step, before);
}

std::string shown(bool tty) {
  double now = 0;
  std::string text;
  ProgressOutput out{tty, 60, [&] { return now += 0.02; }, [&](std::string_view t) { text += t; }};
  Job run({.epochs = 5, .output = out});
  (void)run.trainer.fit(Dataset(line(100), {.batch = 16, .seed = 9}));
  return text;
}
TEST_F(Training, ShowsABarOnATerminalAndPlainLinesElsewhere) {
  const std::string bar = shown(true), plain = shown(false);
  EXPECT_SAYS(bar, "\r");
  EXPECT_SAYS(bar, "training");
  EXPECT_SAYS(bar, "epoch 5/5: loss ");
  EXPECT_EQ(plain.find('\r'), std::string::npos);
  EXPECT_SAYS(plain, "epoch 1/5: loss ");
  EXPECT_SAYS(plain, "epoch 5/5: loss ");
}

}  // namespace
