// What a recording keeps of calls, threads and memory, read back in the same process.
#include <sys/mman.h>
#include <sys/resource.h>

#include <limits>
#include <set>
#include <thread>

#include "trace/worker.hpp"

namespace {

using wp::trace::CallFact;
using wp::trace::Flight;
using wp::trace::read_flight;
class Recorder : public Recordings {};

TEST_F(Recorder, KeepDtypesShapesPlacesAndSampledRanges) {
  const wp::scope outer("outer");
  std::uint32_t line = 0;
  {
    const auto recorder = wp::record(path("run.wpr"));
    EXPECT_EQ(wp::recording(), path("run.wpr"));
    wp::set_step(7);
    wp::set_rows(100, 32);
    const wp::scope inner("inner");
    line = __LINE__ + 1;
    (void)wp::matmul(wp::full({20, 30}, 2.0, {.dtype = wp::f32}), wp::full({30, 5}, -0.5, {.dtype = wp::f32}));
    wp::set_rows(0, 0);
    wp::set_step(-1);
  }
  EXPECT_EQ(wp::recording(), "");
  const Flight f = read_flight(path("run.wpr"));
  ASSERT_EQ(f.calls.size(), 3U);
  const CallFact& c = f.calls.back();
  EXPECT_EQ(c.op, "matmul");
  EXPECT_EQ(c.scope, "outer/inner");
  EXPECT_EQ(c.place(), "recorder_test.cpp:" + std::to_string(line));
  EXPECT_EQ(c.step, 7);
  EXPECT_EQ(c.first_row, 100);
  EXPECT_EQ(c.rows, 32);
  EXPECT_EQ(c.in.at(0).text(), "f32 [20, 30], 8 sampled in [2, 2]");
  EXPECT_EQ(c.in.at(1).text(), "f32 [30, 5], 8 sampled in [-0.5, -0.5]");
  EXPECT_EQ(c.out.at(0).text(), "f32 [20, 5], 8 sampled in [-30, -30]");
  EXPECT_EQ(c.outcome, CallFact::Outcome::done);
}

// Facts of tensors that an op before was seen to make are not taken twice; they must be those of today's values.
TEST_F(Recorder, SeeTodaysValuesInMemoryThatIsWrittenOrUsedAgain) {
  {
    const auto recorder = wp::record(path("run.wpr"));
    wp::Tensor x = wp::ones({4});
    for (int k = 2; k < 5; ++k) {
      (void)wp::negative(x);
      x[{0}] = static_cast<double>(k);
    }
    (void)wp::negative(x);
    for (int k = 0; k < 20; ++k) (void)wp::square(wp::Tensor{static_cast<double>(k), static_cast<double>(k)});
    for (int k = 0; k < 20; ++k) std::thread([k] { (void)wp::square(wp::Tensor{100.0 + k}); }).join();
    std::vector<double> lent{1.0, 2.0};
    const wp::Tensor borrowed = wp::Tensor::borrow(lent.data(), wp::f64, {2}, {}, [] {});
    (void)wp::abs(borrowed);
    lent[1] = 9.0;
    (void)wp::abs(borrowed);
  }
  std::vector<std::string> negated, squared, taken;
  for (const CallFact& c : read_flight(path("run.wpr")).calls) {
    if (c.op == "negative") negated.push_back(c.in.at(0).text());
    if (c.op == "square") squared.push_back(c.in.at(0).text());
    if (c.op == "abs") taken.push_back(c.in.at(0).text());
  }
  EXPECT_EQ(negated, (std::vector<std::string>{"f64 [4], in [1, 1]", "f64 [4], in [1, 2]", "f64 [4], in [1, 3]",
                                               "f64 [4], in [1, 4]"}));
  ASSERT_EQ(squared.size(), 40U);
  for (int k = 0; k < 20; ++k) {
    const std::string own = std::to_string(k), other = std::to_string(100 + k);
    EXPECT_EQ(squared[static_cast<std::size_t>(k)], "f64 [2], in [" + own + ", " + own + "]");
    EXPECT_EQ(squared[static_cast<std::size_t>(20 + k)], "f64 [1], in [" + other + ", " + other + "]");
  }
  EXPECT_EQ(taken, (std::vector<std::string>{"f64 [2], in [1, 2], borrowed", "f64 [2], in [1, 9], borrowed"}));
}

TEST_F(Recorder, KnowTheRowsOfABatchWithNumberedRows) {
  {
    const auto recorder = wp::record(path("run.wpr"));
    const wp::Tensor data = wp::with_rows(wp::ones({100, 2}), "data");
    (void)wp::exp(data[{wp::slice(40, 50)}]);
    (void)wp::exp(wp::take(data, wp::Tensor{7, 99, 3}, {.axis = 0}));
    (void)wp::exp(wp::Tensor{1.0});  // still the same batch
    wp::set_rows(0, 0);
  }
  std::vector<std::string> told;
  for (const CallFact& c : read_flight(path("run.wpr")).calls)
    if (c.op == "exp")
      told.push_back(std::to_string(c.first_row) + (c.scattered ? " scattered " : " on ") + std::to_string(c.rows));
  EXPECT_EQ(told, (std::vector<std::string>{"40 on 10", "7 scattered 3", "7 scattered 3"}));
}

TEST_F(Recorder, ReadBackByThePublicPostmortem) {
  {
    const auto recorder = wp::record(path("run.wpr"));
    (void)wp::exp(wp::Tensor{1.0});
  }
  const wp::Postmortem p = wp::postmortem(path("run.wpr"));
  EXPECT_TRUE(p.fine());
  EXPECT_NE(p.text().find("exp at recorder_test.cpp:"), std::string::npos) << p.text();
  EXPECT_NE(p.json().find("\"op\": \"exp\""), std::string::npos);
  p.html(path("report.html"));
  EXPECT_GT(fs::file_size(path("report.html")), 1000U);
  EXPECT_THROW(wp::postmortem(path("none.wpr")), wp::FileError);
}

TEST_F(Recorder, OfAFolderAreReadThoughOneOfThemIsNone) {
  for (const char* name : {"a.wpr", "c.wpr"}) {
    const auto recorder = wp::record(path(name));
    (void)wp::exp(wp::Tensor{1.0});
  }
  EXPECT_TRUE(wp::postmortem(directory_.string()).fine());
  write("b.wpr", "this is no recording");
  write("d.wpr", "");
  const wp::Postmortem p = wp::postmortem(directory_.string());
  EXPECT_FALSE(p.fine()) << "of two files nobody knows";
  const std::string text = p.text();
  EXPECT_SAYS(text, path("a.wpr"));
  EXPECT_SAYS(text, path("c.wpr"));
  EXPECT_SAYS(text, "\nWhat is missing\n  '" + path("b.wpr") + "' is not a recording: it holds 20 bytes");
  EXPECT_SAYS(text, path("d.wpr"));
  EXPECT_SAYS(p.json(), "\"unread\": [\n  \"'" + path("b.wpr"));
  p.html(path("report.html"));
  EXPECT_SAYS(read(path("report.html")), "What is missing");
  EXPECT_THROW(wp::postmortem(path("b.wpr")), wp::FormatError) << "alone it is an error";
  fs::remove(path("a.wpr"));
  fs::remove(path("c.wpr"));
  EXPECT_THROW(wp::postmortem(directory_.string()), wp::Error) << "there is nothing to tell";
}

TEST_F(Recorder, DoNotReadMemoryOfOthersThatTheProgramOnlyMakesViewsOf) {
  const std::size_t bytes = 4096 * sizeof(double);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const Tensor lent = Tensor::borrow(memory, wp::f64, {64, 64});
  munmap(memory, bytes);
  {
    const auto recorder = wp::record(path("run.wpr"));
    const Tensor row = wp::reshape(lent[{wp::slice(3, 7)}], {-1});
    (void)wp::matrix_transpose(lent);
    EXPECT_EQ(row.size(), 256);
  }
  const Flight f = read_flight(path("run.wpr"));
  ASSERT_EQ(f.calls.size(), 3U);
  for (const CallFact& c : f.calls) {
    EXPECT_TRUE(c.in.at(0).text().ends_with("], borrowed")) << c.in.at(0).text();
    EXPECT_TRUE(c.out.at(0).text().ends_with("], borrowed")) << c.out.at(0).text();
  }
}

TEST_F(Recorder, TellNanFromInfAndViewsFromWholes) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  {
    const auto recorder = wp::record(path("run.wpr"));
    const wp::allow_nonfinite meant;
    (void)wp::abs(Tensor{{1.0, inf, -2.0}});
    (void)wp::abs(Tensor{{nan, nan}});
    (void)wp::abs(wp::matrix_transpose(Tensor{{1.0, 2.0}, {3.0, nan}}));
    (void)wp::abs(Tensor{{1e300, 1.0}});
    (void)wp::abs(wp::zeros({0, 3}));
    (void)wp::abs(Tensor{{std::complex<double>(1, -5)}});
    (void)wp::zeros({2, 1, 1, 1, 3});
  }
  std::vector<std::string> seen;
  for (const CallFact& c : read_flight(path("run.wpr")).calls)
    if (c.op == "abs") seen.push_back(c.in.at(0).text());
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen[0], "f64 [1, 3], in [-2, inf], Inf in it");
  EXPECT_EQ(seen[1], "f64 [1, 2], in [nan, nan], NaN in it");
  EXPECT_NE(seen[2].find("f64 [2, 2]"), std::string::npos);
  EXPECT_EQ(seen[3], "f64 [1, 2], in [1, 3.403e+38] or beyond");
  EXPECT_EQ(seen[4], "f64 [0, 3]");
  EXPECT_EQ(seen[5], "c128 [1, 1], in [-5, 1]");
  EXPECT_EQ(read_flight(path("run.wpr")).calls.back().out.at(0).text(), "f64 [2, 1, 1, 1, …], in [0, 0]");
}

