// What a writer promises about memory, time, numbers and files that others have damaged.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include "files.hpp"
#include "listening.hpp"
#include "small_files.hpp"
#include "wellposed/wellposed.hpp"

namespace wp {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

struct SummariesAtTheirLimits : Files {
  std::string folder() const { return directory_.string(); }
  Events events() const { return read_events(folder()).at(""); }
};

TEST_F(SummariesAtTheirLimits, NeverHoldMoreBytesThanWasAllowedAlsoWhileTheyAreWritten) {
  constexpr std::int64_t n = 1 << 20, fit = 4;
  const tests::Listening heard;
  SummaryWriter log(folder(), {.most_bytes = fit * (n * 8 + 1000), .longest_wait = 0});
  const Tensor large = zeros({n});
  for (std::int64_t given = 0; log.written() < 40;) {
    log.histogram("x", large, {.step = ++given});
    const std::int64_t accepted = given - log.dropped();
    ASSERT_LE(accepted - log.written(), fit) << given;
  }
}
TEST_F(SummariesAtTheirLimits, OfDiagnosesCountTheMatrixThatTheyHold) {
  const tests::Listening heard;
  const linalg::Diagnosis d = linalg::diagnosed::inv(random::normal({100, 100}, 1, 0)).diagnosis;
  SummaryWriter log(folder(), {.most_bytes = 50'000, .longest_wait = 0});
  for (int i = 0; i < 20; ++i) log.diagnosis("A", d, {.step = i});
  EXPECT_GT(log.dropped(), 0);
  log.diagnosis("nothing", {});
}
TEST_F(SummariesAtTheirLimits, ThatMayWaitForeverAreNotDropped) {
  SummaryWriter log(folder(), {.most_bytes = 1000, .longest_wait = inf});
  const Tensor large = zeros({1 << 18});
  for (int i = 0; i < 20; ++i) log.histogram("x", large, {.step = i});
  log.close();
  EXPECT_EQ(log.dropped(), 0);
}
TEST_F(SummariesAtTheirLimits, TakeNoTimesThatAreNone) {
  for (const double wait : {-1.0, nan})
    EXPECT_THROW(SummaryWriter(folder(), {.longest_wait = wait}), ArgumentError) << wait;
  for (const double seconds : {0.0, -1.0, 1e-300, nan})
    EXPECT_THROW(SummaryWriter(folder(), {.flush_seconds = seconds}), ArgumentError) << seconds;
  EXPECT_TRUE(fs::is_empty(folder())) << "what is refused leaves no file";
}

TEST_F(SummariesAtTheirLimits, OfNumbersBeyondTheRangeOfTensorBoardAreToldOncePerTag) {
  const tests::Listening heard;
  {
    SummaryWriter log(folder());
    for (int step = 0; step < 3; ++step) log.scalar("large", 1e300, {.step = step});
    log.scalar("small", -1e39);
    log.scalar("given", inf);
    log.scalar("fits", 3.4e38);
  }
  ASSERT_EQ(heard.told.size(), 2U);
  EXPECT_SAYS(heard.told[0].text(), "'large' = 1e+300 is beyond the f32 numbers");
  EXPECT_SAYS(heard.told[1].text(), "the file says -inf");
  EXPECT_EQ(events().scalars.at("large").value, (std::vector<double>{inf, inf, inf}));
}

TEST_F(SummariesAtTheirLimits, OnADiskThatIsFullAtFirstBeginWithTheVersionAndCountWhatWasLost) {
  const pid_t child = fork();
  if (child == 0) {
    const tests::Listening heard;
    SummaryWriter log = [&] {
      const tests::SmallFiles full(10);
      SummaryWriter w(folder());
      for (int i = 0; i < 5; ++i) w.scalar("lost", i, {.step = i});
      w.flush();
      return w;
    }();
    const bool all_lost = log.dropped() == 5 && log.written() == 0;
    log.scalar("kept", 1);
    log.close();
    _exit(all_lost && log.dropped() == 5 && log.written() == 1 && heard.told.size() == 1 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const std::string file = fs::directory_iterator(folder())->path().string();
  EXPECT_LT(read(file).find("brain.Event:2"), 40U);
  EXPECT_EQ(events().scalars.count("kept"), 1U);
}

TEST_F(SummariesAtTheirLimits, AreFlushedAllAtOnceByTheProcessThatWasGivenThem) {
  SummaryWriter one(path("one")), two(path("two"));
  one.scalar("x", 1);
  two.scalar("x", 1);
  summary::flush_all();
  EXPECT_EQ(one.written() + two.written(), 2);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) one.scalar("child", i, {.step = i});
    summary::flush_all();
    _exit(one.written() == 100 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// ---- reading
TEST_F(SummariesAtTheirLimits, BesideAFileThatCannotBeOpenedAreRead) {
  const std::string closed = path("events.out.tfevents.0"), alone = path("alone/events.out.tfevents.0");
  fs::create_directory(path("alone"));
  for (const std::string& file : {closed, alone}) {
    std::ofstream(file) << "words";
    fs::permissions(file, fs::perms::none);
  }
  SummaryWriter(folder()).scalar("loss", 1);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);  // root may open everything
    const Events e = events();
    const bool right = e.scalars.count("loss") == 1 && e.damage.size() == 1 && e.damage[0].file == closed &&
                       e.damage[0].reason.find("Permission denied") != std::string::npos;
    try {
      (void)read_events(path("alone"));
    } catch (const FileError&) {
      _exit(right ? 0 : 1);
    }
    _exit(3);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
TEST_F(SummariesAtTheirLimits, OfDamagedFilesInFoldersThatAreNoUtf8HaveJson) {
  const std::string odd = path("\xff");
  SummaryWriter(odd).scalar("loss", 1);
  std::ofstream(odd + "/events.out.tfevents.0") << "only words";
  const Events e = read_events(folder()).at("\xff");
  ASSERT_EQ(e.damage.size(), 1U);
  EXPECT_SAYS(e.json(), "\xef\xbf\xbd/events.out.tfevents.0");
}

TEST_F(SummariesAtTheirLimits, WhoseStepsGoBackAreDrawnWithTheirHeights) {
  const tests::Listening heard;
  {
    SummaryWriter log(folder());
    for (const std::int64_t step : {0, 1, 2, 0}) log.histogram("h", arange(10.0), {.step = step, .bins = 3});
  }
  const std::string page = events_page(read_events(folder()), "t");
  std::size_t ridges = 0;
  for (std::size_t at = page.find(" d=\"M"); at != std::string::npos; at = page.find(" d=\"M", at + 1), ++ridges) {
    const std::string path = page.substr(at + 4, page.find('"', at + 4) - at - 4);
    static const std::regex point("[ML][0-9.]+ ([0-9.]+)");
    std::set<std::string> heights;
    for (std::sregex_iterator m(path.begin(), path.end(), point); m != std::sregex_iterator(); ++m)
      heights.insert((*m)[1]);
    EXPECT_EQ(heights.size(), 3U) << path;
  }
  EXPECT_GE(ridges, 4U);
}

}  // namespace
}  // namespace wp
