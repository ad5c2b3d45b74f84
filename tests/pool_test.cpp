#include "base/pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/interrupt.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

class Threads : public ::testing::Test {
 protected:
  void SetUp() override { set_threads(3); }
  void TearDown() override { set_threads(before_); }
  int before_ = threads();
};

TEST_F(Threads, RunEveryPieceOnce) {
  std::vector<std::atomic<int>> hits(10007);
  parallel_for(10007, 10, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
  });
  for (const auto& h : hits) EXPECT_EQ(h.load(), 1);
}

TEST_F(Threads, StopALongJobWhenTheHookSaysSo) {
  static std::atomic<int> asked{0};
  asked = 0;
  std::atomic<int> pieces{0};
  set_interrupt_hook([] { return ++asked == 3; });
  EXPECT_THROW(parallel_for(1'000'000'000, 1, [&](std::int64_t, std::int64_t) { ++pieces; }), Interrupted);
  set_interrupt_hook(nullptr);
  EXPECT_EQ(asked.load(), 3);
  EXPECT_LT(pieces.load(), 1'000'000'000);
  parallel_for(10, 1, [&](std::int64_t, std::int64_t) {});  // the pool works on
}

TEST_F(Threads, RunNestedLoopsInLine) {
  std::atomic<int> sum{0};
  parallel_for(64, 1,
               [&](std::int64_t, std::int64_t) { parallel_for(64, 1, [&](std::int64_t, std::int64_t) { ++sum; }); });
  EXPECT_EQ(sum.load(), 64 * 64);
}

TEST_F(Threads, CarryTheScopeAndCheckLevelOfTheCaller) {
  const scope outer("train");
  const checks quiet(CheckLevel::raise);
  std::atomic<int> wrong{0};
  parallel_for(200, 1, [&](std::int64_t, std::int64_t) {
    if (current_scope() != "train" || context().level != CheckLevel::raise) ++wrong;
    std::this_thread::yield();
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(Threads, ThrowTheErrorOfTheFirstPieceAfterAllEnded) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<int> done{0};
    try {
      parallel_for(40, 1, [&](std::int64_t i, std::int64_t) {
        ++done;
        if (i == 7 || i == 30) throw std::runtime_error("piece " + std::to_string(i));
      });
      FAIL() << "the error was lost";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "piece 7");
    }
    EXPECT_EQ(done.load(), 40);
  }
}

TEST_F(Threads, WorkInAForkedChild) {
  std::atomic<int> warm{0};
  parallel_for(64, 1, [&](std::int64_t, std::int64_t) { ++warm; });
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> sum{0};
    parallel_for(1000, 1, [&](std::int64_t, std::int64_t) { ++sum; });
    _exit(sum.load() == 1000 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Threads, ServeSeveralUserThreadsAtOnce) {
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> users;
  for (int t = 0; t < 4; ++t)
    users.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        parallel_for(50, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    });
  for (std::thread& u : users) u.join();
  EXPECT_EQ(sum.load(), 4 * 100 * 50);
}

TEST_F(Threads, RefuseAnImpossibleNumberOfThreads) {
  EXPECT_THROW(set_threads(0), ArgumentError);
  EXPECT_THROW(set_threads(100000), ArgumentError);
}

}  // namespace
}  // namespace wp