TEST_F(Recorder, KeepTheLastCallsWhenTheRingIsFull) {
  {
    const auto recorder = wp::record(path("run.wpr"), {.records = 100});
    const Tensor x{{1.0}};
    for (int i = 0; i < 1000; ++i) (void)(x + static_cast<double>(i));
  }
  const Flight f = read_flight(path("run.wpr"));
  ASSERT_EQ(f.calls.size(), 128U);
  EXPECT_EQ(f.recorded, 1000U);
  EXPECT_EQ(f.calls.back().in.at(1).max, 999);
  EXPECT_EQ(f.calls.front().in.at(1).max, 872);
  EXPECT_EQ(f.torn, 0U);
}

TEST_F(Recorder, OfSeveralThreadsKeepTheirScopesApart) {
  {
    const auto recorder = wp::record(path("run.wpr"), {.records = 1 << 15});
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
      threads.emplace_back([k] {
        const wp::scope mine("thread" + std::to_string(k));
        const Tensor x = wp::full({4}, static_cast<double>(k));
        for (int i = 0; i < 2000; ++i) (void)wp::exp(x);
      });
    for (std::thread& t : threads) t.join();
  }
  const Flight f = read_flight(path("run.wpr"));
  EXPECT_EQ(f.torn, 0U);
  ASSERT_EQ(f.calls.size(), 8004U);
  std::set<int> numbers;
  for (const wp::trace::ThreadFact& t : f.threads) {
    std::set<std::string> scopes;
    for (const std::size_t i : t.calls_kept) {
      scopes.insert(f.calls[i].scope);
      if (f.calls[i].op == "exp") {
        EXPECT_EQ("thread" + std::to_string(static_cast<int>(f.calls[i].in.at(0).max)), f.calls[i].scope);
      }
    }
    if (t.calls_kept.empty()) continue;
    EXPECT_EQ(scopes.size(), 1U);
    EXPECT_TRUE(t.ended);
    EXPECT_TRUE(t.running.empty());
    numbers.insert(t.number);
  }
  EXPECT_EQ(numbers.size(), 4U);
}

