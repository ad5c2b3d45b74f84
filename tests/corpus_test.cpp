// The corpus of the fuzzers, as an ordinary test; what they find goes there.
#include "damage.hpp"
#include "fuzz/files.hpp"

namespace {

const fs::path corpus = fs::path(WP_SOURCE_TREE) / "tests/fuzz/corpus";

std::string bytes_of_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Corpus, IsReadOrRefusedAsItsNamesSay) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(corpus)) {
    const std::string name = entry.path().filename().string();
    const bool good = wp::fuzz::read_as(*wp::io::format_of(name), bytes_of_file(entry.path()));
    if (!name.starts_with("edge-")) {
      EXPECT_EQ(good, name.starts_with("good-")) << name;
    }
    ++count;
  }
  EXPECT_GE(count, 40);
}

// Every file is read as every format too: names lie.
TEST(Corpus, IsATypedErrorUnderAWrongName) {
  for (const auto& entry : fs::directory_iterator(corpus))
    for (const wp::io::Format& format : wp::io::formats())
      EXPECT_NO_THROW(wp::fuzz::read_as(format, bytes_of_file(entry.path())));
}

TEST(Corpus, SurvivesEveryCutAndEveryTurnedBit) {
  for (const auto& entry : fs::directory_iterator(corpus)) {
    const std::string name = entry.path().filename().string();
    const std::string file = bytes_of_file(entry.path());
    if (!name.starts_with("good-") || file.size() > 1000) continue;
    each_damage(file, [&](const std::string& damaged, const std::string&) {
      const std::size_t before = wp::memory::stats().live;
      wp::fuzz::read_as(*wp::io::format_of(name), damaged);
      EXPECT_EQ(wp::memory::stats().live, before);
    });
  }
}

}  // namespace
