#include "io/blocks.hpp"

#include "files.hpp"

namespace {

using BlocksOfFiles = Files;

std::vector<double> all(wp::io::Blocks& blocks, std::size_t array, std::int64_t rows) {
  std::vector<double> out;
  std::vector<Tensor> block;
  for (std::int64_t row = 0; blocks.next(rows, block);) {
    EXPECT_LE(block[array].shape()[0], rows);
    row += block[array].shape()[0];
    EXPECT_EQ(blocks.row(), row);
    for (const double v : block[array].to_vector<double>()) out.push_back(v);
  }
  EXPECT_EQ(blocks.row(), blocks.rows());
  EXPECT_EQ(blocks.bytes_done(), blocks.bytes());
  return out;
}

TEST_F(BlocksOfFiles, OfAnyLengthGiveTheArrayOfAnNpyFile) {
  const Tensor t = wp::reshape(wp::astype(wp::arange(60), wp::i32), {10, 3, 2});
  wp::save(path("c.npy"), t);
  std::string fortran;
  const Tensor turned = wp::permute_dims(t, {2, 1, 0});
  for (const int v : turned.to_vector<int>()) {
    fortran += '\0';
    fortran += '\0';
    fortran += '\0';
    fortran += static_cast<char>(v);
  }
  write("f.npy", npy(">i4", true, "(10, 3, 2)", fortran));
  for (const char* file : {"c.npy", "f.npy"})
    for (const std::int64_t rows : {1, 3, 10, 1000}) {
      const auto readers = wp::io::open_blocks(path(file));
      ASSERT_EQ(readers.size(), 1U);
      EXPECT_EQ(readers[0]->rows(), 10);
      EXPECT_EQ(readers[0]->arrays()[0].shape, (Dims{10, 3, 2}));
      EXPECT_EQ(readers[0]->arrays()[0].dtype, wp::i32);
      EXPECT_EQ(all(*readers[0], 0, rows), t.to_vector<double>()) << file << rows;
    }
}

TEST_F(BlocksOfFiles, AreOneForAnArrayWithoutAxesAndNoneForOneWithoutRows) {
  wp::save(path("t.npy"), Tensor(wp::Scalar(2.5)));
  std::vector<Tensor> block;
  auto readers = wp::io::open_blocks(path("t.npy"));
  EXPECT_EQ(readers[0]->rows(), 1);
  ASSERT_TRUE(readers[0]->next(5, block));
  EXPECT_EQ(block[0].shape(), Dims{});
  EXPECT_EQ(block[0].item<double>(), 2.5);
  EXPECT_FALSE(readers[0]->next(5, block));
  wp::save(path("t.npy"), Tensor::from(std::vector<float>{}, {0, 4}));
  readers = wp::io::open_blocks(path("t.npy"));
  EXPECT_EQ(readers[0]->arrays()[0].shape, (Dims{0, 4}));
  EXPECT_FALSE(readers[0]->next(5, block));
}

TEST_F(BlocksOfFiles, OfATableAreItsColumnsOrTheMatrix) {
  write("t.csv", "a,b\n1,0.5\n2,1.5\n3,2.5\n4,\n");
  auto readers = wp::io::open_blocks(path("t.csv"));
  ASSERT_EQ(readers[0]->arrays().size(), 2U);
  EXPECT_EQ(readers[0]->arrays()[1].name, "b");
  EXPECT_EQ(all(*readers[0], 0, 3), (std::vector<double>{1, 2, 3, 4}));
  readers = wp::io::open_blocks(path("t.csv"), {.columns = false});
  EXPECT_EQ(readers[0]->arrays()[0].shape.back(), 2);
  EXPECT_EQ(all(*readers[0], 0, 2).size(), 8U);
}

TEST_F(BlocksOfFiles, AreWhatARowReaderGives) {
  const Tensor t = wp::reshape(wp::arange(70.0), {10, 7});
  wp::save(path("t.npy"), t);
  wp::save(path("t.csv"), t);
  wp::save(path("t.bin"), t);
  for (const bool compress : {false, true})
    wp::save_all(path(compress ? "p.npz" : "s.npz"), {{"t", t}, {"u", Tensor{1}}}, {.compress = compress});
  const auto all = [&](const char* file, std::int64_t limit, const wp::LoadOptions& options) {
    wp::RowReader reader(path(file), options);
    std::vector<double> out;
    while (const std::optional<Tensor> block = reader.next(limit)) {
      EXPECT_LE(block->shape(0), limit ? limit : 10);
      EXPECT_EQ(block->shape(1), 7);
      for (const double v : block->to_vector<double>()) out.push_back(v);
      EXPECT_EQ(reader.row(), static_cast<std::int64_t>(out.size()) / 7);
    }
    EXPECT_EQ(reader.rows(), 10);
    EXPECT_FALSE(reader.next(limit)) << "the end stays the end";
    return out;
  };
  for (const std::int64_t limit : {0, 1, 3, 100}) {
    EXPECT_EQ(all("t.npy", limit, {}), t.to_vector<double>());
    EXPECT_EQ(all("t.csv", limit, {}), t.to_vector<double>());
    EXPECT_EQ(all("t.bin", limit, {.dtype = wp::f64, .shape = Dims{-1, 7}}), t.to_vector<double>());
    EXPECT_EQ(all("s.npz", limit, {.names = {"t"}}), t.to_vector<double>());
    EXPECT_EQ(all("p.npz", limit, {.names = {"t"}}), t.to_vector<double>());
  }
}

TEST_F(BlocksOfFiles, OfARowReaderAreOfOneArrayAndWrongWhereTheFileIs) {
  wp::save_all(path("two.npz"), {{"a", Tensor{1, 2}}, {"b", Tensor{3}}});
  try {
    wp::RowReader reader(path("two.npz"));
    FAIL() << "which one?";
  } catch (const wp::ArgumentError& e) {
    EXPECT_SAYS(std::string(e.what()), "holds several arrays: 'a', 'b'");
    EXPECT_SAYS(std::string(e.what()), "blocks_test.cpp");
  }
  write("s.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n");
  EXPECT_THROW(wp::RowReader(path("s.mtx")), wp::ArgumentError);
  EXPECT_THROW(wp::RowReader(path("none.npy")), wp::FileError);
  EXPECT_THROW(wp::RowReader(write("t.npy", "x")), wp::FormatError);
  write("late.csv", "1,2\n3,4\n5,x\n");
  const auto read_all = [&] {
    for (wp::RowReader late(path("late.csv")); late.next(1);) {
    }
  };
  EXPECT_THROW(read_all(), wp::FormatError);
  wp::save(path("good.npy"), Tensor{1, 2});
  EXPECT_THROW(wp::RowReader(path("good.npy")).next(-1), wp::ArgumentError);
}

}  // namespace
