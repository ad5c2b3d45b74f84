// What memory readers ask for before they know that a header is true.
#include <cstring>

#include "counted.hpp"
#include "damage.hpp"
#include "fuzz/files.hpp"

namespace {

constexpr std::int64_t kSlack = 64 * 1024;

// The most memory that was in use while the bytes were refused; 0: they were read.
std::int64_t asked_to_refuse(const std::string& name, const std::string& bytes, bool dense = false) {
  const wp::fuzz::MemoryFile file(bytes);
  bool refused = false;
  const std::int64_t peak = asked::most_while([&] {
    try {
      const wp::io::Source source(file.path());
      (void)wp::io::format_of(name)->read_all(source, {.copy = true, .dense = dense});
    } catch (const wp::FormatError&) {
      refused = true;
    }
  });
  return refused ? std::max<std::int64_t>(peak, 1) : 0;
}

class Asked : public Files {
 protected:
  void SetUp() override {
    Files::SetUp();
    asked::fill_pools();
    for (const char* name : {"x.npy", "x.npz", "x.mtx", "x.safetensors"}) (void)asked_to_refuse(name, "x");
  }
};

TEST_F(Asked, IsCountedAtAll) {
  const std::string large(1 << 20, 'x');  // a text of a MiB is read whole before it is refused
  EXPECT_GE(asked_to_refuse("t.mtx", large), 1 << 20);
  EXPECT_EQ(asked_to_refuse("t.npy", npy("|u1", false, "(3,)", "abc")), 0);
}

TEST_F(Asked, NoRefusalCostsMoreThanTheFileAnd64KiB) {
  const fs::path corpus = fs::path(WP_SOURCE_TREE) / "tests/fuzz/corpus";
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(corpus)) {
    const std::string ending = entry.path().extension().string(), bytes = read(entry.path().string());
    if (ending == ".csv" || ending == ".tsv" || bytes.size() > 1000) continue;  // text has no header that promises
    const auto attempt = [&](const std::string& damaged, const std::string& what) {
      const std::int64_t asked = asked_to_refuse("t" + ending, damaged);
      refused += asked > 0;
      EXPECT_LE(asked, static_cast<std::int64_t>(damaged.size()) + kSlack) << entry.path().filename() << ' ' << what;
    };
    attempt(bytes, "as it is");
    each_damage(bytes, attempt);
  }
  EXPECT_GT(refused, 10000);
}

TEST_F(Asked, NothingOfWhatALyingHeaderPromises) {
  const auto le = [](std::uint64_t v, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, v >>= 8) out += static_cast<char>(v & 0xff);
    return out;
  };
  const std::string array = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1000000000],\"data_offsets\":[0,4000000000]}}";
  const std::string many =
      std::string("PK\5\6") + le(0, 4) + le(0xfffe, 2) + le(0xfffe, 2) + le(46, 4) + le(0, 4) + le(0, 2);
  const std::vector<std::pair<std::string, std::string>> files{
      {"w.npy", npy("<f8", false, "(65536, 65536)", "12345678")},
      {"h.npy", std::string("\x93NUMPY\2\0", 8) + le(0xfffffff0U, 4) + "{}"},
      {"l.safetensors", le(std::uint64_t{1} << 40, 8) + "{}"},
      {"a.safetensors", le(array.size(), 8) + array},
      {"e.npz", std::string(46, '\0') + many},
      {"d.mtx", "%%MatrixMarket matrix array real general\n100000 100000\n1\n"},
      {"c.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 1000000000\n1 1 1\n"},
      {"r.mtx", "%%MatrixMarket matrix coordinate real general\n1000000000 5 1\n1 1 1\n"},
  };
  for (const auto& [name, bytes] : files) {
    const std::int64_t asked = asked_to_refuse(name, bytes);
    EXPECT_GT(asked, 0) << name << " was read";
    EXPECT_LE(asked, static_cast<std::int64_t>(bytes.size()) + kSlack) << name;
  }
}

TEST_F(Asked, NothingOfTheDenseMatrixThatASparseHeaderPromises) {
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  for (const std::string text :
       {"100000000 2 1\n1 1 5\n", "9000000000 9000000000 1\n1 1 5\n", "1000000 20 2\n1 1 5\n1 21 5\n"}) {
    const std::int64_t asked = asked_to_refuse("q.mtx", banner + text, true);
    EXPECT_GT(asked, 0) << text << " was read";
    EXPECT_LE(asked, static_cast<std::int64_t>(banner.size() + text.size()) + kSlack) << text;
  }
}

// What is kept of an array or of a text is bounded by the header that names it, and by their number.
TEST_F(Asked, AFewTimesTheHeaderOfManyArraysThatLie) {
  std::string arrays = "{", texts = "{\"__metadata__\":{";
  for (int i = 0; i < 200000; ++i)
    arrays += (i ? "," : "") + std::string("\"") + std::to_string(i) +
              "\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[5,6]}";
  for (int i = 0; i < 2000000; ++i) texts += (i ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
  for (const std::string& header : {arrays + "}", texts + "}}"}) {
    std::string length(8, '\0');
    const std::uint64_t bytes = header.size();
    std::memcpy(length.data(), &bytes, 8);
    const std::int64_t asked = asked_to_refuse("m.safetensors", length + header);
    EXPECT_GT(asked, 0) << "was read";
    EXPECT_LE(asked, 4 * static_cast<std::int64_t>(header.size())) << header.substr(0, 60);
  }
  const auto le = [](std::uint64_t v, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, v >>= 8) out += static_cast<char>(v & 0xff);
    return out;
  };
  constexpr std::uint64_t count = 60000;
  std::string zip;
  for (std::uint64_t i = 0; i < count; ++i) zip += "PK\1\2" + std::string(42, '\0');
  zip += "PK\5\6" + le(0, 4) + le(count, 2) + le(count, 2) + le(46 * count, 4) + le(0, 4) + le(0, 2);
  const std::int64_t asked = asked_to_refuse("m.npz", zip);
  EXPECT_GT(asked, 0) << "was read";
  EXPECT_LE(asked, 4 * static_cast<std::int64_t>(zip.size()));
}

}  // namespace
