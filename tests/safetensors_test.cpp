#include <cstring>

#include "damage.hpp"
#include "io/blocks.hpp"

namespace {

using Safetensors = Files;

std::string file_of(const std::string& header, const std::string& data) {
  std::string out(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(out.data(), &length, 8);
  return out + header + data;
}
std::string array(const std::string& name, const std::string& dtype, const std::string& shape, int begin, int end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST_F(Safetensors, BringsEveryDtypeBackBitForBitWithItsMetadata) {
  std::vector<char> memory(96);
  wp::NamedTensors arrays;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i % 2);
  for (int d = 0; d < wp::kDTypes; ++d) {
    const auto dtype = static_cast<wp::DType>(d);
    if (dtype == wp::c128) continue;
    arrays.emplace_back(
        "x" + std::to_string(d),
        Tensor::borrow(memory.data(), dtype, {2, static_cast<std::int64_t>(48 / wp::size_of(dtype))}));
  }
  arrays.emplace_back("scalar", Tensor(wp::Scalar(2.5)));
  arrays.emplace_back("empty", Tensor::from(std::vector<float>{}, {0, 3}));
  arrays.emplace_back("turned", wp::permute_dims(Tensor{{1, 2, 3}, {4, 5, 6}}, {1, 0}));
  wp::save_all(path("t.safetensors"), arrays, {.metadata = {{"format", "pt"}, {"note", "a \"quoted\" ü"}}});
  EXPECT_EQ(contents(wp::load_all(path("t.safetensors"))), contents(arrays));
  const wp::Metadata metadata = wp::load_metadata(path("t.safetensors"));
  ASSERT_EQ(metadata.size(), 2U);
  EXPECT_EQ(metadata[1].second, "a \"quoted\" ü");
  EXPECT_EQ(wp::io::open_blocks(path("t.safetensors")).size(), arrays.size());
  EXPECT_THROW(wp::save(path("c.safetensors"), Tensor{wp::complex128(1, 2)}), wp::DtypeError);
  EXPECT_THROW(wp::save_all(path("c.safetensors"), {{"__metadata__", Tensor{1}}}), wp::ArgumentError);
}

TEST_F(Safetensors, RefusesOffsetsThatOverlapLeaveGapsOrLie) {
  const auto refused = [&](const std::string& header, std::size_t bytes) {
    return message(write("t.safetensors", file_of(header, std::string(bytes, '\0'))), {.names = {"a"}});
  };
  const std::string a = array("a", "F32", "[2]", 0, 8);
  EXPECT_EQ(wp::load(write("t.safetensors", file_of("{" + a + "}  ", std::string(8, '\0')))).shape(), (Dims{2}));
  EXPECT_SAYS(refused("{" + a + "," + array("b", "F32", "[2]", 4, 12) + "}", 12), "overlaps");
  EXPECT_SAYS(refused("{" + a + "," + array("b", "F32", "[1]", 12, 16) + "}", 16), "leaves a gap");
  EXPECT_SAYS(refused("{" + array("a", "F32", "[3]", 0, 8) + "}", 8), "but is f32 [3]");
  EXPECT_SAYS(refused("{" + array("a", "F32", "[4611686018427387904,8]", 0, 8) + "}", 8), "but is f32");
  EXPECT_SAYS(refused("{" + a + "}", 9), "promises 8 bytes of data, but 9 follow");
  EXPECT_SAYS(refused("{" + a + "}", 7), "truncated");
  EXPECT_SAYS(refused("{" + a + "," + a + "}", 8), "stands twice");
  EXPECT_SAYS(refused("{" + array("a", "F8_E4M3", "[8]", 0, 8) + "}", 8), "is not read");
  EXPECT_SAYS(refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 0), "needs dtype, shape and data_offsets");
  EXPECT_SAYS(refused("{\"a\":[1]}", 0), "bad safetensors header");
  EXPECT_SAYS(refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,0]}}", 0), "the number -1");
  EXPECT_SAYS(refused("{\"a\":", 0), "not JSON");
  EXPECT_SAYS(refused("[]", 0), "begins with '{'");
  EXPECT_SAYS(message(write("t.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}"))), "said to have");
  EXPECT_SAYS(message(write("t.safetensors", "abc")), "at byte 3");
  std::string deep(100000, '[');
  EXPECT_SAYS(refused("{\"a\":" + deep, 0), "bad safetensors header");
}

TEST_F(Safetensors, ReadsNothingBehindANulAsPadding) {
  const std::string a = "{" + array("a", "F32", "[2]", 0, 8) + "}", data(8, '\1');
  for (const std::string& tail : {std::string("\0", 1), std::string(" \0 ", 3), std::string("\0GARBAGE{{{", 11)})
    EXPECT_SAYS(message(write("t.safetensors", file_of(a + tail, data))), "NUL");
  EXPECT_EQ(wp::load(write("t.safetensors", file_of(a + " \n\t\r ", data))).shape(), (Dims{2}));
}

TEST_F(Safetensors, HoldsAsManyArraysAsAreWrittenAndRefusesMoreOnBothSides) {
  wp::NamedTensors many;
  for (int i = 0; i <= 100000; ++i) many.emplace_back(std::to_string(i), Tensor::from(std::vector<float>{}, {0}));
  EXPECT_THROW(wp::save_all(path("t.safetensors"), many), wp::ArgumentError);
  std::string header = "{";
  for (const auto& [name, t] : many) header += (header.size() > 1 ? "," : "") + array(name, "F32", "[0]", 0, 0);
  EXPECT_SAYS(message(write("t.safetensors", file_of(header + "}", ""))), "more than 100000 entries");
  many.pop_back();
  wp::save_all(path("t.safetensors"), many);
  EXPECT_EQ(wp::load_all(path("t.safetensors")).size(), 100000U);
}

// Turned bits in the elements are read as they stand; elsewhere they are an error, or change a name, a number's sign
// of life (metadata), a dtype or a shape of the same size.
TEST_F(Safetensors, IsWhatItsBytesSayOrAnErrorAfterEveryDamage) {
  const std::string header = "{\"__metadata__\":{\"k\":\"v\"}," + array("w", "F32", "[2,2]", 0, 16) + "," +
                             array("i", "I16", "[3]", 16, 22) + "}   ";  // padding is damaged, too
  const std::string file = file_of(header, "0123456789abcdefABCDEF");
  const std::size_t data = 8 + header.size();
  each_damage(file, [&](const std::string& damaged, const std::string& what) {
    try {
      const wp::NamedTensors arrays = wp::load_all(write("t.safetensors", damaged));
      std::string bits;
      for (const auto& [name, t] : arrays) bits += std::string(t.node()->data, t.nbytes());
      EXPECT_EQ(damaged.size(), file.size()) << what;
      EXPECT_EQ(bits, damaged.substr(data)) << what;
      EXPECT_EQ(damaged.find('\0', 8), std::string::npos) << what;
    } catch (const wp::FormatError& e) {
      EXPECT_SAYS(std::string(e.what()), "t.safetensors' at byte ") << what;
    }
  });
}

}  // namespace
