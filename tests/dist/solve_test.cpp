#include <functional>

#include "hard_cases.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

// Integers: b is exact, so x = 1, 2, 3, … is the exact solution.
Tensor whole_numbers(std::int64_t n) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) v.push_back(std::floor(8 * noise(i, j)) + (i == j ? 3 : 0));
  return Tensor::from(v, {n, n});
}
Tensor count(std::int64_t n) {
  return arange(1.0, {.stop = static_cast<double>(n + 1)});
}

TEST(Solve, GivesTheExactSolutionToTheLastDigitsOnEveryGridAndBlock) {
  for (const std::int64_t n : {1, 2, 17, 60}) {
    const Tensor a = whole_numbers(n), x = count(n), b = matmul(a, x);
    for (const Layout& layout : layouts()) {
      const auto found = diagnosed::solve(Matrix::from(a, layout), Matrix::from(b, layout));
      EXPECT_TRUE(found.diagnosis.ok()) << found.diagnosis;
      EXPECT_LE(distance(found.value.gather(), x), 4e-16) << "n " << n << ", " << found.value.to_string();
      EXPECT_EQ(found.diagnosis[0].method, n == 1 ? "substitution" : "LU");
    }
  }
}

TEST(Solve, TakesAllFourDtypes) {
  for (const DType dtype : {f32, f64, c64, c128}) {
    const Tensor a = noise_matrix(300, 300, dtype), b = noise_matrix(300, 2, dtype, 4);
    const auto many = diagnosed::solve(Matrix::from(a, some_layout(16)), Matrix::from(b, some_layout(16)));
    EXPECT_TRUE(many.diagnosis.ok()) << many.diagnosis;
    const double u = real_of(dtype) == f32 ? 0x1p-24 : 0x1p-53;
    EXPECT_LE(distance(many.value.gather(), linalg::solve(a, b)), 8 * u) << name(dtype);
  }
}

TEST(Solve, NamesTheTwoEqualColumnsByTheirGlobalNumbers) {
  for (const std::int64_t n : {40, 400}) {  // in one place, and where the matrix stays spread
    const Matrix a = Matrix::generate(
        n, n, f64, [](std::int64_t i, std::int64_t j) { return complex128(noise(i, j == 31 ? 7 : j)); },
        some_layout(16));
    const Matrix b = Matrix::from(ones({n}), some_layout(16));
    try {
      solve(a, b);
      ADD_FAILURE() << "a singular matrix was accepted";
    } catch (const SingularMatrix& e) {
      EXPECT_NE(std::string(e.what()).find("olumn 31 = column 7"), std::string::npos) << e.what();
      EXPECT_TRUE(e.diagnosis()[0].exactly_singular);
      ASSERT_TRUE(e.diagnosis()[0].null_vector.defined());
      const std::vector<double> v = e.diagnosis()[0].null_vector.to_vector<double>();
      EXPECT_NEAR(std::fabs(v[7]), std::sqrt(0.5), 1e-10);
      EXPECT_NEAR(v[7] + v[31], 0, 1e-10);
    }
  }
}

TEST(Solve, ANearlyDependentRowIsNamedAsNearly) {
  const std::int64_t n = 350;
  const Matrix a = Matrix::generate(
      n, n, f64,
      [](std::int64_t i, std::int64_t j) {
        return complex128(i == 200 ? 2 * noise(3, j) - noise(9, j) + 1e-15 * noise(i, j) : noise(i, j));
      },
      some_layout(32));
  const auto found = diagnosed::solve(a, Matrix::from(ones({n}), some_layout(32)));
  EXPECT_EQ(found.diagnosis.status(), linalg::Status::singular);
  EXPECT_FALSE(found.diagnosis[0].exactly_singular);
  EXPECT_EQ(found.diagnosis[0].dependent, "row 200 ≈ 2 × row 3 − row 9") << found.diagnosis;
}

TEST(Solve, RepairsPivotGrowth) {  // Wilkinson's matrix: condition 27, growth 2⁵⁹
  const std::int64_t n = 60;
  const auto element = [](std::int64_t i, std::int64_t j) { return j == 59 || i == j ? 1.0 : i > j ? -1.0 : 0.0; };
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) v.push_back(element(i, j));
  const Tensor a = Tensor::from(v, {n, n}), x = ones({n}), b = matmul(a, x);
  const auto found = diagnosed::solve(Matrix::from(a, some_layout()), Matrix::from(b, some_layout()));
  EXPECT_TRUE(found.diagnosis.ok());
  EXPECT_LE(distance(found.value.gather(), x), 4e-16);
}

