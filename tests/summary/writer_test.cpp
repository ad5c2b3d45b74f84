#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "files.hpp"
#include "listening.hpp"
#include "long_tests.hpp"
#include "small_files.hpp"
#include "summary/event.hpp"
#include "summary/histogram.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

struct Summaries : Files {
  std::string folder() const { return directory_.string(); }
  Events events() const { return read_events(folder()).begin()->second; }
};

TEST_F(Summaries, ComeBackAsTheyWereGiven) {
  {
    SummaryWriter log(folder());
    for (int step = 0; step < 5; ++step) log.scalar("loss", 1.0 / (step + 1), {.step = step});
    log.scalar("tensor", Tensor{2.5}, {.step = 7});
    log.histogram("weights", Tensor{0.0, 1.0, 2.0, 3.0}, {.step = 3, .bins = 3});
    log.text("note", "**bold**", {.step = 1});
    log.image("picture", zeros({2, 3}), {.step = 2});
    log.diagnosis("A", linalg::diagnosed::inv(Tensor{{2.0, 0.0}, {0.0, 0.5}}).diagnosis, {.step = 4});
  }
  const Events e = events();
  EXPECT_EQ(e.damage.size(), 0U);
  EXPECT_EQ(e.scalars.at("loss").step, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(e.scalars.at("loss").value[2], static_cast<double>(1.0F / 3));
  EXPECT_EQ(e.scalars.at("tensor").value, std::vector<double>{2.5});
  EXPECT_EQ(e.histograms.at("weights").value[0].to_vector<double>(),
            (std::vector<double>{0, 1, 1, 1, 2, 1, 2, 3, 2}));
  EXPECT_EQ(e.texts.at("note").value[0], "**bold**");
  EXPECT_EQ(e.images.at("picture").value[0].width, 3);
  EXPECT_EQ(e.images.at("picture").value[0].files[0].substr(1, 3), "PNG");
  EXPECT_EQ(e.scalars.at("A/log10_condition").value[0], static_cast<double>(static_cast<float>(std::log10(4.0))));
  EXPECT_EQ(e.histograms.count("A/log10_singular_values"), 1U);
}

TEST_F(Summaries, OfLargeTensorsMayCountAPartThatMeetsEveryColumn) {
  const Tensor columns = broadcast_to(arange(64.0), {256, 64}) + 0.0;  // each column its number
  {
    SummaryWriter log(folder());
    log.histogram("plain", columns, {.step = 0, .bins = 64, .most_values = 1000});
    log.histogram("turned", matrix_transpose(columns), {.step = 0, .bins = 64, .most_values = 1000});
    log.histogram("small", arange(10.0), {.step = 0, .bins = 10, .most_values = 1000});
  }
  const Events e = events();
  for (const char* tag : {"plain", "turned"}) {
    const Tensor counts = e.histograms.at(tag).value[0][{slice(), 2}];
    EXPECT_LE(sum(counts).item<double>(), 1000) << tag;
    EXPECT_GE(sum(counts).item<double>(), 500) << tag;
    EXPECT_GE(min(counts).item<double>(), 5) << tag;
  }
  EXPECT_EQ(sum(e.histograms.at("small").value[0][{slice(), 2}]).item<double>(), 10);
}

TEST_F(Summaries, TakeTheScopeAndTheStepOfTheInnermostWriter) {
  {
    SummaryWriter outer(path("other")), inner(folder());
    const summary::Use outer_one(outer);
    {
      const summary::Use here(inner);
      const scope layer("layer2");
      set_step(12);
      summary::histogram("output", Tensor{1.0, 2.0});
      summary::scalar("loss", 3.0, {.scoped = false});
      set_step(-1);
    }
    summary::scalar("outside", 1.0);
  }
  summary::scalar("nowhere", 1.0);  // without a writer nothing happens
  const Events e = events();
  EXPECT_EQ(e.histograms.at("layer2/output").step, std::vector<std::int64_t>{12});
  EXPECT_EQ(e.scalars.at("loss").step, std::vector<std::int64_t>{12});
  EXPECT_EQ(read_events(path("other")).begin()->second.scalars.at("outside").step, std::vector<std::int64_t>{0});
}

TEST_F(Summaries, CountWhatIsNotFiniteAndRaiseNothing) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  {
    SummaryWriter log(folder());
    log.histogram("x", log10(Tensor{0.0, 1.0, 10.0}));  // a made −inf
    log.histogram("y", Tensor{nan, inf, -inf});
    log.scalar("s", nan);
  }
  const Events e = events();
  EXPECT_EQ(e.scalars.at("x/nonfinite").value[0], 1);
  EXPECT_EQ(e.scalars.at("y/nonfinite").value[0], 3);
  EXPECT_EQ(e.histograms.at("y").value[0].shape(0), 0);
  EXPECT_TRUE(std::isnan(e.scalars.at("s").value[0]));
}

