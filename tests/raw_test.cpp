#include "damage.hpp"
#include "io/blocks.hpp"

namespace {

using Raw = Files;

TEST_F(Raw, BytesBecomeWhatTheReaderSaysTheyAre) {
  const Tensor t = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});
  wp::save(path("t.bin"), t);
  EXPECT_EQ(read(path("t.bin")).size(), 24U);
  EXPECT_EQ(contents({{"", wp::load(path("t.bin"), {.dtype = wp::f32, .shape = Dims{-1, 2}})}}), contents({{"", t}}));
  EXPECT_EQ(wp::load(path("t.bin"), {.dtype = wp::f32}).shape(), (Dims{6}));
  EXPECT_EQ(wp::load(path("t.bin"), {.dtype = wp::f32, .offset = 16}).to_vector<double>(),
            (std::vector<double>{5, 6}));
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.bin")), "its dtype must be given");
  EXPECT_SAYS(message(path("t.bin"), {.dtype = wp::f64, .shape = Dims{5}}), "24 bytes follow");
  EXPECT_SAYS(message(path("t.bin"), {.dtype = wp::f32, .shape = Dims{-1, 4}}), "24 bytes follow");
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.bin"), {.dtype = wp::f32, .shape = Dims{-1, -1}}), "at most one");
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.bin"), {.dtype = wp::f32, .offset = 25}), "got offset 25");
}

TEST_F(Raw, WritersOfRowsMakeTheFileThatSaveMakes) {
  const Tensor t = wp::reshape(wp::arange(24.0), {6, 4});
  for (const char* name : {"t.npy", "t.csv", "t.tsv", "t.bin", "t.npz", "packed.npz", "t.safetensors"}) {
    {
      wp::RowWriter out(path(name), {.compress = std::string(name) == "packed.npz"});
      for (const auto& [from, to] : {std::pair{0, 1}, {1, 1}, {1, 4}, {4, 6}})
        if (from != to || from == 1) out.append(t[{wp::slice(from, to)}]);
      EXPECT_FALSE(fs::exists(path(name)));
      out.close();
    }
    wp::LoadOptions options;
    if (std::string(name) == "t.bin") options = {.dtype = wp::f64, .shape = Dims{-1, 4}};
    EXPECT_EQ(wp::load(path(name), options).to_vector<double>(), t.to_vector<double>()) << name;
    EXPECT_EQ(wp::load(path(name), options).shape(), t.shape()) << name;
  }
  {
    wp::RowWriter left(path("left.npy"));
    left.append(t);
    EXPECT_THROW(left.append(Tensor{1.0}), wp::ShapeError);
  }
  EXPECT_EQ(files(), 7U);
  EXPECT_THROW(wp::RowWriter(path("t.mtx")), wp::ArgumentError);
}

}  // namespace
