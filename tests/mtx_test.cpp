#include <cmath>

#include "damage.hpp"
#include "io/blocks.hpp"
#include "kernels/convert.hpp"

namespace {

using Mtx = Files;
using wp::complex128;

const std::string banner = "%%MatrixMarket matrix ";

std::vector<std::int64_t> whole(const wp::NamedTensors& arrays, std::size_t k) {
  return arrays[k].second.to_vector<std::int64_t>();
}

TEST_F(Mtx, ReadsDenseFilesDownTheirColumns) {
  const Tensor t = wp::load(write("t.mtx", banner + "array real general\n% note\n\n2 3\n1\n4\n2.5\n5\n3\n-6e-1\n"));
  EXPECT_EQ(t.shape(), (Dims{2, 3}));
  EXPECT_EQ(t.to_vector<double>(), (std::vector<double>{1, 2.5, 3, 4, 5, -0.6}));
  const Tensor i = wp::load(write("t.mtx", banner + "Array INTEGER General\r\n1 2\r\n-3\r\n9223372036854775807\r\n"));
  EXPECT_EQ(i.to_vector<std::int64_t>(), (std::vector<std::int64_t>{-3, std::numeric_limits<std::int64_t>::max()}));
  EXPECT_EQ(wp::load(write("t.mtx", banner + "array real symmetric\n2 2\n1\n2\n3\n")).to_vector<double>(),
            (std::vector<double>{1, 2, 2, 3}));
  EXPECT_EQ(wp::load(write("t.mtx", banner + "array real skew-symmetric\n3 3\n1\n2\n3\n")).to_vector<double>(),
            (std::vector<double>{0, -1, -2, 1, 0, -3, 2, 3, 0}));
  EXPECT_EQ(
      wp::load(write("t.mtx", banner + "array complex hermitian\n2 2\n1 0\n2 3\n4 0\n")).to_vector<complex128>(),
      (std::vector<complex128>{1, {2, -3}, {2, 3}, 4}));
  EXPECT_EQ(wp::load(write("t.mtx", banner + "array real general\n0 3\n")).shape(), (Dims{0, 3}));
}

TEST_F(Mtx, GivesTheRowsOfASparseMatrixToALinearOperator) {
  write("t.mtx", banner + "coordinate real general\n3 4 5\n3 1 5\n1 2 2\n1 1 1\n3 4 -1\n1 2 0.5\n");
  const wp::NamedTensors a = wp::load_all(path("t.mtx"));
  EXPECT_EQ(whole(a, 0), (std::vector<std::int64_t>{0, 3, 3, 5}));
  EXPECT_EQ(whole(a, 1), (std::vector<std::int64_t>{0, 1, 1, 0, 3}));
  EXPECT_EQ(a[2].second.to_vector<double>(), (std::vector<double>{1, 2, 0.5, 5, -1}));
  EXPECT_EQ(whole(a, 3), (std::vector<std::int64_t>{3, 4}));
  const auto op = wp::linalg::LinearOperator::csr(a[0].second, a[1].second, a[2].second, 3, 4);
  EXPECT_EQ(op(Tensor{1.0, 2.0, 3.0, 4.0}).to_vector<double>(), (std::vector<double>{6, 0, 1}));
  EXPECT_SAYS(message<wp::ArgumentError>(path("t.mtx")), "dense = true");
  EXPECT_EQ(wp::load(path("t.mtx"), {.dense = true}).to_vector<double>(),
            (std::vector<double>{1, 2.5, 0, 0, 0, 0, 0, 0, 5, 0, 0, -1}));
}

TEST_F(Mtx, MirrorsSymmetricSkewAndHermitianEntries) {
  EXPECT_EQ(wp::load(write("t.mtx", banner + "coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"), {.dense = true})
                .to_vector<double>(),
            (std::vector<double>{1, 1, 1, 0}));
  EXPECT_EQ(wp::load(write("t.mtx", banner + "coordinate integer skew-symmetric\n2 2 1\n2 1 7\n"), {.dense = true})
                .to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, -7, 7, 0}));
  EXPECT_EQ(
      wp::load(write("t.mtx", banner + "coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 2\n"), {.dense = true})
          .to_vector<complex128>(),
      (std::vector<complex128>{3, {1, -2}, {1, 2}, 0}));
  EXPECT_EQ(wp::load(write("t.mtx", banner + "coordinate complex symmetric\n2 2 1\n2 1 1 2\n"), {.dense = true})
                .to_vector<complex128>(),
            (std::vector<complex128>{0, {1, 2}, {1, 2}, 0}));
}