TEST_F(Summaries, HaveTagsThatEveryReaderTakes) {
  {
    SummaryWriter log(folder());
    log.scalar("a\nb\x01\xff", 1);
    log.scalar("", 2);
  }
  const Events e = events();
  EXPECT_EQ(e.scalars.count("a\xef\xbf\xbd"
                            "b\xef\xbf\xbd\xef\xbf\xbd"),
            1U);
  EXPECT_EQ(e.scalars.count("unnamed"), 1U);
}

TEST_F(Summaries, AreInTheFileAfterASecondWithoutFlush) {
  SummaryWriter log(folder());
  log.scalar("loss", 1);
  for (int i = 0; i < 100 && log.written() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(events().scalars.count("loss"), 1U);
}

TEST_F(Summaries, OfManyThreadsAreAllThere) {
  SummaryWriter log(folder());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) log.scalar("t" + std::to_string(t), i, {.step = i});
    });
  for (std::thread& t : threads) t.join();
  log.flush();
  const Events e = events();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(e.scalars.at("t" + std::to_string(t)).step.size(), 1000U);
  EXPECT_EQ(log.dropped(), 0);
  EXPECT_EQ(log.written(), 4000);
}

TEST_F(Summaries, ThatDoNotFitTheQueueAreDroppedCountedAndToldOnce) {
  const tests::Listening heard;
  SummaryWriter log(folder(), {.most_bytes = 1000, .longest_wait = 0});
  const Tensor large = zeros({1 << 22});  // to count takes longer than to give
  for (int i = 0; i < 20; ++i) log.histogram("x", large, {.step = i});
  log.close();
  log.scalar("late", 1);
  EXPECT_GT(log.dropped(), 1);
  EXPECT_EQ(log.dropped() + log.written(), 21);
  EXPECT_EQ(
      std::count_if(heard.told.begin(), heard.told.end(), [](const Finding& f) { return f.code == "WP-SUM-001"; }),
      1);
}

TEST_F(Summaries, OfAForkedProcessGoToAFileOfItsOwn) {
  SummaryWriter log(folder());
  log.scalar("parent", 1);
  const pid_t child = fork();
  if (child == 0) {
    log.scalar("child", 2);
    log.flush();
    _exit(log.written() == 1 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  log.close();
  const Events e = events();
  EXPECT_EQ(e.scalars.count("parent"), 1U);
  EXPECT_EQ(e.scalars.count("child"), 1U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 2);
}

TEST_F(Summaries, AreReadableToTheLastRecordAfterAKill) {
  const pid_t child = fork();
  if (child == 0) {
    SummaryWriter log(folder());
    for (int i = 0; i < 100; ++i) log.scalar("loss", i, {.step = i});
    log.flush();
    log.histogram("x", zeros({1 << 20}));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(events().scalars.at("loss").step.size(), 100U);
}

// At any moment: while records are written one by one, and while many wait.
TEST_F(Summaries, KilledWhileTheyAreWrittenLoseNothingButTheRecordInFlight) {
  const int kills = long_tests() ? 300 : 20;
  std::int64_t read = 0;
  for (int k = 0; k < kills; ++k) {
    const std::string runs = path("runs-" + std::to_string(k));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      SummaryWriter log(runs);
      for (int i = 0;; ++i) {
        log.scalar("loss", i, {.step = i});
        if (i % 100 == 0) log.histogram("x", arange(1000.0), {.step = i});
        if (k % 2 == 0 && i % 10 == 0) log.flush();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * k % 60));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (!fs::exists(runs) || fs::is_empty(runs) || fs::file_size(fs::directory_iterator(runs)->path()) == 0) continue;
    const Events e = read_events(runs).begin()->second;
    ASSERT_LE(e.damage.size(), 1U) << k;
    if (!e.damage.empty()) {
      EXPECT_NE(e.damage[0].reason.find("the last record is not whole"), std::string::npos) << e.damage[0].reason;
    }
    if (e.scalars.empty()) continue;
    const std::vector<std::int64_t>& steps = e.scalars.at("loss").step;
    for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(steps[i], static_cast<std::int64_t>(i)) << k;
    read += static_cast<std::int64_t>(steps.size());
    fs::remove_all(runs);
  }
  EXPECT_GT(read, 1000);
}

TEST_F(Summaries, NeedADirectoryThatCanBeWritten) {
  EXPECT_THROW(SummaryWriter("/dev/null/runs"), FileError);
  EXPECT_THROW(SummaryWriter(folder()).scalar("x", Tensor{1.0, 2.0}), ShapeError);
  EXPECT_THROW(SummaryWriter(folder()).image("x", zeros({2, 2, 2})), ShapeError);
  EXPECT_THROW(SummaryWriter(folder()).histogram("x", zeros({2}), {.bins = 0}), ArgumentError);
}

TEST_F(Summaries, OnAFullDiskAreLostTheTrainingGoesOnAndTheFileStaysReadable) {
  const pid_t child = fork();
  if (child == 0) {
    const tests::Listening heard;
    const tests::SmallFiles full(2000);
    SummaryWriter log(folder());
    for (int i = 0; i < 200; ++i) {
      log.scalar("loss", i, {.step = i});
      if (i % 10 == 0) log.flush();
    }
    log.close();
    const bool right = log.dropped() > 0 && log.written() > 5 && log.written() + log.dropped() == 200 &&
                       heard.told.size() == 1 && heard.told[0].code == "WP-SUM-002";
    _exit(right ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(events().damage.size(), 0U);
}

// ---- reading
TEST_F(Summaries, BehindDamageAreReadAndTheDamageIsTold) {
  std::string file;
  {
    SummaryWriter log(folder());
    file = log.path();
    for (int i = 0; i < 20; ++i) log.scalar("loss", i, {.step = i});
  }
  std::string bytes = read(file);
  std::string one;
  summary::put_scalar_record(one, 1, 1, "loss", 0);
  const std::size_t record = one.size();
  const std::size_t at = bytes.size() - 10 * record;
  bytes[at + 20] = static_cast<char>(bytes[at + 20] ^ 4);
  bytes.resize(bytes.size() - 3);
  std::ofstream(file, std::ios::binary) << bytes;
  const Events e = events();
  EXPECT_EQ(e.scalars.at("loss").step.size(), 18U);
  ASSERT_EQ(e.damage.size(), 2U);
  EXPECT_EQ(e.damage[0].offset, at);
  EXPECT_EQ(e.damage[0].bytes, record);
  EXPECT_NE(e.damage[1].reason.find("not whole"), std::string::npos);
}

TEST_F(Summaries, EveryCutAndTurnedBitIsReadOrTold) {
  std::string file;
  {
    SummaryWriter log(folder());
    file = log.path();
    log.scalar("loss", 1, {.step = 3});
    log.histogram("h", Tensor{1.0, 2.0}, {.bins = 2});
    log.text("t", "words");
  }
  const std::string whole = read(file);
  const auto tried = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    try {
      const Events e = events();
      return e.records + static_cast<std::int64_t>(e.damage.size());
    } catch (const FormatError&) {
      return std::int64_t{1};
    }
  };
  for (std::size_t n = 1; n < whole.size(); ++n) EXPECT_GT(tried(whole.substr(0, n)), 0) << n;
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string turned = whole;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << bit % 8));
    std::ofstream(file, std::ios::binary) << turned;
    const Events e = events();
    EXPECT_GE(e.damage.size(), 1U) << bit;  // the CRCs see every single bit
    EXPECT_GE(e.records, 3) << bit;
  }
}