TEST(Solve, SeesStructure) {
  const std::int64_t n = 50;
  const Tensor a = noise_matrix(n, n), spd = matmul(a, matrix_transpose(a)) + eye(n), b = ones({n});
  const auto method = [&](const Tensor& m) {
    const auto found = diagnosed::solve(Matrix::from(m, some_layout()), Matrix::from(b, some_layout()));
    EXPECT_LE(distance(found.value.gather(), linalg::solve(m, b)), 1e-14);
    return found.diagnosis[0].method + ", " + found.diagnosis[0].structure;
  };
  EXPECT_EQ(method(spd), "Cholesky, positive definite");
  EXPECT_EQ(method(tril(a) + 3 * eye(n)), "substitution, lower triangular");
  EXPECT_EQ(method(triu(a) + 3 * eye(n)), "substitution, upper triangular");
  EXPECT_EQ(method(spd - 20 * eye(n)), "LU, symmetric");
  EXPECT_EQ(method(a), "LU, general");
}

TEST(Solve, UnitsOfRowsAndColumnsDoNotMakeItIllConditioned) {
  const std::int64_t n = 400;
  const auto scaled = [](std::int64_t i, std::int64_t j) {
    return std::ldexp(noise(i, j), static_cast<int>(40 * (i % 5) - 30 * (j % 7)));
  };
  const Matrix a = Matrix::generate(
      n, n, f64, [&](std::int64_t i, std::int64_t j) { return complex128(scaled(i, j)); }, some_layout(16));
  std::vector<double> right;
  for (std::int64_t i = 0; i < n; ++i) right.push_back(std::ldexp(noise(i, 0, 5), static_cast<int>(40 * (i % 5))));
  const auto found = diagnosed::solve(a, Matrix::from(Tensor::from(right, {n}), some_layout(16)));
  EXPECT_TRUE(found.diagnosis.ok()) << found.diagnosis;
  EXPECT_GT(found.diagnosis[0].rcond, 1e-6);
}

TEST(Solve, PoliciesAreThoseOfOneMachine) {
  const std::int64_t n = 20;
  const Tensor u = noise_matrix(n, 4), a = matmul(u, matrix_transpose(noise_matrix(n, 4, f64, 3))), b = ones({n});
  const Matrix da = Matrix::from(a, some_layout()), db = Matrix::from(b, some_layout());
  EXPECT_THROW(solve(da, db), SingularMatrix);
  EXPECT_TRUE(std::isnan(solve(da, db, {.if_ill = "nan"}).gather().to_vector<double>()[0]));
  EXPECT_LE(distance(solve(da, db, {.if_ill = "pinv"}).gather(), linalg::solve(a, b, {.if_ill = "pinv"})), 1e-9);
  EXPECT_LE(distance(solve(da, db, {.ridge = 0.25}).gather(), linalg::solve(a, b, {.ridge = 0.25})), 1e-12);
  const auto automatic = diagnosed::solve(da, db, {.ridge = "auto"});
  const double one = linalg::diagnosed::solve(a, b, {.ridge = "auto"}).diagnosis[0].ridge;
  EXPECT_NEAR(automatic.diagnosis[0].ridge / one, 1, 1e-3);
  EXPECT_THROW(solve(da, db, {.if_ill = "sometimes"}), ArgumentError);
}

TEST(Solve, WhatIsOfLowRankIsRegularisedAsOnOneMachine) {
  const std::int64_t n = 310;
  const Tensor u = noise_matrix(n, 5), a = matmul(u, matrix_transpose(noise_matrix(n, 5, f64, 3))),
               b = noise_matrix(n, 1, f64, 8);
  const Matrix da = Matrix::from(a, some_layout(32)), db = Matrix::from(b, some_layout(32));
  EXPECT_LE(distance(solve(da, db, {.if_ill = "pinv"}).gather(), linalg::solve(a, b, {.if_ill = "pinv"})), 1e-9);
  EXPECT_LE(distance(inv(da, {.ridge = 50}).gather(), linalg::inv(a, {.ridge = 50})), 1e-11);
}

TEST(Solve, NamesTheElementThatIsNotFinite) {
  const Matrix b = Matrix::from(ones({30}), some_layout());
  const Matrix a = Matrix::generate(
      30, 30, f64,
      [](std::int64_t i, std::int64_t j) { return complex128(i == 12 && j == 29 ? std::nan("") : noise(i, j)); },
      some_layout());
  try {
    solve(a, b);
    ADD_FAILURE() << "NaN was accepted";
  } catch (const NonFiniteError& e) {
    EXPECT_NE(std::string(e.what()).find("A[12, 29] is nan (1 of 900 elements is not finite)"), std::string::npos)
        << e.what();
  }
}

