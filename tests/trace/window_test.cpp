// What a window keeps, and what it costs.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <cmath>
#include <thread>

#include "base/memory.hpp"
#include "wellposed/wellposed.hpp"

namespace {

using wp::Blame;
using wp::Tensor;
using wp::Trace;

constexpr std::size_t kBatch = 64 << 10;  // bytes: a size class of the allocator
constexpr std::size_t kNode = 512;        // more than a node without elements takes

// 64 KiB that no op made.
Tensor batch(double value) {
  return Tensor::from(std::vector<double>(kBatch / sizeof(double), value), {kBatch / sizeof(double)});
}
std::size_t live() {
  return wp::memory::stats().live;
}

TEST(Window, OfBatchesThatNoOpMadeKeepsWithinItsBytes) {
  const std::size_t before = live(), limit = 1 << 20;
  const Trace trace({.bytes = limit});
  for (int i = 0; i < 500; ++i) {
    (void)wp::sum(batch(i));
    ASSERT_LE(live() - before, limit + 2 * kBatch) << i;  // the newest was the program's when it was last looked
  }
  EXPECT_GE(trace.bytes(), live() - before) << "what it says it holds is what it holds";
  EXPECT_LE(trace.bytes(), live() - before + trace.calls() * 3 * kNode);
  EXPECT_GE(trace.calls(), 14U);
  EXPECT_EQ(trace.calls() + trace.let_go(), 500U);
}

TEST(Window, OfViewsCountsTheirOwners) {
  const std::size_t before = live(), limit = 1 << 20;
  const Trace trace({.bytes = limit});
  for (int i = 0; i < 200; ++i) {
    const Tensor row = wp::with_rows(wp::reshape(batch(i), {64, -1}), "data")[{0}];
    (void)wp::sum(row);
    ASSERT_LE(live() - before, limit + 2 * kBatch) << i;
  }
  EXPECT_GE(trace.bytes(), live() - before);
}

TEST(Window, CountsAStorageOnce) {
  const Trace trace;
  const Tensor w = batch(1);
  Tensor kept = wp::sum(w);
  for (int i = 0; i < 100; ++i) kept = wp::sum(w);
  EXPECT_LT(trace.bytes(), kBatch) << "the program holds it";
  const_cast<Tensor&>(w) = Tensor();
  EXPECT_GE(trace.bytes(), kBatch);
  EXPECT_LT(trace.bytes(), kBatch + 101 * 3 * kNode);
}

TEST(Window, LetsGoOfNothingForTensorsThatTheProgramHoldsAnyway) {
  const Trace trace({.bytes = 1 << 20});
  const Tensor data = wp::with_rows(wp::zeros({1024, 512}), "data");  // 4 MiB
  for (std::int64_t i = 0; i < 100; ++i) (void)wp::sum(data[{wp::slice(i, i + 8)}]);
  EXPECT_EQ(trace.let_go(), 0U);
}

TEST(Window, HoldsWithTheTensorsOfOthersAtMostSixteenTimesItsBytes) {
  const std::size_t before = live(), limit = 1 << 18;
  const Trace trace({.bytes = limit});
  {
    std::vector<Tensor> all;
    for (int i = 0; i < 200; ++i) {
      all.push_back(batch(i));
      (void)wp::sum(all.back());
    }
  }
  EXPECT_LE(live() - before, 17 * limit);
  for (int i = 0; i < 200; ++i) (void)wp::exp(Tensor{1.0});  // it finds out that nobody else holds them any more
  EXPECT_LE(live() - before, limit);
}

TEST(Window, InsideOfAnotherKeepsWithinItsBytes) {
  const std::size_t before = live(), limit = 1 << 20;
  const Trace outer({.bytes = limit}), inner({.bytes = limit});
  for (int i = 0; i < 200; ++i) (void)wp::sum(batch(i));
  EXPECT_LE(live() - before, 2 * limit + kBatch);
}

TEST(Window, SaysWhatItHoldsAfterItWasCleared) {
  Trace trace;
  (void)wp::sum(batch(1));
  EXPECT_GT(trace.bytes(), kBatch);
  trace.clear();
  EXPECT_EQ(trace.bytes(), 0U);
  EXPECT_EQ(trace.calls(), 0U);
}

// What a program may do without a trace it may do with one: results go again and again into memory that it gives.
TEST(Window, LetsMemoryOfTheCallerBeUsedAgainAndKeepsWhatWasThere) {
  const Trace trace;
  Tensor out = wp::empty({2, 2});
  std::vector<Tensor> sums;
  for (const double diagonal : {2.0, 0.5, 4.0}) {
    (void)wp::linalg::inv(Tensor{{diagonal, 0.0}, {0.0, 1.0}}, {.out = &out});
    sums.push_back(wp::sum(out[{0}]));
  }
  EXPECT_EQ(out.to_vector<double>(), (std::vector<double>{0.25, 0, 0, 1})) << "the last";
  for (const auto& [k, value] : {std::pair(0U, "0.5"), {1U, "2"}, {2U, "0.25"}}) {
    const Blame b = wp::blame(sums[k], wp::Dims());
    const auto made = std::find_if(b.chain.begin(), b.chain.end(), [](const auto& l) { return l.op == "inv"; });
    ASSERT_NE(made, b.chain.end()) << b.text();
    EXPECT_EQ(made->value, value) << b.text();
  }
  const Tensor other = out;
  EXPECT_THROW((void)wp::linalg::inv(Tensor{{1.0, 0.0}, {0.0, 1.0}}, {.out = &out}), wp::ArgumentError)
      << "somebody else sees it";
}

TEST(Window, KeepsTheLastSteps) {
  const Trace trace;
  const Tensor x{1.0};
  Tensor y = x;
  for (int step = 0; step < 10; ++step) {
    wp::set_step(step);
    for (int i = 0; i < 5; ++i) y = wp::add(y, x);
  }
  wp::set_step(-1);
  EXPECT_EQ(trace.calls(), 10U);
  EXPECT_EQ(trace.let_go(), 40U);
  EXPECT_NE(wp::blame(y, {0}).missing.find("has let go of 40 calls"), std::string::npos);
}

TEST(Window, SeesAllThreads) {
  const Trace trace;
  Tensor made;
  std::thread([&] { made = wp::log(Tensor{0.0}); }).join();
  std::vector<std::thread> others;
  for (int t = 0; t < 4; ++t)
    others.emplace_back([] {
      for (int i = 0; i < 200; ++i) wp::add(Tensor{1.0}, 2.0);
    });
  for (std::thread& t : others) t.join();
  EXPECT_EQ(trace.calls(), 801U);
  EXPECT_EQ(wp::blame(made).chain.back().op, "log");
}

TEST(Window, ComesAndGoesWhileThreadsCompute) {
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) wp::add(Tensor{1.0}, 2.0);
  });
  for (int i = 0; i < 200; ++i) {
    const Trace trace({.calls = 8});
    wp::add(Tensor{1.0}, 2.0);
  }
  stop = true;
  busy.join();
}