TEST_F(Recorder, WriteIntoASmallRingFromManyThreadsWithoutHarm) {
  {
    const auto recorder = wp::record(path("run.wpr"), {.records = 64});
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k)
      threads.emplace_back([] {
        const Tensor x = wp::ones({4});
        for (int i = 0; i < 3000; ++i) (void)wp::exp(x);
      });
    for (std::thread& t : threads) t.join();
  }
  const Flight f = read_flight(path("run.wpr"));
  EXPECT_GE(f.calls.size(), 56U);
  EXPECT_GE(f.recorded, 12004U);  // a call whose record was overtaken is told once more
}

TEST_F(Recorder, CountTheMemoryOfEachScope) {
  std::vector<Tensor> kept;
  const std::string file = path("run.wpr");
  const auto recorder = wp::record(file);
  {
    const wp::scope a("large");
    for (int i = 0; i < 3; ++i) kept.push_back(wp::zeros({1 << 17}));
    (void)wp::zeros({1 << 18});
  }
  {
    const wp::scope b("small");
    kept.push_back(wp::zeros({1 << 12}));
  }
  const Flight f = read_flight(file);
  ASSERT_EQ(f.scopes.size(), 2U);
  EXPECT_EQ(f.scopes[0].scope, "large");
  EXPECT_EQ(f.scopes[0].live, 3 << 20);
  EXPECT_EQ(f.scopes[0].peak, 5 << 20);
  EXPECT_EQ(f.scopes[0].blocks, 3);
  EXPECT_EQ(f.scopes[1].live, 1 << 15);
  EXPECT_EQ(f.memory.taken.op, "zeros");
}