// They go through ScaLAPACK as they are, all at once, where nothing is refined.
TEST(Solve, ManyRightHandSidesAreJudgedAsOnOneMachine) {
  const std::int64_t n = 64, k = 40;
  std::vector<double> rows, columns, far;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.push_back(std::ldexp(1.0, static_cast<int>(40 * (i % 5))));
    columns.push_back(std::ldexp(1.0, static_cast<int>(-30 * (i % 7))));
  }
  for (std::int64_t c = 0; c < k; ++c) far.push_back(c % 3 == 0 ? 1e-290 : c % 3 == 1 ? 1e290 : 0);
  const Tensor r = Tensor::from(rows, {n, 1}), s = Tensor::from(columns, {1, n}), f = Tensor::from(far, {1, k});
  for (const DType dtype : {f64, c64}) {
    const Tensor plain = noise_matrix(n, n, dtype), side = noise_matrix(n, k, dtype, 5);
    std::vector<std::pair<Tensor, Tensor>> problems{
        {plain, side}, {tril(plain) + 9 * eye(n), side}, {spd_matrix(n, dtype), side}};
    if (dtype == f64) problems.emplace_back(r * plain * s, r * side), problems.emplace_back(plain, side * f);
    for (const auto& [given, b] : problems) {
      const Tensor a = astype(given, dtype);
      const auto one = linalg::diagnosed::solve(a, b);
      for (const Layout& layout : layouts({16})) {
        const auto many = diagnosed::solve(Matrix::from(a, layout), Matrix::from(b, layout));
        EXPECT_EQ(many.diagnosis.status(), one.diagnosis.status()) << many.diagnosis << one.diagnosis;
        EXPECT_NEAR(many.diagnosis[0].digits, one.diagnosis[0].digits, 1);
        const Tensor x = many.value.gather();
        for (std::int64_t c = 0; c < k; c += 7)
          EXPECT_LE(distance(x.at({slice(), c}), one.value.at({slice(), c})),
                    promised(many.diagnosis, one.diagnosis));
      }
    }
  }
}

TEST(Solve, ManyRightHandSidesStaySpread) {
  const Matrix a = Matrix::from(spd_matrix(96, f64, 96), some_layout(16)),
               b = Matrix::from(noise_matrix(96, 640), some_layout(16));
  const std::int64_t before = traffic().bytes;
  solve(a, b);
  EXPECT_LE(traffic().bytes - before, 4 * 96 * 640 * 8);
}

TEST(Solve, ShapesMustFit) {
  const Matrix a = Matrix::from(eye(6), some_layout()), b = Matrix::from(ones({5}), some_layout());
  EXPECT_THROW(solve(a, b), ShapeError);
  EXPECT_THROW(solve(Matrix::from(ones({6, 5}), some_layout()), b), ShapeError);
  EXPECT_THROW(solve(a, Matrix()), ArgumentError);
  EXPECT_THROW(solve(Matrix(), b), ArgumentError);
  EXPECT_THROW(inv(Matrix()), ArgumentError);
  try {
    solve(a, b);
    ADD_FAILURE() << "five data for six rows";
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("A [6, 6], b [5]"), std::string::npos) << e.what();
  }
}

TEST(Solve, AMatrixHasTwoAxesInEveryFunctionOfMatrices) {
  const Matrix v = Matrix::from(noise_matrix(49, 1), some_layout()), line = Matrix::from(ones({49}), some_layout());
  EXPECT_EQ(raised([&] { lstsq(v, line), svd(v), svdvals(v), pinv(v), cond(v), matrix_rank(v), lu(v), qr(v); }), "");
  const std::function<void()> calls[] = {
      [&] { lstsq(line, line); }, [&] { solve(line, line); }, [&] { inv(line); },
      [&] { pinv(line); },        [&] { svd(line); },         [&] { svdvals(line); },
      [&] { cond(line); },        [&] { matrix_rank(line); }, [&] { eigh(line); },
      [&] { cholesky(line); },    [&] { logdet(line); },      [&] { lu(line); },
      [&] { qr(line); },          [&] { diagnose(line); },    [&] { diagnosed::svdvals(line); }};
  for (const auto& call : calls) EXPECT_EQ(raised(call), "WP-SHP-018");
}