// Lent memory that is written to after it was read.
class Lent : public testing::TestWithParam<std::int64_t> {
 protected:
  std::vector<double> array = std::vector<double>(static_cast<std::size_t>(GetParam()), 1.0);
  Tensor borrowed = Tensor::borrow(array.data(), wp::f64, {GetParam()});
  bool small = GetParam() * 8 <= 1 << 16;
};
INSTANTIATE_TEST_SUITE_P(SmallAndLarge, Lent, testing::Values(100, 20000));

TEST_P(Lent, MemoryThatWasOverwrittenIsBlamedAsItWasOrToldToHaveChanged) {
  const Trace trace;
  array[7] = -1;
  const Tensor loss = wp::sum(wp::log(borrowed));
  array[7] = 5;
  const Blame b = wp::blame(loss);
  EXPECT_EQ(b.source, Blame::Source::op);
  EXPECT_EQ(b.chain.back().op, "log");
  if (small) {
    EXPECT_EQ(b.operands, (std::vector<std::string>{"x[7] = -1"})) << b.text();
    EXPECT_TRUE(b.missing.empty()) << b.missing;
  } else {
    EXPECT_NE(
        b.text().find("Memory that was lent to log (f64 [20000]) was changed since: what it holds now is shown."),
        std::string::npos)
        << b.text();
  }
}

