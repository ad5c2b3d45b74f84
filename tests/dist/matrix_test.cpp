#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "dist/matrix.hpp"
#include "dist/scalapack.hpp"
#include "dist/team.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

TEST(Axis, DealsOutEveryIndexOnceAndFindsItAgain) {
  for (const std::int64_t n : {0, 1, 5, 63, 64, 65, 1000})
    for (const std::int64_t block : {1, 3, 64})
      for (const int ranks : {1, 2, 3, 7}) {
        std::vector<int> seen(static_cast<std::size_t>(n), 0);
        for (int r = 0; r < ranks; ++r) {
          const Axis axis{n, block, ranks, r};
          for (std::int64_t i = 0; i < axis.count(); ++i) {
            const std::int64_t g = axis.global(i);
            ASSERT_LT(g, n);
            ++seen[static_cast<std::size_t>(g)];
            EXPECT_EQ(axis.owner(g), r);
            EXPECT_EQ(axis.local(g), i);
          }
        }
        for (const int s : seen) EXPECT_EQ(s, 1);
      }
}

TEST(Grid, MustHaveAsManyPlacesAsThereAreRanks) {
  const Grid grid;
  EXPECT_EQ(grid.rows() * grid.columns(), size());
  EXPECT_LE(grid.rows(), grid.columns());
  EXPECT_EQ(grid.row() * grid.columns() + grid.column(), rank());
  try {
    const Grid wrong(size() + 1, 1);
    ADD_FAILURE() << "a grid that the ranks do not form";
  } catch (const ArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("the ranks must form the grid"), std::string::npos) << e.what();
  }
}

TEST(Matrix, ComesTogetherAsItWasOnEveryGridAndBlock) {
  for (const DType dtype : {f32, f64, c64, c128})
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 5}, {20, 33}, {0, 4}}) {
      const Tensor whole = noise_matrix(m, n, dtype);
      for (const Layout& layout : layouts()) {
        const Matrix a = Matrix::from(whole, layout);
        const Tensor back = a.gather();
        EXPECT_EQ(back.dtype(), dtype);
        EXPECT_EQ(distance(back, whole), 0) << a.to_string();
        EXPECT_EQ(a.local().shape(), (Dims{a.local_rows(), a.local_columns()}));
        for (std::int64_t i = 0; i < a.local_rows(); ++i)
          for (std::int64_t j = 0; j < a.local_columns(); ++j)
            ASSERT_EQ(value_at(a.local(), i * a.local_columns() + j),
                      value_at(whole, a.global_row(i) * n + a.global_column(j)));
        if (m > 0) {
          EXPECT_EQ(distance(a.transposed().gather(), matrix_transpose(whole)), 0);
          EXPECT_EQ(distance(a.adjoint().gather(), adjoint_of(whole)), 0);
          EXPECT_EQ(distance(a.redistributed({Grid(1, size()), 4}).gather(), whole), 0);
          EXPECT_EQ(distance(Matrix::from_local(a.local(), m, n, layout).gather(), whole), 0);
        }
      }
    }
}

TEST(Matrix, KeepsSignedZerosAndNaN) {
  const Tensor whole{-0.0, std::nan(""), HUGE_VAL, 5e-324};
  const Tensor back = Matrix::from(whole, {Grid(), 1}).gather();
  EXPECT_TRUE(std::signbit(value_at(back, 0).real()));
  EXPECT_TRUE(std::isnan(value_at(back, 1).real()));
  EXPECT_EQ(value_at(back, 3).real(), 5e-324);
}

TEST(Matrix, IsMadeOfAFunctionWithoutAnyRankHoldingTheWhole) {
  const Matrix a = Matrix::generate(
      40, 30, f64, [](std::int64_t i, std::int64_t j) { return complex128(static_cast<double>(100 * i + j)); },
      some_layout(4));
  EXPECT_EQ(value_at(a.gather(), 12 * 30 + 7).real(), 1207);
  EXPECT_LE(a.local_rows() * a.local_columns(), size() == 1 ? 1200 : 800);
}

// A file that all ranks see.
std::string shared_file(const std::string& name) {
  std::string folder;
  if (rank() == 0)
    folder = (std::filesystem::temp_directory_path() / ("wp_dist_" + std::to_string(getpid()))).string();
  folder = broadcast_text(folder);
  std::filesystem::create_directories(folder);
  meet("folder");
  return folder + "/" + name;
}

TEST(Files, AreReadAndWrittenInPartsAsOneMachineDoes) {
  const std::string path = shared_file("a.npy"), back = shared_file("b.npy");
  for (const DType dtype : {f32, f64, c64, c128})
    for (const Dims& shape : {Dims{37, 23}, Dims{5}, Dims{1, 70}, Dims{0, 3}}) {
      const Tensor two = noise_matrix(shape[0], shape.size() == 2 ? shape[1] : 1, dtype);
      const Tensor whole = reshape(two, OptionalInts(shape).value());
      if (rank() == 0) save(path, whole);
      meet("saved");
      for (const Layout& layout : {Layout{}, some_layout(3), Layout{Grid(size(), 1), 8}}) {
        const Matrix a = Matrix::load(path, {.shape = shape, .layout = layout});
        EXPECT_EQ(a.is_vector(), shape.size() == 1);
        EXPECT_EQ(distance(a.gather(), whole), 0) << name(dtype) << ' ' << a.to_string();
        a.save(back);
        const Tensor again = load(back, {.copy = true});
        EXPECT_EQ(again.dtype(), dtype);
        EXPECT_EQ(distance(again, whole), 0);
        meet("compared");
      }
    }
}