TEST(Inv, IsThatOfOneMachine) {
  for (const std::int64_t n : {30, 320}) {
    const Tensor a = noise_matrix(n, n), spd = matmul(a, matrix_transpose(a)) + eye(n);
    for (const Tensor& m : {a, spd, tril(a) + 2 * eye(n)}) {
      const auto found = diagnosed::inv(Matrix::from(m, some_layout(16)));
      const auto one = linalg::diagnosed::inv(m);
      EXPECT_TRUE(n == 30 || found.diagnosis[0].method == one.diagnosis[0].method);
      EXPECT_LE(distance(found.value.gather(), one.value), std::pow(10, -std::floor(found.diagnosis[0].digits)) +
                                                               std::pow(10, -std::floor(one.diagnosis[0].digits)))
          << found.diagnosis;
    }
  }
}

TEST(Inv, OptionsChangeTheMatrixThatIsMeant) {
  const Tensor a = noise_matrix(25, 25);
  const Matrix da = Matrix::from(a, some_layout());
  EXPECT_LE(distance(inv(da, {.shift = 4}).gather(), linalg::inv(a, {.shift = 4})), 1e-13);
  EXPECT_LE(distance(inv(da, {.ridge = 0.5, .shift = 4}).gather(), linalg::inv(a, {.ridge = 0.5, .shift = 4})),
            1e-12);
  EXPECT_LE(distance(inv(da, {.shift = 9, .assume = "symmetric"}).gather(),
                     linalg::inv(a, {.shift = 9, .assume = "symmetric"})),
            1e-13);
  const auto many = diagnosed::inv(da, {.assume = "lower", .method = "auto"});
  const auto one = linalg::diagnosed::inv(a, {.assume = "lower"});
  EXPECT_LE(distance(many.value.gather(), one.value), promised(many.diagnosis, one.diagnosis)) << many.diagnosis;
  EXPECT_EQ(many.diagnosis.status(), one.diagnosis.status());
  EXPECT_THROW(inv(da, {.method = "cholesky"}), NotPositiveDefinite);
}

TEST(Inv, CertifiesWhatIsSmall) {
  const auto found = diagnosed::inv(Matrix::from(noise_matrix(20, 20), some_layout()), {.certify = true});
  EXPECT_TRUE(found.diagnosis[0].certified);
  EXPECT_THROW(inv(Matrix::from(eye(1001), some_layout(64)), {.certify = true}), ArgumentError);
}

// The hard cases: right or honest, as on one machine.
class HardCases : public ::testing::TestWithParam<std::size_t> {};

TEST_P(HardCases, AreRightOrHonest) {
  const hard::json& c = hard::cases()[GetParam()];
  const std::string op = c.at("op");
  std::vector<Tensor> in;
  for (const auto& t : c.at("inputs")) in.push_back(hard::load(t));
  const double u = real_of(in[0].dtype()) == f32 ? 0x1p-24 : 0x1p-53;
  for (const Layout& layout : layouts({2, 16})) {
    hard::Outcome o;
    const FindingHandler before = on_finding([&](const Finding& f) { o.told = f.text(); });
    try {
      const Matrix a = Matrix::from(in[0], layout);
      const auto b = [&] { return Matrix::from(in[1], layout).astype(a.dtype()); };
      o.out = op == "solve"      ? Tensors{solve(a, b()).gather()}
              : op == "inv"      ? Tensors{inv(a).gather()}
              : op == "lstsq"    ? Tensors{lstsq(a, b()).gather()}
              : op == "pinv"     ? Tensors{pinv(a).gather()}
              : op == "cond"     ? Tensors{Tensor(Scalar(cond(a)))}
              : op == "rank"     ? Tensors{Tensor(Scalar(matrix_rank(a)))}
              : op == "cholesky" ? Tensors{cholesky(a).gather()}
              : op == "svdvals"  ? Tensors{svdvals(a)}
                                 : Tensors{eigh(a).eigenvalues};
    } catch (const Error& e) {
      o.refused = e.what();
    }
    on_finding(before);
    EXPECT_EQ(hard::fault(c, o, u), "") << "blocks of " << layout.block << " on " << layout.grid.rows() << " rows";
  }
}

std::vector<std::size_t> matrices() {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < hard::cases().size(); ++i) {
    const hard::json& c = hard::cases()[i];
    const std::string op = c.at("op");
    const bool ours = op == "solve" || op == "inv" || op == "lstsq" || op == "pinv" || op == "cond" || op == "rank" ||
                      op == "cholesky" || op == "svdvals" || op == "eigvalsh";
    if (ours && c.at("inputs")[0].at("shape").size() == 2) out.push_back(i);
  }
  return out;
}
std::string case_name(const ::testing::TestParamInfo<std::size_t>& info) {
  std::string out = hard::cases()[info.param].at("id");
  for (char& ch : out)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return out + "_" + std::to_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(Values, HardCases, ::testing::ValuesIn(matrices()), case_name);

}  // namespace
}  // namespace wp::dist
