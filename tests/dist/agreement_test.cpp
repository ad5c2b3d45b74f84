// Random matrices of 200 to 1000 rows, and matrices in doubt: what one machine says, on every grid.
#include "base/text.hpp"
#include "dist/matrix.hpp"
#include "long_tests.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

std::vector<std::int64_t> sizes() {
  return long_tests() ? std::vector<std::int64_t>{200, 333, 500, 1000} : std::vector<std::int64_t>{200, 333};
}
// Every grid, with a block of its own.
std::vector<Layout> grids() {
  std::vector<Layout> out;
  const std::int64_t blocks[] = {7, 32, 64};
  for (const Layout& l : layouts({1})) out.push_back({l.grid, blocks[out.size() % 3]});
  return out;
}

TEST(Agreement, OfSolutionsIsToThePromisedDigits) {
  for (const std::int64_t n : sizes()) {
    const Tensor a = noise_matrix(n, n), b = noise_matrix(n, 3, f64, 9);
    const auto one = linalg::diagnosed::solve(a, b);
    for (const Layout& layout : grids()) {
      const auto many = diagnosed::solve(Matrix::from(a, layout), Matrix::from(b, layout));
      EXPECT_LE(distance(many.value.gather(), one.value), promised(many.diagnosis, one.diagnosis));
      EXPECT_GE(many.diagnosis[0].digits, 14) << many.diagnosis;
      EXPECT_NEAR(std::log10(many.diagnosis[0].rcond), std::log10(one.diagnosis[0].rcond), 1);
      EXPECT_NEAR(many.diagnosis[0].cond / one.diagnosis[0].cond, 1, 1e-9);
      EXPECT_EQ(many.diagnosis[0].rank, n);
    }
  }
}

TEST(Agreement, OfInversesIsToThePromisedDigits) {
  for (const DType dtype : kAll) {
    const Tensor a = noise_matrix(230, 230, dtype);
    const auto one = linalg::diagnosed::inv(a);
    for (const Layout& layout : grids()) {
      const auto many = diagnosed::inv(Matrix::from(a, layout));
      EXPECT_TRUE(many.diagnosis.ok());
      EXPECT_LE(distance(many.value.gather(), one.value), promised(many.diagnosis, one.diagnosis)) << name(dtype);
    }
  }
}

TEST(Agreement, OfLeastSquaresIsToThePromisedDigits) {
  for (const std::int64_t n : sizes())
    for (const bool tall : {true, false}) {
      const Tensor a = tall ? noise_matrix(n, n / 2) : noise_matrix(n / 2, n),
                   b = noise_matrix(a.shape()[0], 2, f64, 9);
      const auto one = linalg::diagnosed::lstsq(a, b);
      for (const Layout& layout : grids()) {
        const auto many = diagnosed::lstsq(Matrix::from(a, layout), Matrix::from(b, layout));
        EXPECT_LE(distance(many.value.gather(), one.value), promised(many.diagnosis, one.diagnosis));
        EXPECT_EQ(many.diagnosis[0].rank, n / 2);
      }
    }
}

TEST(Agreement, OfDecompositionsIsToRounding) {
  for (const std::int64_t n : sizes()) {
    const Tensor a = noise_matrix(n, n - 20), h = spd_matrix(n, f64);
    const Tensor s = linalg::svdvals(a), w = linalg::eigvalsh(h), l = linalg::cholesky(h), r = abs(linalg::qr(a).R);
    for (const Layout& layout : grids()) {
      const Matrix da = Matrix::from(a, layout), dh = Matrix::from(h, layout);
      EXPECT_LE(distance(svdvals(da), s), 1e-13);
      EXPECT_LE(distance(eigh(dh).eigenvalues, w), 1e-13);
      EXPECT_LE(distance(cholesky(dh).gather(), l), 1e-12);
      EXPECT_LE(distance(abs(qr(da).R.gather()), r), 1e-12);  // its signs are free
    }
  }
}

// Every size in f64, and the smallest in the other dtypes.
struct Kind {
  std::int64_t n;
  DType dtype;
};
std::vector<Kind> kinds() {
  std::vector<Kind> out{{200, f32}, {200, c64}, {200, c128}};
  for (const std::int64_t n : sizes()) out.push_back({n, f64});
  return out;
}
template <class Many, class One>
void expect_promised(const Many& many, const One& one) {
  EXPECT_EQ(many.diagnosis.status(), one.diagnosis.status()) << many.diagnosis << one.diagnosis;
  EXPECT_LE(distance(many.value.gather(), one.value), promised(many.diagnosis, one.diagnosis)) << many.diagnosis;
}

