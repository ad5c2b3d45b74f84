#include <cmath>
#include <cstring>

#include "damage.hpp"
#include "io/blocks.hpp"
#include "io/zip.hpp"

namespace {

using Npz = Files;

wp::NamedTensors three() {
  return {{"weights", Tensor{{1.5, -2.0}, {0.25, 1e300}}},
          {"größe", Tensor::from(std::vector<std::int16_t>{7, 8, 9}, {3})},
          {"flag", Tensor::from(std::vector<std::uint8_t>{}, {0, 2})}};
}

TEST_F(Npz, BringsNamesDtypesAndBitsBackStoredAndDeflated) {
  for (const bool compress : {false, true}) {
    wp::save_all(path("t.npz"), three(), {.compress = compress});
    const wp::NamedTensors back = wp::load_all(path("t.npz"));
    EXPECT_EQ(contents(back), contents(three()));
    EXPECT_EQ(wp::load(path("t.npz"), {.names = {"größe"}}).to_vector<int>(), (std::vector<int>{7, 8, 9}));
    const wp::NamedTensors two = wp::load_all(path("t.npz"), {.names = {"flag", "weights"}});
    EXPECT_EQ(two[0].first + two[1].first, "flagweights");
  }
  wp::save(path("one.npz"), Tensor{1, 2});
  EXPECT_EQ(wp::load_all(path("one.npz"))[0].first, "arr_0");
  EXPECT_EQ(wp::load(path("one.npz")).to_vector<int>(), (std::vector<int>{1, 2}));
}

TEST_F(Npz, AsksWhichArrayIsMeantAndListsThem) {
  wp::save_all(path("t.npz"), three());
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.npz")), "holds 3 arrays: 'weights'");
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.npz"), {.names = {"bias"}}), "has no array 'bias'");
  EXPECT_THROW(wp::save_all(path("u.npz"), {{"a", Tensor{1}}, {"a", Tensor{2}}}), wp::ArgumentError);
  EXPECT_THROW(wp::save_all(path("u.npz"), {{"", Tensor{1}}}), wp::ArgumentError);
  EXPECT_THROW(wp::save_all(path("u.npy"), {{"a", Tensor{1}}}), wp::ArgumentError);
  wp::save_all(path("none.npz"), {});
  EXPECT_TRUE(wp::load_all(path("none.npz")).empty());
  EXPECT_SAYS(message(path("none.npz")), "holds no array");
  EXPECT_EQ(files(), 2U);
}

TEST_F(Npz, MapsLargeStoredArraysAndStreamsPackedOnes) {
  std::vector<double> values(1 << 18);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
  const Tensor t = Tensor::from(values, {1 << 15, 8});
  for (const bool compress : {false, true}) {
    wp::save_all(path("t.npz"), {{"small", Tensor{1}}, {"large", t}}, {.compress = compress});
    const Tensor back = wp::load(path("t.npz"), {.names = {"large"}});
    EXPECT_EQ(back.node()->borrowed, !compress);
    EXPECT_EQ(back.to_vector<double>(), values);
    auto readers = wp::io::open_blocks(path("t.npz"), {.load = {.names = {"large"}}});
    std::vector<Tensor> block;
    std::vector<double> seen;
    while (readers[0]->next(1000, block))
      for (const double v : block[0].to_vector<double>()) seen.push_back(v);
    EXPECT_EQ(seen, values);
    EXPECT_EQ(readers[0]->bytes_done(), readers[0]->bytes());
  }
}

// Every byte of an archive is checked against another: damage is an error, or lies in what nobody reads (dates,
// versions, attributes).
TEST_F(Npz, FindsEveryCutAndEveryTurnedBitOrReadsTheSame) {
  for (const bool compress : {false, true}) {
    wp::save_all(path("good.npz"), {{"w", Tensor{{1.5, -2.0}}}, {"b", Tensor{1, 2}}}, {.compress = compress});
    const std::string good = contents(wp::load_all(path("good.npz")));
    each_damage(read(path("good.npz")), [&](const std::string& damaged, const std::string& what) {
      wp::memory::trim();
      const std::size_t before = wp::memory::stats().live;
      try {
        EXPECT_EQ(contents(wp::load_all(write("t.npz", damaged))), good) << what;
      } catch (const wp::FormatError& e) {
        EXPECT_SAYS(std::string(e.what()), "t.npz") << what;
        EXPECT_TRUE(std::string(e.what()).find("at byte") != std::string::npos ||
                    std::string(e.what()).find("promises") != std::string::npos)
            << what << e.what();
      }
      EXPECT_EQ(wp::memory::stats().live, before);
    });
  }
}

// A zip archive by hand: one entry, the directory's sizes as given.
std::string archive(const std::string& name, const std::string& packed, std::uint16_t method, std::uint32_t crc,
                    std::uint32_t unpacked, int copies = 1) {
  const auto number = [](std::uint64_t v, int width) {
    std::string out;
    for (int i = 0; i < width; ++i, v >>= 8) out += static_cast<char>(v & 0xff);
    return out;
  };
  const std::string sizes = number(crc, 4) + number(packed.size(), 4) + number(unpacked, 4);
  const std::string local = "PK\3\4" + number(20, 2) + number(0, 2) + number(method, 2) + number(0, 4) + sizes +
                            number(name.size(), 2) + number(0, 2) + name + packed;
  std::string directory;
  for (int i = 0; i < copies; ++i)
    directory += "PK\1\2" + number(20, 2) + number(20, 2) + number(0, 2) + number(method, 2) + number(0, 4) + sizes +
                 number(name.size(), 2) + number(0, 12) + number(0, 4) + name.substr(0, name.size() - 1) +
                 static_cast<char>(name.back() + (i > 0));
  return local + directory + "PK\5\6" + number(0, 4) + number(copies, 2) + number(copies, 2) +
         number(directory.size(), 4) + number(local.size(), 4) + number(0, 2);
}

TEST_F(Npz, RefusesBombsBeforeItAsksForMemory) {
  const std::string file = npy("<f8", false, "(2,)", std::string(16, '\1'));
  const auto size = static_cast<std::uint32_t>(file.size());
  const std::uint32_t crc = wp::io::crc32(0, file.data(), file.size());
  EXPECT_EQ(wp::load(write("t.npz", archive("w.npy", file, 0, crc, size))).shape(), (Dims{2}));
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", "xy", 8, 0, 0xfffffff0U))), "which deflate cannot");
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", std::string(3'000'000, 'x'), 8, 0, 2'000'000'000U))),
              "max_unfolded");
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", file, 0, crc, size, 2))), "another name");
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", file, 12, crc, size))), "neither stored nor deflated");
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", file, 0, crc ^ 1U, size))), "checksum");
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", file, 0, crc, size + 1))), "its sizes differ");
}

TEST_F(Npz, RefusesPickledObjectsWithTheReason) {
  const std::string file = npy("|O", false, "(1,)", "\x80\x03K\x01.");
  EXPECT_SAYS(message(write("t.npz", archive("w.npy", file, 0, wp::io::crc32(0, file.data(), file.size()),
                                             static_cast<std::uint32_t>(file.size())))),
              "would run code of the file");
  const std::string text = "hello";
  EXPECT_SAYS(message(write("t.npz", archive("w.txt", text, 0, wp::io::crc32(0, text.data(), text.size()), 5))),
              "not an npy file");
}

}  // namespace