TEST_P(Lent, MemoryThatStayedAsItWasIsNotSaidToHaveChanged) {
  const Trace trace;
  array[7] = -1;
  const Blame b = wp::blame(wp::sum(wp::log(borrowed)));
  EXPECT_EQ(b.operands, (std::vector<std::string>{"x[7] = -1"}));
  EXPECT_TRUE(b.missing.empty()) << b.missing;
}

TEST_P(Lent, RowsThatWereTakenOfItAreShownAsTheyWereRead) {
  const Trace trace;
  array[7] = std::nan("");
  const Tensor data = wp::with_rows(borrowed, "data");
  const Tensor loss = wp::sum(wp::exp(wp::take(data, Tensor{3, 7}, {.axis = 0})));
  array[7] = 5;
  const Blame b = wp::blame(loss);
  EXPECT_EQ(b.source, Blame::Source::data);
  EXPECT_EQ(b.row, 7);
  EXPECT_EQ(b.value, "nan") << b.text();
  EXPECT_NE(b.missing.find("was changed since: what was read of it then is shown."), std::string::npos) << b.text();
}

TEST_P(Lent, ViewsOfItAreShownAsTheirReaderSawThem) {
  const Trace trace;
  array[7] = std::nan("");
  const Tensor data = wp::with_rows(borrowed, "data");
  const Tensor loss = wp::sum(wp::exp(data[{wp::slice(5, 9)}]));
  array[7] = 5;
  const Blame b = wp::blame(loss);
  EXPECT_EQ(b.source, Blame::Source::data);
  EXPECT_EQ(b.row, 7);
  EXPECT_EQ(b.value, "nan") << b.text();
}

TEST_P(Lent, MemoryIsReplayedAsItWasOrToldToHaveChanged) {
  const Trace trace;
  array[7] = 0.25;
  (void)wp::sqrt(borrowed);
  array[7] = 0.5;
  const wp::Replay r = wp::replay();
  if (small) {
    EXPECT_TRUE(r.calls.empty()) << r.text();
    EXPECT_TRUE(r.missing.empty()) << r.missing;
  } else {
    EXPECT_NE(r.missing.find("Memory that was lent to sqrt (f64 [20000]) was changed since"), std::string::npos);
  }
}

// Three threads that take, label and release blocks of every kind, under a window.
class [[nodiscard]] Others {
 public:
  Others() {
    for (int t = 0; t < 3; ++t)
      threads_.emplace_back([this, t] {
        while (!stop_) {
          const wp::scope here("thread" + std::to_string(t));
          const Tensor x = wp::with_rows(wp::full({256, 16}, 1.0 + t), "data");
          (void)wp::matmul(x[{wp::slice(0, 64)}], wp::ones({16, 64}));
        }
      });
  }
  ~Others() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

int compute_in_child() {
  alarm(60);  // a child that waits for a lock that nobody holds any more dies of it
  for (int i = 0; i < 20; ++i) {
    const wp::scope here("child" + std::to_string(i));
    const Tensor x = wp::with_rows(wp::full({512, 64}, 2.0), "data");
    if (wp::sum(wp::matmul(x[{wp::slice(0, 128)}], wp::ones({64, 128}))).item<double>() != 128 * 128 * 128.0)
      return 1;
  }
  return 0;
}

TEST(Forks, BesideThreadsThatComputeGiveChildrenThatCompute) {
  const Others others;
  for (int k = 0; k < 100; ++k) {
    const std::unique_ptr<Trace> trace = k % 2 ? std::make_unique<Trace>() : nullptr;
    const pid_t child = fork();
    if (child == 0) _exit(compute_in_child());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "child " << k << " ended with status " << status;
  }
}

TEST(Forks, BesideThreadsThatComputeMayEndTheWindowOfTheParent) {
  const Others others;
  for (int k = 0; k < 50; ++k) {
    auto trace = std::make_unique<Trace>();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      (void)wp::exp(Tensor{1.0});
      trace.reset();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "child " << k << " ended with status " << status;
  }
}

}  // namespace