TEST(Files, IntegersBecomeF64AndADtypeMayBeAskedFor) {
  const std::string path = shared_file("i.npy");
  if (rank() == 0) save(path, Tensor{{1, 2}, {3, 4}});
  meet("saved");
  EXPECT_EQ(Matrix::load(path).dtype(), f64);
  EXPECT_EQ(Matrix::load(path, {.dtype = c64}).dtype(), c64);
  EXPECT_EQ(value_at(Matrix::load(path, {.dtype = f32}).gather(), 3).real(), 4);
}

TEST(Files, ABrokenPromiseOrFileIsRaisedOnEveryRank) {
  const std::string path = shared_file("p.npy"), none = shared_file("none.npy"), table = shared_file("x.csv");
  if (rank() == 0) save(path, noise_matrix(6, 4));
  meet("saved");
  EXPECT_THROW(Matrix::load(path, {.shape = Dims{4, 6}}), ShapeError);
  EXPECT_THROW(Matrix::load(none), FileError);
  EXPECT_THROW(Matrix::load(table), ArgumentError);
  if (rank() == 0) std::filesystem::resize_file(path, 150);
  meet("cut");
  EXPECT_THROW(Matrix::load(path), FormatError);
  EXPECT_THROW(Matrix::from(ones({3}), {}).save("/nowhere/at/all.npy"), FileError);
}

TEST(Files, AWriteThatFailsLeavesNothingBehind) {
  const std::string path = shared_file("large/x.npy");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(folder);
  const Matrix a = Matrix::from(ones({200, 200}), some_layout());
  const auto files = [](const std::filesystem::path& f) {
    return std::distance(std::filesystem::directory_iterator(f), std::filesystem::directory_iterator());
  };
  const auto before = files("/proc/self/fd");
  rlimit was{};
  getrlimit(RLIMIT_FSIZE, &was);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{4096, was.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  EXPECT_THROW(a.save(path), FileError);
  setrlimit(RLIMIT_FSIZE, &was);
  std::signal(SIGXFSZ, handler);
  meet("tidied");  // rank 0 has
  EXPECT_EQ(files(folder), 0);
  EXPECT_EQ(files("/proc/self/fd"), before);
  meet("looked");
  EXPECT_NO_THROW(a.save(path));
}

TEST(Matrices, BlocksThatScalapackCannotCountAreRefused) {
  const Tensor t = eye(8);
  for (const std::int64_t block : {-1, 1025, 100000, 2147483647})
    EXPECT_THROW(Matrix::from(t, {{}, block}), ArgumentError) << block;
  EXPECT_THROW(Matrix::identity(8, f64, {{}, 3000000000}), ArgumentError);
  EXPECT_EQ(solve(Matrix::from(t, {{}, 1024}), Matrix::from(ones({8}), {{}, 1024})).rows(), 8);
}

TEST(Matrices, OfOtherValuesOnEveryRankAreRefused) {
  if (size() == 1) return;
  const Tensor t = eye(8);
  Tensor other = eye(8);
  other[{2, 3}] = 1e-300;
  EXPECT_THROW(Matrix::from(rank() == 0 ? other : t), ShapeError);
  EXPECT_NO_THROW(Matrix::from(matrix_transpose(t)));
}

// A layout that nobody asked for is chosen by the shape of each.
TEST(Matrices, OfTwoLayoutsOrDtypesGoTogetherAsOnOneMachine) {
  const Tensor a = noise_matrix(200, 20), b = noise_matrix(20, 30, f32), wide = noise_matrix(20, 200),
               square = noise_matrix(20, 20, c64), side = noise_matrix(20, 1);
  const Matrix product = matmul(Matrix::from(a), Matrix::from(b));
  EXPECT_EQ(product.dtype(), f64);
  EXPECT_LE(distance(product.gather(), matmul(a, b)), 1e-14);
  EXPECT_LE(distance(lstsq(Matrix::from(wide), Matrix::from(side)).gather(), linalg::lstsq(wide, side)), 1e-13);
  const Matrix x = solve(Matrix::from(square, some_layout(3)), Matrix::from(side, {Grid(size(), 1), 7}));
  EXPECT_EQ(x.dtype(), c128);
  EXPECT_LE(distance(x.gather(), linalg::solve(square, side)), 1e-12);
  const Matrix da = Matrix::from(a, some_layout(2)), db = Matrix::from(astype(a, f32), some_layout(3));
  GradientTape tape;
  watch(tape, db);
  EXPECT_LE(distance(gradient(tape, dot(da, db), db).gather(), astype(a, f32)), 1e-7);
}

TEST(Matrices, OfNothingOrOfIntegersAreRefused) {
  EXPECT_THROW(Matrix::from(Tensor(), some_layout()), ArgumentError);
  EXPECT_THROW(Matrix::from_local(Tensor(), 4, 4, some_layout()), ArgumentError);
  const Matrix a = Matrix::from(eye(8), some_layout());
  EXPECT_THROW(Matrix::from_local(astype(a.local(), i64), 8, 8, a.layout()), DtypeError);
}

TEST(Meeting, RanksThatDifferAreToldSoAllOfThem) {
  if (size() == 1) return;  // one rank cannot differ
  try {
    Matrix::from(ones({rank() == 1 ? 7 : 8, 8}), some_layout());
    ADD_FAILURE() << "shapes differ";
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("rank 1: dist.from f64 [7, 8]"), std::string::npos) << e.what();
  }
  const Matrix a = Matrix::from(eye(8), some_layout());
  EXPECT_THROW(rank() == 0 ? inv(a) : cholesky(a), ArgumentError);
  EXPECT_EQ(distance(inv(a).gather(), eye(8)), 0);  // and they go on together
}

