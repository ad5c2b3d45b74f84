#include "files.hpp"

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <limits>
#include <set>
#include <thread>

#include "long_tests.hpp"

namespace {

TEST_F(Files, LeavesTheOldFileAndNothingElseWhenSavingFails) {
  wp::save(path("t.csv"), Tensor{{1, 2}});
  const std::string before = read(path("t.csv"));
  EXPECT_THROW(wp::save(path("t.csv"), Tensor::from(std::vector<float>(8), {2, 2, 2})), wp::ShapeError);
  EXPECT_THROW(wp::save(path("t.csv"), Tensor{wp::complex128(1, 2)}), wp::DtypeError);
  EXPECT_EQ(read(path("t.csv")), before);
  EXPECT_EQ(files(), 1U);
}

TEST_F(Files, RaisesForMadeInfAndNotForGivenAndWritesNothing) {
  const Tensor made = wp::log(Tensor{1.0, 0.0});
  try {
    wp::save(path("t.npy"), made);
    FAIL() << "a made -inf was saved in silence";
  } catch (const wp::NonFiniteError& e) {
    EXPECT_EQ(e.finding().op, "save");
    EXPECT_SAYS(std::string(e.what()), "log");
  }
  EXPECT_EQ(files(), 0U);
  const double inf = std::numeric_limits<double>::infinity();
  wp::save(path("t.npy"), Tensor{1.0, inf});
  const Tensor back = wp::load(path("t.npy"));
  EXPECT_EQ(back.to_vector<double>(), (std::vector<double>{1.0, inf}));  // given: leaves in silence
}

TEST_F(Files, SaysWhyAFileCannotBeOpenedOrWritten) {
  EXPECT_SAYS(message<wp::FileError>(path("none.npy")), "cannot be opened: No such file or directory");
  EXPECT_SAYS(message<wp::FileError>(directory_.string()), "Is a directory");
  EXPECT_THROW(wp::save(path("no/such/t.npy"), Tensor{1.0}), wp::FileError);
  EXPECT_THROW(wp::save(directory_.string() + "/", Tensor{1.0}), wp::ArgumentError);
  fs::create_directory(path("d.npy"));
  EXPECT_THROW(wp::save(path("d.npy"), Tensor{1.0}), wp::FileError);
  EXPECT_THROW(wp::save(path("t.xyz"), Tensor{1.0}), wp::ArgumentError);
  EXPECT_THROW(wp::save(path("t.npy"), Tensor()), wp::ArgumentError);
  EXPECT_SAYS(message(write("t.xyz", "hello")), "does not end in one of .npy, .npz, .safetensors, .mtx, .csv");
  EXPECT_EQ(files(), 2U);
}

TEST_F(Files, IsTheOldOrTheNewOneAfterAKillAtAnyMoment) {
  const std::size_t size = 1 << 18;
  const auto of = [&](float v) {
    return Tensor::from(std::vector<float>(size, v), {static_cast<std::int64_t>(size)});
  };
  wp::save(path("t.npy"), of(0));
  std::set<float> seen;
  const int times = long_tests() ? 200 : 12;
  for (int k = 0; k < times || (seen.size() < 2 && k < 2 * times); ++k) {  // on a slow machine more, and longer ones
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (float v = 1;; ++v) wp::save(path("t.npy"), of(v));
    usleep(static_cast<useconds_t>(3000 + 1700 * (k < times ? k % 12 : 10 * k)));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const std::vector<float> v = wp::load(path("t.npy"), {.copy = true}).to_vector<float>();
    ASSERT_EQ(v.size(), size);
    EXPECT_TRUE(std::all_of(v.begin(), v.end(), [&](float x) { return x == v[0]; })) << k;
    seen.insert(v[0]);
  }
  EXPECT_GT(seen.size(), 1U) << "no save came to its end";
}

TEST_F(Files, SaysThatADiskIsFull) {
  fs::create_symlink("/dev/full", path("full.npy"));
  try {
    wp::save(path("full.npy"), Tensor{1.0});
    FAIL() << "a full device took the bytes";
  } catch (const wp::FileError& e) {
    EXPECT_SAYS(std::string(e.what()), "No space left on device");
  }
}

TEST_F(Files, WritesThroughLinksAndKeepsTheMode) {
  write("real.npy", "old");
  ASSERT_EQ(chmod(path("real.npy").c_str(), 0640), 0);
  fs::create_symlink("real.npy", path("link.npy"));
  wp::save(path("link.npy"), Tensor{1.0, 2.0});
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_EQ(wp::load(path("real.npy")).to_vector<double>(), (std::vector<double>{1, 2}));
  struct stat info {};
  ASSERT_EQ(stat(path("real.npy").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
  EXPECT_EQ(files(), 2U);
}

TEST_F(Files, ReadsAPipeAndKnowsNpyByItsFirstBytes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string file = npy("<i4", false, "(50000,)", std::string(200000, '\1'));
  std::thread writer([&] { std::ofstream(path("pipe"), std::ios::binary) << file; });
  const Tensor t = wp::load(path("pipe"));
  writer.join();
  EXPECT_EQ(t.shape(), (Dims{50000}));
  EXPECT_EQ(t.to_vector<int>().back(), 0x01010101);
}

}  // namespace
