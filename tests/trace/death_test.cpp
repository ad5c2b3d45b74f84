// Processes that die in every way, and what is left of them.
#include <chrono>
#include <random>
#include <thread>

#include "long_tests.hpp"
#include "trace/worker.hpp"

namespace {

using wp::trace::CallFact;
using wp::trace::Examined;
using wp::trace::Fate;
class Deaths : public Recordings {
 protected:
  // What is left of a worker that trains in this way and is killed at a random moment.
  Examined killed(const char* mode, std::mt19937& random) const {
    const Worker worker(path("run.wpr"), mode);
    worker.wait_until_ready();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    worker.kill();
    worker.wait();
    return examine_file(path("run.wpr"));
  }
};

TEST_F(Deaths, AreReadableAfterAKillAtAnyMoment) {
  std::mt19937 random(20261116);
  const int kills = long_tests() ? 1000 : 50;
  for (int k = 0; k < kills; ++k) {
    const Examined p = killed("train", random);
    ASSERT_TRUE(p.verdict.fate == Fate::killed || p.verdict.fate == Fate::out_of_memory) << p.verdict.words;
    ASSERT_LE(p.flight.torn, 1U);
    ASSERT_TRUE(p.flight.missing.empty()) << p.flight.missing[0];
    ASSERT_GT(p.flight.calls.size(), 50U);
    // No hole: every record but the one that was being written is there.
    for (std::size_t i = 1; i < p.flight.calls.size(); ++i)
      ASSERT_EQ(p.flight.calls[i].sequence, p.flight.calls[i - 1].sequence + 1);
    ASSERT_LE(p.flight.recorded - p.flight.calls.back().sequence, 1U);
    ASSERT_GE(p.step, 4);
    ASSERT_TRUE(p.in_flight == nullptr || p.in_flight->scope.starts_with("train")) << p.in_flight->scope;
  }
}

TEST_F(Deaths, OfFourThreadsLoseAtMostTheRecordsThatWereBeingWritten) {
  std::mt19937 random(20261118);
  const int kills = long_tests() ? 200 : 20;
  constexpr std::size_t kThreads = 4, kRing = 1024;
  for (int k = 0; k < kills; ++k) {
    const Examined p = killed("train on four threads", random);
    ASSERT_TRUE(p.verdict.fate == Fate::killed || p.verdict.fate == Fate::out_of_memory) << p.verdict.words;
    ASSERT_TRUE(p.flight.missing.empty()) << p.flight.missing[0];
    ASSERT_GE(p.flight.recorded, kRing) << "the ring has gone round";
    // Of the last 1024 calls all are there but what each thread was writing.
    ASSERT_GE(p.flight.calls.size() + kThreads, kRing);
    ASSERT_LE(p.flight.torn, kThreads);
    ASSERT_LE(p.flight.recorded - p.flight.calls.back().sequence, kThreads);
    for (const wp::trace::ThreadFact& t : p.flight.threads) {
      for (const std::size_t i : t.calls_kept)
        ASSERT_TRUE(p.flight.calls[i].scope.starts_with("thread")) << p.flight.calls[i].scope;
      for (std::size_t i = 1; i < t.calls_kept.size(); ++i)
        ASSERT_EQ(p.flight.calls[t.calls_kept[i]].scope.substr(0, 7),
                  p.flight.calls[t.calls_kept[0]].scope.substr(0, 7));
    }
    ASSERT_GE(p.flight.threads.size(), kThreads);
  }
}

class Signals : public Recordings, public testing::WithParamInterface<std::pair<const char*, int>> {};
TEST_P(Signals, AreToldWithTheCallInFlightAndTheStackEveryTime) {
  const auto [mode, signal] = GetParam();
  const bool elsewhere = std::string(mode).ends_with("second thread");
  const int times = long_tests() ? 100 : 20;
  for (int k = 0; k < times; ++k) {
    const Examined p = after(mode);
    ASSERT_TRUE(WIFSIGNALED(status_)) << status_;
    ASSERT_EQ(WTERMSIG(status_), signal);
    ASSERT_EQ(p.verdict.fate, Fate::signal);
    ASSERT_EQ(p.flight.crash->signal, signal);
    ASSERT_TRUE(p.flight.crash->complete);
    ASSERT_NE(p.in_flight, nullptr);
    ASSERT_EQ(p.in_flight->op, "doomed_op");
    ASSERT_EQ(p.in_flight->scope, "doomed");
    ASSERT_TRUE(p.in_flight->place().starts_with("record_worker.cpp:"));
    ASSERT_EQ(p.in_flight->in.at(0).text(), "f64 [1, 3], in [-2, 3]");
    ASSERT_EQ(p.in_flight->thread == 1, !elsewhere);
    ASSERT_EQ(p.flight.crash->thread, p.in_flight->thread);
    ASSERT_GE(p.stack.size(), 3U);
    const bool known = std::any_of(p.stack.begin(), p.stack.end(), [](const wp::trace::Frame& f) {
      return f.function.find("execute") != std::string::npos || f.function.find("recurse") != std::string::npos;
    });
    ASSERT_TRUE(known) << wp::trace::report_text(p, 3);
    ASSERT_EQ(wp::trace::is_stack_overflow(*p.flight.crash), std::string(mode).starts_with("overflow"));
  }
}
INSTANTIATE_TEST_SUITE_P(All, Signals,
                         testing::Values(std::pair("segv", SIGSEGV), std::pair("abort", SIGABRT),
                                         std::pair("fpe", SIGFPE), std::pair("ill", SIGILL),
                                         std::pair("overflow", SIGSEGV), std::pair("malloc", SIGABRT),
                                         std::pair("bus", SIGBUS), std::pair("segv on a second thread", SIGSEGV),
                                         std::pair("overflow on a second thread", SIGSEGV)),
                         [](const auto& one) {
                           std::string name = one.param.first;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_F(Deaths, ThatAHandlerOfTheProgramJumpsOutOfAreForgottenAndTheNextOneIsTold) {
  const Examined p = after("segv twice:jumps");
  ASSERT_TRUE(WIFSIGNALED(status_)) << status_;
  ASSERT_EQ(WTERMSIG(status_), SIGABRT);
  EXPECT_EQ(said_, "jumped");
  ASSERT_TRUE(p.flight.crash);
  EXPECT_EQ(p.flight.crash->signal, SIGABRT);
  EXPECT_TRUE(p.flight.crash->complete);
}

TEST_F(Deaths, AreHandedToTheHandlersThatWereThereBefore) {
  for (const auto& [mode, word, code] : {std::tuple("segv:siginfo", "siginfo", 41), {"segv:plain", "plain", 42}}) {
    const Examined p = after(mode);
    ASSERT_TRUE(WIFEXITED(status_)) << mode;
    EXPECT_EQ(WEXITSTATUS(status_), code);
    EXPECT_EQ(said_, word);
    EXPECT_EQ(p.verdict.fate, Fate::signal) << "it is told all the same";
    EXPECT_EQ(p.flight.crash->signal, SIGSEGV);
    ASSERT_NE(p.in_flight, nullptr);
    EXPECT_EQ(p.in_flight->op, "doomed_op");
  }
  // A signal that the program ignores goes on being ignored.
  (void)after("sent fpe:ignored");
  EXPECT_TRUE(WIFEXITED(status_) && WEXITSTATUS(status_) == 0) << status_;
}

TEST_F(Deaths, TellACleanEndFromOneThatWasCutOff) {
  EXPECT_EQ(after("clean").verdict.fate, Fate::stopped);
  EXPECT_EQ(status_, 0);
  const Worker worker(path("run.wpr"), "train");
  worker.wait_until_ready();
  EXPECT_EQ(examine_file(path("run.wpr")).verdict.fate, Fate::running);
  worker.kill();
  worker.wait();
  EXPECT_EQ(examine_file(path("run.wpr")).verdict.fate, Fate::killed);
}

TEST_F(Deaths, KeepTheWordsOfAnExceptionThatNobodyCaught) {
  const Examined p = after("terminate");
  EXPECT_EQ(p.verdict.fate, Fate::signal);
  EXPECT_EQ(p.flight.crash->signal, SIGABRT);
  EXPECT_NE(p.flight.last_words.find("WP-SHP"), std::string::npos) << p.flight.last_words;
  EXPECT_NE(p.look_first.find("nobody caught"), std::string::npos);
}

TEST_F(Deaths, SayThatACallWasLeftByAnException) {
  const Examined p = after("throw");
  const bool left = std::any_of(p.flight.calls.begin(), p.flight.calls.end(), [](const CallFact& c) {
    return c.op == "linalg.inv" && c.outcome == CallFact::Outcome::left;
  });
  EXPECT_TRUE(left);
  EXPECT_EQ(p.in_flight, nullptr);
}

TEST_F(Deaths, OfAForkedProcessAreItsOwn) {
  const Examined parent = after("fork");
  EXPECT_EQ(parent.verdict.fate, Fate::stopped);
  EXPECT_EQ(parent.step, 2);
  int others = 0;
  for (const auto& e : fs::directory_iterator(directory_)) {
    if (e.path().filename() == "run.wpr") continue;
    ++others;
    const Examined child = examine_file(e.path().string());
    EXPECT_EQ(child.verdict.fate, Fate::killed);
    EXPECT_EQ(child.flight.parent, parent.flight.pid);
    EXPECT_EQ(child.step, 6);
    EXPECT_EQ(child.flight.torn, 0U);
  }
  EXPECT_EQ(others, 1);
  EXPECT_EQ(parent.flight.torn, 0U);
}

TEST_F(Deaths, NameTheFirstResultThatWasNotFinite) {
  const Examined p = after("nan");
  ASSERT_NE(p.first_bad, nullptr);
  EXPECT_EQ(p.first_bad->op, "log");
  EXPECT_NE(p.look_first.find("log at record_worker.cpp"), std::string::npos) << p.look_first;
}

TEST_F(Deaths, OfMemoryThatItsOwnerTookAwayNameTheInput) {
  for (const char* mode : {"lender", "lender, noticed by the op"}) {
    const Examined p = after(mode);
    ASSERT_TRUE(WIFSIGNALED(status_)) << mode;
    ASSERT_NE(p.in_flight, nullptr) << mode;
    EXPECT_EQ(p.in_flight->op, "sum");
    ASSERT_EQ(p.in_flight->in.size(), 1U);
    EXPECT_TRUE(p.in_flight->in[0].text().starts_with("f64 [4096]")) << p.in_flight->in[0].text();
    EXPECT_NE(p.look_first.find("is borrowed memory: does its lender still hold it?"), std::string::npos)
        << p.look_first;
  }
}

TEST_F(Deaths, HaveLinesInTheirStacksWhereTheObjectHasThem) {
  (void)after("segv");
  const std::string told = wp::postmortem(path("run.wpr")).text();
  EXPECT_NE(told.find("main at record_worker.cpp:"), std::string::npos) << told;
}

TEST_F(Deaths, SeeValuesGrowInAScope) {
  const Examined p = after("growth");
  ASSERT_FALSE(p.trends.empty());
  EXPECT_EQ(p.trends[0].scope, "growing");
  EXPECT_GT(p.trends[0].last, 1e6 * p.trends[0].first);
}

TEST_F(Deaths, AreNotBroughtAboutByCuttingTheRecording) {
  const Worker worker(path("run.wpr"), "cut");
  EXPECT_EQ(worker.wait(), 0) << "the program goes on";
  EXPECT_EQ(worker.said(), "the same");
}

TEST_F(Deaths, AreNotSeenInAProcessThatBecameAnotherProgramAndNeitherIsLife) {
  const Worker worker(path("run.wpr"), "exec");
  worker.wait_until_ready();
  const Examined p = examine_file(path("run.wpr"));
  EXPECT_EQ(p.verdict.fate, Fate::exited);
  EXPECT_EQ(p.verdict.words, "became another program (exec)");
  (void)Worker(path("run.wpr"), "clean").wait();
  worker.kill();
  worker.wait();
  EXPECT_EQ(examine_file(path("run.1.wpr")).flight.pid, static_cast<std::uint64_t>(worker.pid())) << "it is kept";
  EXPECT_EQ(examine_file(path("run.wpr")).verdict.fate, Fate::stopped);
}

TEST_F(Deaths, BeginWithTheFirstOpWhereTheEnvironmentAsksForThem) {
  const Worker worker("-", "clean", path("run-%p.wpr"));
  EXPECT_EQ(worker.wait(), 0);
  const Examined p = examine_file(path("run-" + std::to_string(worker.pid()) + ".wpr"));
  EXPECT_EQ(p.verdict.fate, Fate::exited);
  EXPECT_GT(p.flight.calls.size(), 50U);
}

TEST_F(Deaths, AreNotOverwrittenByAJobThatIsStartedAgain) {
  (void)after("segv");
  (void)after("nan");  // killed
  EXPECT_EQ(examine_file(path("run.1.wpr")).flight.crash->signal, SIGSEGV);
  (void)after("clean");
  EXPECT_EQ(examine_file(path("run.1.wpr")).verdict.fate, Fate::killed);
  (void)after("clean");
  EXPECT_EQ(examine_file(path("run.1.wpr")).verdict.fate, Fate::killed) << "one that was closed is not kept";
  EXPECT_EQ(files(), 2U);
}

TEST_F(Deaths, OfALivingProcessAreLeftAlone) {
  const Worker first("-", "train", path("run.wpr"));
  first.wait_until_ready();
  const Worker second("-", "clean", path("run.wpr"));
  second.wait();
  first.kill();
  first.wait();
  EXPECT_EQ(examine_file(path("run.wpr")).flight.pid, static_cast<std::uint64_t>(first.pid()));
  EXPECT_EQ(examine_file(path("run." + std::to_string(second.pid()) + ".wpr")).verdict.fate, Fate::exited);
}

}  // namespace
