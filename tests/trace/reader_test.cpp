// Damaged recordings: what is there is read, and nothing crashes.
#include <random>

#include "long_tests.hpp"
#include "trace/worker.hpp"

namespace {

using wp::trace::Flight;
using wp::trace::parse_flight;

class Damaged : public Recordings {
 protected:
  void SetUp() override {
    Recordings::SetUp();
    const Worker worker(path("run.wpr"), "segv");
    worker.wait();
    whole_ = read(path("run.wpr"));
  }
  static void digest(const std::string& bytes) {
    try {
      const Flight f = parse_flight(bytes, "damaged.wpr");
      const wp::trace::Examined p = wp::trace::examine(f, {});
      EXPECT_FALSE(wp::trace::report_text(p, 5).empty());
    } catch (const wp::FormatError&) {
    }
  }
  std::string whole_;
};

TEST_F(Damaged, RecordingsAreReadToWhereTheyEnd) {
  const Flight whole = parse_flight(whole_, "run.wpr");
  const std::size_t ring = whole_.size() - 1024 * sizeof(wp::trace::CallRecord);
  const Flight half = parse_flight(whole_.substr(0, ring + 100 * sizeof(wp::trace::CallRecord)), "run.wpr");
  EXPECT_EQ(half.calls.size(), 100U);
  EXPECT_EQ(half.calls[3].op, whole.calls[3].op);
  ASSERT_EQ(half.missing.size(), 2U);
  EXPECT_NE(half.missing[0].find("The file is cut"), std::string::npos);
  for (std::size_t size = 0; size < whole_.size(); size += 1 + whole_.size() / 150) digest(whole_.substr(0, size));
}

TEST_F(Damaged, ByteFlipsLoseAtMostTheRecordTheyHit) {
  const Flight whole = parse_flight(whole_, "run.wpr");
  const std::size_t ring = whole_.size() - 1024 * sizeof(wp::trace::CallRecord);
  std::mt19937_64 random(3);
  for (int k = 0; k < 300; ++k) {
    std::string bytes = whole_;
    bytes[ring + random() % (whole.calls.size() * sizeof(wp::trace::CallRecord))] ^=
        static_cast<char>(1U << random() % 8);
    const Flight f = parse_flight(bytes, "run.wpr");
    EXPECT_GE(f.calls.size() + 1, whole.calls.size());
  }
}

TEST_F(Damaged, RecordingsWithoutAHeaderAreReadByTheUsualLayout) {
  std::string bytes = whole_;
  for (std::size_t i = 16; i < 200; ++i) bytes[i] = static_cast<char>(i * 37);
  const Flight f = parse_flight(bytes, "run.wpr");
  EXPECT_EQ(f.calls.size(), parse_flight(whole_, "run.wpr").calls.size());
  EXPECT_EQ(f.calls.back().op, "doomed_op");
  EXPECT_NE(f.missing.at(0).find("header is damaged"), std::string::npos);
}

TEST_F(Damaged, ThousandsOfMutationsNeverCrash) {
  std::mt19937_64 random(11);
  const int count = long_tests() ? 20000 : 2000;
  for (int k = 0; k < count; ++k) {
    std::string bytes = whole_;
    // Half of the blows fall on the parts before the records, where a byte counts for more.
    const std::size_t blows = 1 + random() % 64;
    for (std::size_t i = 0; i < blows; ++i) {
      const std::size_t reach = i % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), i % 4 ? 8192 : 120000);
      bytes[random() % reach] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    std::memcpy(bytes.data(), whole_.data(), std::min<std::size_t>(bytes.size(), 8));
    digest(bytes);
  }
}

TEST_F(Damaged, FilesThatAreNoRecordingsAreRefused) {
  EXPECT_THROW((void)parse_flight("", "x"), wp::FormatError);
  EXPECT_THROW((void)parse_flight(std::string(10000, 'x'), "x"), wp::FormatError);
  EXPECT_THROW((void)wp::trace::read_flight(path("none.wpr")), wp::FileError);
}

}  // namespace