TEST_F(Summaries, OfForeignFilesAreRefusedWithAReason) {
  std::ofstream(folder() + "/events.out.tfevents.1") << "this is not an event file, only words";
  EXPECT_THROW(read_events(folder()), FormatError);
  {
    SummaryWriter log(folder());
    log.scalar("loss", 1);
  }
  const Events both = events();
  EXPECT_EQ(both.scalars.count("loss"), 1U) << "a bad file hides no good one";
  ASSERT_EQ(both.damage.size(), 1U);
  EXPECT_NE(both.damage[0].reason.find("no event file"), std::string::npos) << both.damage[0].reason;
  EXPECT_EQ(both.damage[0].bytes, 37U);
  EXPECT_THROW(read_events(folder() + "/missing"), FileError);
  fs::create_directory(path("empty"));
  EXPECT_THROW(read_events(path("empty")), FileError);
}

TEST(Histogram, CountsEveryFiniteValueOnce) {
  const Tensor x = random::normal({10000}, 1, 0);
  for (const DType d : {f32, f64, f16, i32}) {
    const summary::Histogram h = summary::histogram_of(astype(trunc(x * 8.0) / (d == i32 ? 1.0 : 8.0), d), 17);
    double total = 0, left = -HUGE_VAL;
    for (const summary::Bucket& b : h.rows) {
      EXPECT_GE(b.left, left);
      EXPECT_LT(b.left, b.right);
      left = b.left;
      total += b.count;
    }
    EXPECT_EQ(total, 10000) << name(d);
  }
}
TEST(Histogram, OfEqualValuesIsOneBucketAndOfNoneEmpty) {
  const summary::Histogram one = summary::histogram_of(full({5}, 3.0), 30);
  ASSERT_EQ(one.rows.size(), 1U);
  EXPECT_EQ(one.rows[0].left, 2.5);
  EXPECT_EQ(one.rows[0].count, 5);
  EXPECT_EQ(summary::histogram_of(zeros({0}), 30).rows.size(), 0U);
}
TEST(Histogram, OfTheEndsOfTheRangeOfDoublesCountsAll) {
  constexpr double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
  for (const Tensor& x : {Tensor{-most, 0.0, most}, Tensor{0.0, least, 2 * least}}) {
    double total = 0;
    for (const summary::Bucket& b : summary::histogram_of(x, 4).rows) {
      EXPECT_TRUE(std::isfinite(b.left) && std::isfinite(b.right));
      total += b.count;
    }
    EXPECT_EQ(total, 3) << x;
  }
}

}  // namespace
}  // namespace wp