TEST(Agreement, OfEveryFunctionIsToThePromisedDigits) {
  for (const auto& [n, dtype] : kinds()) {
    SCOPED_TRACE(say(dtype, " ", n));
    const Tensor a = noise_matrix(n, n, dtype), wide = noise_matrix(n / 2, n, dtype),
                 b = noise_matrix(n, 2, dtype, 9);
    const auto inverse = linalg::diagnosed::inv(a), pseudo = linalg::diagnosed::pinv(wide),
               ridge = linalg::diagnosed::solve(a, b, {.ridge = 0.5});
    const double cond_of_a = linalg::cond(a).item<double>(), u = unit(dtype);
    const Tensor product = matmul(wide, b);
    for (const Layout& layout : grids()) {
      SCOPED_TRACE(facts(layout));
      const Matrix da = Matrix::from(a, layout), dwide = Matrix::from(wide, layout), db = Matrix::from(b, layout);
      expect_promised(diagnosed::inv(da), inverse);
      expect_promised(diagnosed::pinv(dwide), pseudo);
      expect_promised(diagnosed::solve(da, db, {.ridge = 0.5}), ridge);
      EXPECT_NEAR(cond(da) / cond_of_a, 1, 16 * std::sqrt(static_cast<double>(n)) * u * cond_of_a);
      EXPECT_EQ(matrix_rank(da), n);
      EXPECT_EQ(matrix_rank(dwide), n / 2);
      EXPECT_LE(distance(matmul(dwide, db).gather(), product), static_cast<double>(n) * u);
    }
  }
}

TEST(Agreement, OfNormsIsToRounding) {
  for (const auto& [n, dtype] : kinds()) {
    const Tensor a = noise_matrix(n, n / 2, dtype);
    const double most = max(abs(a)).item<double>(), near = static_cast<double>(n) * unit(dtype);
    for (const Layout& layout : grids()) {
      const Matrix da = Matrix::from(a, layout);
      EXPECT_NEAR(matrix_norm(da, "max") / most, 1, 4 * unit(dtype));
      for (const Setting& ord : {Setting(1), Setting(-1), Setting(2), Setting(-2), Setting("fro"), Setting("nuc"),
                                 Setting(HUGE_VAL), Setting(-HUGE_VAL)}) {
        const double one = astype(linalg::matrix_norm(a, {.ord = ord}), f64).item<double>();
        EXPECT_NEAR(matrix_norm(da, ord) / one, 1, near) << name(dtype) << n << facts(layout);
      }
    }
  }
}

TEST(Agreement, OfSingularVectorsIsToRounding) {
  for (const auto& [n, dtype] : kinds()) {
    const Tensor a = noise_matrix(n, n / 2, dtype), s = linalg::svdvals(a);
    const double near = static_cast<double>(n) * unit(dtype);
    for (const Layout& layout : grids()) {
      const SvdResult f = svd(Matrix::from(a, layout));
      const Tensor u = f.U.gather(), vh = f.Vh.gather(), one = eye(n / 2, {.dtype = dtype});
      EXPECT_LE(distance(f.S, s), near);
      EXPECT_LE(distance(matmul(u * astype(f.S, dtype), vh), a), near) << name(dtype) << n << facts(layout);
      EXPECT_LE(distance(matmul(adjoint_of(u), u), one), near);
      EXPECT_LE(distance(matmul(vh, adjoint_of(vh)), one), near);
    }
  }
}

// Condition 2^n, and yet every element is right: no cancellation in substitution.
TEST(Agreement, ATriangleThatIsSolvedWellIsNotCalledSingular) {
  for (const std::int64_t n : {400, 1100}) {
    const auto element = [](std::int64_t i, std::int64_t j) {
      return i == j ? 1.0 : i > j && i - j < 3 ? -1.0 : 0.0;
    };
    std::vector<double> x{1, 2};  // x_i = b_i + x_{i−1} + x_{i−2}, all positive
    std::vector<double> b(static_cast<std::size_t>(n), 0);
    b[0] = b[1] = 1;
    for (std::int64_t i = 2; i < n; ++i)
      x.push_back(x[static_cast<std::size_t>(i - 1)] + x[static_cast<std::size_t>(i - 2)]);
    for (const Layout& layout : grids()) {
      const Matrix a = Matrix::generate(
          n, n, f64, [&](std::int64_t i, std::int64_t j) { return complex128(element(i, j)); }, layout);
      const auto found = diagnosed::solve(a, Matrix::from(Tensor::from(b, {n}), layout));
      EXPECT_TRUE(found.diagnosis.ok()) << n << found.diagnosis;
      EXPECT_LE(distance(found.value.gather(), Tensor::from(x, {n})), 1e-13);
    }
  }
}

