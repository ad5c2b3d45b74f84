#include "files.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/memory.hpp"
#include "kernels/convert.hpp"

namespace {

using Npy = Files;

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

TEST_F(Npy, BringsEveryDtypeBackFromNpyBitForBit) {
  const char pattern[] = {0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0,
                          1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1};
  for (int d = 0; d < wp::kDTypes; ++d) {
    const auto dtype = static_cast<wp::DType>(d);
    const std::size_t item = wp::size_of(dtype);
    std::vector<char> memory(pattern, pattern + sizeof pattern);
    if (dtype != wp::boolean)
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(37 * i + 11);
    const auto n = static_cast<std::int64_t>(sizeof pattern / item);
    for (const Dims& shape : {Dims{n}, Dims{1, n}, Dims{n, 1, 1}}) {
      const Tensor t = Tensor::borrow(memory.data(), dtype, shape);
      if (dtype == wp::bf16) {
        EXPECT_THROW(wp::save(path("t.npy"), t), wp::DtypeError);
        continue;
      }
      wp::save(path("t.npy"), t);
      const Tensor back = wp::load(path("t.npy"));
      ASSERT_EQ(back.dtype(), dtype);
      ASSERT_EQ(back.shape(), shape);
      EXPECT_EQ(std::memcmp(back.node()->data, memory.data(), t.nbytes()), 0) << wp::name(dtype);
    }
  }
}

TEST_F(Npy, WritesNpyThatIsVersionOneLittleEndianAndAligned) {
  wp::save(path("t.npy"), Tensor{{1.0, 2.0, 3.0}});
  const std::string file = read(path("t.npy"));
  EXPECT_EQ(file.substr(0, 8), bytes({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}));
  EXPECT_EQ((file.size() - 24) % 64, 0U);
  EXPECT_SAYS(file, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }");
  EXPECT_EQ(file[file.size() - 25], '\n');
}

TEST_F(Npy, KeepsZeroAxesAndZeroLengths) {
  for (const Tensor& t : {Tensor(wp::Scalar(2.5)), Tensor::from(std::vector<float>{}, {0}),
                          Tensor::from(std::vector<std::int16_t>{}, {3, 0, 2})}) {
    wp::save(path("t.npy"), t);
    const Tensor back = wp::load(path("t.npy"));
    EXPECT_EQ(back.shape(), t.shape());
    EXPECT_EQ(back.dtype(), t.dtype());
    EXPECT_EQ(back.to_vector<double>(), t.to_vector<double>());
  }
}

TEST_F(Npy, ReadsBigEndianOfEveryWidth) {
  EXPECT_EQ(wp::load(write("i2.npy", npy(">i2", false, "(2,)", bytes({1, 2, 0xff, 0xfe})))).to_vector<int>(),
            (std::vector<int>{258, -2}));
  EXPECT_EQ(wp::load(write("u4.npy", npy(">u4", false, "(1,)", bytes({0x80, 0, 0, 1})))).item<std::uint32_t>(),
            0x80000001U);
  EXPECT_EQ(wp::load(write("i8.npy", npy(">i8", false, "()", bytes({0, 0, 0, 0, 0, 0, 1, 0})))).item<std::int64_t>(),
            256);
  EXPECT_EQ(wp::load(write("f2.npy", npy(">f2", false, "(2,)", bytes({0x3c, 0, 0xc0, 0})))).to_vector<double>(),
            (std::vector<double>{1, -2}));
  EXPECT_EQ(wp::load(write("f4.npy", npy(">f4", false, "(1,)", bytes({0x40, 0x20, 0, 0})))).item<float>(), 2.5F);
  EXPECT_EQ(
      wp::load(write("f8.npy", npy(">f8", false, "(1,)", bytes({0xbf, 0xe0, 0, 0, 0, 0, 0, 0})))).item<double>(),
      -0.5);
  EXPECT_EQ(wp::load(write("c8.npy", npy(">c8", false, "(1,)", bytes({0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}))))
                .item<wp::complex64>(),
            wp::complex64(1, -2));
  EXPECT_EQ(wp::load(write("c16.npy", npy(">c16", false, "(1,)",
                                          bytes({0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0}))))
                .item<wp::complex128>(),
            wp::complex128(1, 2));
  EXPECT_EQ(wp::load(write("u1.npy", npy(">u1", false, "(2,)", bytes({7, 200})))).to_vector<int>(),
            (std::vector<int>{7, 200}));
}

TEST_F(Npy, ReadsFortranOrderWithTwoAndThreeAxes) {
  const Tensor two =
      wp::load(write("f.npy", npy("<i2", true, "(2, 3)", bytes({1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0}))));
  EXPECT_EQ(two.shape(), (Dims{2, 3}));
  EXPECT_EQ(two.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  const Tensor big =
      wp::load(write("b.npy", npy(">i2", true, "(2, 3)", bytes({0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6}))));
  EXPECT_EQ(big.to_vector<int>(), two.to_vector<int>());
  const Tensor three = wp::load(write("t.npy", npy("|u1", true, "(2, 2, 2)", bytes({0, 4, 2, 6, 1, 5, 3, 7}))));
  EXPECT_EQ(three.to_vector<int>(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  wp::save(path("again.npy"), three);  // not contiguous: written in C order
  EXPECT_EQ(wp::load(path("again.npy")).to_vector<int>(), three.to_vector<int>());
}

TEST_F(Npy, ReadsHeadersOfVersionTwoAndThreeAndOfPythonTwo) {
  for (const int major : {2, 3}) {
    std::string file = npy("<u2", false, "(1L,)", bytes({5, 1}));
    file[6] = static_cast<char>(major);
    file.insert(10, 2, '\0');
    EXPECT_EQ(wp::load(write("v.npy", file)).item<int>(), 261);
  }
  const std::string header = "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|b1\"}";
  std::string file = bytes({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<int>(header.size()), 0}) + header;
  EXPECT_EQ(wp::load(write("b.npy", file + bytes({0, 1}))).to_vector<bool>(), (std::vector<bool>{false, true}));
}

TEST_F(Npy, ShowsLargeFilesInPlaceUnlessAskedToCopy) {
  std::vector<double> values(1 << 18);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) * 0.5;
  const Tensor t = Tensor::from(values, {512, 512});
  wp::save(path("large.npy"), t);
  const Tensor shown = wp::load(path("large.npy"));
  EXPECT_TRUE(shown.node()->borrowed);
  EXPECT_EQ(shown.to_vector<double>(), values);
  const Tensor copied = wp::load(path("large.npy"), {.copy = true});
  EXPECT_FALSE(copied.node()->borrowed);
  EXPECT_EQ(copied.to_vector<double>(), values);
  wp::save(path("large.npy"), Tensor{1.0});  // replaces the file; what is shown stays
  EXPECT_EQ(shown.to_vector<double>(), values);
  EXPECT_EQ(wp::load(path("large.npy")).to_vector<double>(), (std::vector<double>{1.0}));
  wp::save(path("small.npy"), Tensor{1.0, 2.0});
  EXPECT_FALSE(wp::load(path("small.npy")).node()->borrowed);
}

TEST_F(Npy, ShowsLargeFortranFilesInPlaceToo) {
  std::string data((1 << 20) * 2, '\0');
  data[2] = 1;  // second element of the first column
  std::string file = npy("<i2", true, "(1024, 1024)", "");
  const std::size_t padding = 15 - (file.size() + 15) % 16;
  file.insert(file.size() - 1, padding, ' ');
  file[8] = static_cast<char>(file.size() - 10);
  const Tensor t = wp::load(write("f.npy", file + data));
  EXPECT_TRUE(t.node()->borrowed);
  EXPECT_EQ(t.strides(), (Dims{1, 1024}));
  EXPECT_EQ(wp::sum(t).item<int>(), 1);
  EXPECT_EQ(t.to_vector<int>()[1024], 1);
}

TEST_F(Npy, SaysWhatALyingHeaderPromisesAndWhatTheFileHolds) {
  std::string file = npy("<f8", false, "(65536, 65536)", "");
  file.insert(file.size() - 1, 128 - file.size(), ' ');
  file[8] = 118;
  const std::string text = message(write("w.npy", file));
  EXPECT_SAYS(text,
              "load: '" + path("w.npy") +
                  "' promises 32 GiB but holds 128 bytes: truncated or not an npy file (f64 [65536, 65536] from "
                  "byte 128). Nothing was read.");
  EXPECT_SAYS(message(write("w.npy", npy("<f8", false, "(2,)", std::string(17, 'x')))), "1 bytes follow the array");
}

TEST_F(Npy, RefusesSizesThatDoNotExist) {
  for (const char* shape : {"(4294967296, 4294967296)", "(9223372036854775807, 2)", "(0, 4611686018427387904, 8)",
                            "(4611686018427387904,)"})
    EXPECT_SAYS(message(write("w.npy", npy("<f8", false, shape, ""))), "promises more than 4 EiB but holds");
  EXPECT_SAYS(message(write("w.npy", npy("<f8", false, "(9223372036854775808,)", ""))), "is beyond 2^63 - 1");
  EXPECT_SAYS(message(write("w.npy", npy("<f8", false, "(-1,)", ""))), "no negative lengths");
  std::string axes = "(";
  for (int i = 0; i < 65; ++i) axes += "1, ";
  EXPECT_SAYS(message(write("w.npy", npy("<f8", false, axes + ")", "12345678"))), "more than 64 axes");
}

TEST_F(Npy, RefusesPythonObjectsAndOtherDtypesWithTheReason) {
  EXPECT_SAYS(message(write("w.npy", npy("|O", false, "(1,)", "x"))), "would run code of the file");
  EXPECT_SAYS(message(write("w.npy", npy("<U3", false, "(1,)", "x"))), "it holds text");
  EXPECT_SAYS(message(write("w.npy", npy("<M8[s]", false, "(1,)", "x"))), "dates or durations");
  EXPECT_SAYS(message(write("w.npy", npy("<f16", false, "(1,)", std::string(16, 'x')))), "astype('f8')");
  EXPECT_SAYS(message(write("w.npy", npy("|V2", false, "(1,)", "xx"))), "raw records");
  EXPECT_SAYS(message(write("w.npy", npy("<q9", false, "(1,)", "x"))), "no such dtype");
  EXPECT_SAYS(message(write("w.npy", npy("|f8", false, "(1,)", "x"))), "no byte order");
  std::string record = npy("X", false, "(1,)", "x");
  record.replace(record.find("'X'"), 3, "[ ]");
  EXPECT_SAYS(message(write("w.npy", record)), "several fields");
  EXPECT_SAYS(message(write("w.npy", npy("|b1", false, "(3,)", bytes({0, 1, 2})))),
              "a bool is stored as 0 or 1; found 2");
}

TEST_F(Npy, NamesTheByteAtWhichAHeaderIsWrong) {
  EXPECT_SAYS(message(write("w.npy", "")), "at byte 0: the file is empty");
  EXPECT_SAYS(message(write("w.npy", "PK\3\4 something else")),
              "at byte 0: not an npy file: it begins with 'PK\\x03\\x04");
  EXPECT_SAYS(message(write("w.npy", bytes({0x93, 'N', 'U', 'M'}))), "at byte 4: the file ends inside");
  std::string file = npy("<f8", false, "(1,)", std::string(8, '\0'));
  std::string wrong = file;
  wrong[6] = 9;
  EXPECT_SAYS(message(write("w.npy", wrong)), "at byte 6: npy version 9.0 is not known");
  wrong = file;
  wrong[9] = 100;
  EXPECT_SAYS(message(write("w.npy", wrong)), "at byte 8: the header is said to have");
  for (const auto& [old, fresh, says] :
       {std::array{"'descr'", "'dascr'", "unknown key 'dascr'"}, std::array{"False", "Felse", "True or False"},
        std::array{"(1,)", "[1,]", "shape must be a tuple"}, std::array{"(1,)", "( 1)", "written (n,)"},
        std::array{"(1,)", "(a,)", "a whole number"}, std::array{"{'", "['", "must be a Python dict"},
        std::array{", }\n", ", }x", "text follows the dict"},
        std::array{"'shape': (1,)", "'descr':'<f8'", "stands twice"}}) {
    wrong = file;
    wrong.replace(wrong.find(old), std::strlen(old), fresh);
    EXPECT_SAYS(message(write("w.npy", wrong)), says);
  }
}

// Every sample cut at every byte, and with every single bit turned: a typed error, or a tensor of the size the bytes
// say.
TEST_F(Npy, SurvivesEveryTruncationAndEveryBitFlip) {
  const std::vector<std::pair<std::string, std::string>> samples{
      {"a.npy", npy("<f8", false, "(2, 3)", std::string(48, 'x'))},
      {"b.npy", npy("|b1", true, "(2, 2)", bytes({0, 1, 1, 0}))},
      {"c.npy", npy(">c8", true, "(1, 2)", std::string(16, 'y'))},
      {"d.csv", "a,\"b\"\"c\",d\r\n1,2.5,-3\n\"4\",,nan\n# end\n5e300,inf,7\n"},
      {"e.tsv", "1\t2\n\n3\t4"}};
  for (const auto& [name, file] : samples) {
    const auto attempt = [&](const std::string& damaged) {
      try {
        const Tensor t = wp::load(write(name, damaged));
        ASSERT_TRUE(t.defined());
        const std::size_t held = name.ends_with(".npy") ? t.nbytes() : static_cast<std::size_t>(t.size());
        ASSERT_LE(held, damaged.size() + 1);
        double total = 0;
        for (const wp::complex128 v : t.to_vector<wp::complex128>()) total += v.real();
        (void)total;
      } catch (const wp::FormatError& e) {
        ASSERT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
      }
    };
    for (std::size_t n = 0; n < file.size(); ++n) attempt(file.substr(0, n));
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
      std::string damaged = file;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      attempt(damaged);
    }
  }
}

}  // namespace