TEST(Meeting, WhatFailsOnOneRankFailsOnAll) {
  const int last = size() - 1;
  try {
    together([&] {
      if (rank() == last) refuse<FormatError>("WP-FMT-001", "this part is damaged.");
    });
    ADD_FAILURE() << "an error was lost";
  } catch (const FormatError& e) {
    EXPECT_NE(std::string(e.what()).find("this part is damaged"), std::string::npos);
    const std::string who = size() > 1 ? "rank " + std::to_string(last) : "";
    EXPECT_NE(std::string(e.what()).find(who), std::string::npos) << e.what();
  }
}

TEST(Traffic, IsCountedAlsoInsideScaLAPACK) {
  const Traffic before = traffic();
  solve(Matrix::from(noise_matrix(64, 64), some_layout(8)), Matrix::from(ones({64}), some_layout(8)));
  const Traffic after = traffic();
  EXPECT_GE(after.flops - before.flops, 2.0 / 3 * 64 * 64 * 64 / size());
  if (size() > 1) {
    EXPECT_GT(after.messages, before.messages + 16);
    EXPECT_GT(after.bytes, before.bytes + 1024);
  }
}

// What f sends, on this rank.
Traffic sent_by(const std::function<void()>& f) {
  const Traffic before = traffic();
  f();
  const Traffic after = traffic();
  return {after.messages - before.messages, after.bytes - before.bytes, after.flops - before.flops};
}

TEST(Traffic, OfOneCollectiveIsLogarithmicInTheRanks) {
  const std::int64_t levels = size() == 1 ? 0 : size() == 2 ? 1 : 2;  // up to four ranks
  std::vector<double> v(1000, 1);
  const Traffic cast = sent_by([&] { broadcast(v.data(), 8000); });
  EXPECT_EQ(cast.messages, levels);
  EXPECT_EQ(cast.bytes, levels * 8000);
  const Traffic sum = sent_by([&] { all_sum(v.data(), 1000); });  // there and back
  EXPECT_EQ(sum.messages, 2 * levels);
  EXPECT_EQ(sum.bytes, 2 * levels * 8000);
  const Traffic met = sent_by([] { meet("here"); });
  EXPECT_EQ(met.messages, 2 * levels);
  EXPECT_EQ(met.bytes, 2 * levels * 16);
}

// p?gemr2d sends every element that changes its rank once, and some numbers about both layouts.
TEST(Traffic, OfARedistributionIsTheElementsThatMove) {
  constexpr std::int64_t n = 256;
  const Matrix a = Matrix::from(noise_matrix(n, n), {Grid(1, size()), 8}),
               b = Matrix::from(zeros({n, n}), {Grid(size(), 1), 16});
  const Traffic sent = sent_by([&] {
    scalapack::redistribute<double>(n, n, local<double>(a), {}, local<double>(b), {}, a.state().grid.state().context);
  });
  EXPECT_EQ(distance(b.gather(), a.gather()), 0);
  std::int64_t moved = 0;
  const Axis& axis = b.state().row;
  for (std::int64_t i = 0; i < n; ++i) moved += axis.owner(i) == rank() ? 0 : a.local_columns();
  EXPECT_GE(sent.bytes, 8 * moved);
  EXPECT_LE(sent.bytes, 8 * moved + 1024 * size());
  EXPECT_GE(sent.messages, size() - 1);
  EXPECT_LE(sent.messages, 4 * size());
}

TEST(Traffic, OfAProductHasItsFlops) {
  const Matrix a = Matrix::from(noise_matrix(90, 40), some_layout(8)),
               b = Matrix::from(noise_matrix(40, 70), some_layout(8));
  EXPECT_DOUBLE_EQ(sent_by([&] { matmul(a, b); }).flops, 2.0 * 90 * 40 * 70 / size());
}

}  // namespace
}  // namespace wp::dist