// p?syevd asks for less memory than p?ormtr needs, on tall grids with large blocks.
TEST(Agreement, EigenvectorsAreThoseOfTheMatrixOnEveryGrid) {
  for (const DType dtype : {f64, c64})
    for (const std::int64_t n : {60, 200}) {
      const Tensor a = spd_matrix(n, dtype);
      for (const Layout& layout : layouts({7, 32, 64})) {
        const EighResult found = eigh(Matrix::from(a, layout));
        const Tensor v = found.eigenvectors.gather();
        EXPECT_LE(distance(v * astype(reshape(found.eigenvalues, {1, n}), dtype), matmul(a, v)), 1e3 * unit(dtype))
            << n << facts(layout) << name(dtype);
      }
    }
}

TEST(Agreement, OfALargeMatrixThatIsNotInDoubtSaysItsRank) {
  const auto element = [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j) + (i == j ? 80.0 : 0)); };
  const Matrix a = Matrix::generate(1010, 1010, f64, element);
  const auto solved = diagnosed::solve(a, Matrix::from(ones({1010}), a.layout()));
  EXPECT_EQ(solved.diagnosis[0].rank, 1010);
  EXPECT_EQ(diagnosed::inv(a).diagnosis[0].rank, 1010);
}

// Sparse, with units of rows and columns that largest elements do not show.
Tensor hidden_units(std::int64_t n, std::uint64_t seed) {
  std::vector<double> v(static_cast<std::size_t>(n * n), 0);
  const auto weight = [&](std::int64_t i, std::uint64_t s) { return std::floor(60 * noise(i, 17, seed + s)); };
  for (std::int64_t i = 0; i < n; ++i)
    for (const std::int64_t j : {i, (i + 1) % n, (i * 7 + 3) % n})
      v[static_cast<std::size_t>(i * n + j)] =
          std::ldexp((i == j ? 2 : 0) + noise(i, j, seed), static_cast<int>(weight(i, 1) + weight(j, 2)));
  return Tensor::from(v, {n, n});
}

TEST(Agreement, UnitsThatAreHiddenByZerosDoNotMakeItSingular) {
  for (const std::int64_t n : {60, 320})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Tensor a = hidden_units(n, seed), b = matmul(a, ones({n}));
      const auto one = linalg::diagnosed::solve(a, b);
      for (const Layout& layout : grids()) {
        const auto many = diagnosed::solve(Matrix::from(a, layout), Matrix::from(b, layout));
        EXPECT_EQ(many.diagnosis.status(), one.diagnosis.status()) << many.diagnosis << one.diagnosis;
        const double most = one.diagnosis.ok() ? promised(many.diagnosis, one.diagnosis) : HUGE_VAL;
        EXPECT_LE(distance(many.value.gather(), one.value), most);
      }
    }
}

TEST(Agreement, AGoodMatrixStaysSpread) {
  const Tensor a = noise_matrix(280, 280), b = noise_matrix(280, 1, f64, 4);
  const Matrix da = Matrix::from(a, some_layout(32)), db = Matrix::from(b, some_layout(32));
  solve(da, db);
  const std::int64_t before = traffic().bytes;
  solve(da, db);
  const std::int64_t plain = traffic().bytes - before;
  diagnosed::solve(da, db);
  const std::int64_t told = traffic().bytes - before - plain;
  EXPECT_GE(told - plain, size() > 1 ? 280 * 280 * 8 : 0) << plain;
}

TEST(Agreement, OfAScaledInverseIsToThePromisedDigits) {
  for (const std::int64_t n : {80, 340}) {
    const Tensor plain = noise_matrix(n, n);
    std::vector<double> rows, columns;
    for (std::int64_t i = 0; i < n; ++i) {
      rows.push_back(std::ldexp(1.0, static_cast<int>(40 * (i % 5))));
      columns.push_back(std::ldexp(1.0, static_cast<int>(-30 * (i % 7))));
    }
    const Tensor a = Tensor::from(rows, {n, 1}) * plain * Tensor::from(columns, {1, n});
    const Tensor want = linalg::inv(plain);
    const auto one = linalg::diagnosed::inv(a);
    for (const Layout& layout : grids()) {
      const auto found = diagnosed::inv(Matrix::from(a, layout));
      EXPECT_EQ(found.diagnosis.status(), one.diagnosis.status()) << found.diagnosis << one.diagnosis;
      // C A⁻¹ R is the inverse of the plain matrix.
      EXPECT_LE(distance(Tensor::from(columns, {n, 1}) * found.value.gather() * Tensor::from(rows, {1, n}), want),
                1e-10);
    }
  }
}

}  // namespace
}  // namespace wp::dist