TEST_F(Recorder, RememberARefusalOfMemory) {
  const auto recorder = wp::record(path("run.wpr"));
  const wp::scope here("greedy");
  EXPECT_THROW((void)wp::zeros({std::int64_t{1} << 45}), wp::OutOfMemory);
  const Flight f = read_flight(path("run.wpr"));
  EXPECT_EQ(f.memory.refused.bytes, std::int64_t{1} << 48);
  EXPECT_EQ(f.memory.refused.op, "zeros");
  EXPECT_EQ(f.memory.refused.scope, "greedy");
  EXPECT_EQ(f.calls.back().outcome, CallFact::Outcome::left);
}

TEST_F(Recorder, AreRefusedWhereTheyCannotBeReserved) {
  EXPECT_THROW((void)wp::record(path("no/such/folder.wpr")), wp::FileError);
  EXPECT_THROW((void)wp::record(path("run.wpr"), {.records = 0}), wp::ArgumentError);
  const auto recorder = wp::record(path("run.wpr"));
  EXPECT_THROW((void)wp::record(path("other.wpr")), wp::ArgumentError);
}

TEST_F(Recorder, LeaveNothingBehindWhenTheDiskHasNoRoom) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1 << 16;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  try {
    (void)wp::record(path("run.wpr"));
    ADD_FAILURE() << "it was reserved";
  } catch (const wp::FileError& e) {
    EXPECT_NE(std::string(e.what()).find("cannot be reserved"), std::string::npos) << e.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, old);
  EXPECT_EQ(files(), 0U);
  (void)(Tensor{{1.0}} + 1.0);  // and nobody records
}

TEST_F(Recorder, MayFollowEachOtherWhileThreadsCompute) {
  std::atomic<bool> stop{false};
  std::thread other([&stop] {
    const Tensor x = wp::ones({2048});
    while (!stop) (void)wp::exp(x + 1.0);
  });
  for (int i = 0; i < 20; ++i) {
    const auto recorder = wp::record(path("run.wpr"), {.records = 64});
    for (int k = 0; k < 50; ++k) (void)(Tensor{{1.0}} + 1.0);
  }
  stop = true;
  other.join();
  EXPECT_GE(read_flight(path("run.wpr")).calls.size(), 40U);
}

}  // namespace