TEST_F(Mtx, NamesTheLineThatIsWrong) {
  const auto refused = [&](const std::string& text) { return message(write("t.mtx", text), {.dense = true}); };
  EXPECT_SAYS(refused(""), "at byte 0");
  EXPECT_SAYS(refused("%%MatrixMarke"), "begins with %%MatrixMarket");
  EXPECT_SAYS(refused(banner + "array quaternion general\n1 1\n1\n"), "field 'quaternion' is not read");
  EXPECT_SAYS(refused(banner + "array pattern general\n1 1\n"), "a pattern is sparse");
  EXPECT_SAYS(refused(banner + "array real hermitian\n1 1\n1\n"), "Hermitian matrix is complex");
  EXPECT_SAYS(refused(banner + "array real symmetric\n1 2\n1\n2\n"), "square");
  EXPECT_SAYS(refused(banner + "array real general\n2 2\n1\n2\n3\n"), "truncated");
  EXPECT_SAYS(refused(banner + "array real general\n1 1\n1\n2\n"), "line 4: text follows");
  EXPECT_SAYS(refused(banner + "array real general\n1 1\n1 2\n"), "more than one entry");
  EXPECT_SAYS(refused(banner + "array real general\n1 1\nx\n"), "line 3: 'x' is not a number");
  EXPECT_SAYS(refused(banner + "array real general\n1 1\n1e999\n"), "beyond the largest f64");
  EXPECT_SAYS(refused(banner + "array integer general\n1 1\n1.5\n"), "not an integer");
  EXPECT_SAYS(refused(banner + "array real general\n4000000000 4000000000\n1\n"), "no such matrix");
  EXPECT_SAYS(refused(banner + "coordinate real general\n2 2 1000000000000\n1 1 1\n"), "truncated");
  EXPECT_SAYS(
      message(write("t.mtx", banner + "coordinate real general\n4000000000 2 1\n1 1 1\n"), {.names = {"data"}}),
      "promises 4000000000 rows for 1 entry: their index would take 30 GiB");
  EXPECT_SAYS(refused(banner + "coordinate real general\n2 2 1\n3 1 1\n"), "row 3 is outside of 1 to 2");
  EXPECT_SAYS(refused(banner + "coordinate real general\n2 2 1\n0 1 1\n"), "row 0 is outside");
  EXPECT_SAYS(refused(banner + "coordinate real symmetric\n2 2 1\n1 2 1\n"), "not below the diagonal");
}

TEST_F(Mtx, ReadsBackWhatItWroteDenseAndSparse) {
  const Tensor t = Tensor::from(std::vector<double>{0.1, -0.0, 1e300, 5e-324, 1.0 / 3, 7}, {2, 3});
  wp::save(path("t.mtx"), t);
  EXPECT_EQ(contents(wp::load_all(path("t.mtx"))), contents({{"", t}}));
  wp::save(path("t.mtx"), wp::permute_dims(t, {1, 0}));
  EXPECT_EQ(wp::load(path("t.mtx")).to_vector<double>(), wp::permute_dims(t, {1, 0}).to_vector<double>());
  wp::save(path("t.mtx"), Tensor{complex128(1, -2), complex128(0.5, 0)});
  EXPECT_EQ(wp::load(path("t.mtx")).to_vector<complex128>(), (std::vector<complex128>{{1, -2}, 0.5}));
  const wp::NamedTensors sparse{{"indptr", Tensor{0, 2, 2, 3}},
                                {"indices", Tensor{0, 2, 1}},
                                {"data", Tensor{1.5, 2.5, -3.5}},
                                {"shape", Tensor{3, 3}}};
  wp::save_all(path("s.mtx"), sparse);
  EXPECT_EQ(contents(wp::load_all(path("s.mtx"))), contents(sparse));
  EXPECT_THROW(wp::save_all(path("x.mtx"), {sparse[0], sparse[1], sparse[2]}), wp::ArgumentError);
  EXPECT_THROW(wp::save(path("x.mtx"), Tensor::from(std::vector<float>(8), {2, 2, 2})), wp::ShapeError);
}

TEST_F(Mtx, UnfoldsToADenseMatrixOnlyAsFarAsIsAllowed) {
  const std::string file = write("q.mtx", banner + "coordinate real general\n100000000 2 1\n1 1 5\n");
  EXPECT_SAYS(message(file, {.dense = true}), "take 1.5 GiB");
  const std::string small = write("s.mtx", banner + "coordinate real general\n100 2 1\n1 1 5\n");
  EXPECT_SAYS(message(small, {.dense = true, .max_unfolded = 1599}),
              "as a dense matrix, 100 × 2 elements (1 is stored)");
  EXPECT_EQ(wp::load(small, {.dense = true, .max_unfolded = 1600}).shape(), (Dims{100, 2}));
}

TEST_F(Mtx, SurvivesEveryCutAndEveryTurnedBit) {
  for (const std::string& file : {banner + "coordinate real symmetric\n%c\n3 3 3\n1 1 2.5\n3 1 -1\n2 2 1e3\n",
                                  banner + "array complex general\n1 2\n1 2\n-3 4.5\n"})
    each_damage(file, [&](const std::string& damaged, const std::string& what) {
      try {
        const wp::NamedTensors all = wp::load_all(write("t.mtx", damaged));
        std::int64_t held = 0;
        for (const auto& [name, t] : all) held += name == "indptr" ? 0 : t.size();
        EXPECT_LE(held, static_cast<std::int64_t>(damaged.size())) << what;
      } catch (const wp::FormatError& e) {
        EXPECT_SAYS(std::string(e.what()), "t.mtx' at byte ") << what;
      }
    });
}

}  // namespace
