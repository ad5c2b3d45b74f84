// Gradients against those of one machine, whose rules are tested against differences.
#include "base/text.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

Tensor spd(std::int64_t n, DType dtype) {
  return spd_matrix(n, dtype, static_cast<double>(n));
}
Tensor against(const Tensor& w, const Tensor& y) {
  return sum(is_complex(w.dtype()) ? real(conj(w) * y) : w * y);
}
double number(const Tensor& t) {
  return astype(t, f64).item<double>();
}

TEST(Gradients, OfSolveReachBothArguments) {
  for (const DType dtype : kAll) {
    const Tensor a = noise_matrix(23, 23, dtype), b = noise_matrix(23, 2, dtype, 2),
                 w = noise_matrix(23, 2, dtype, 3);
    GradientTape one({.persistent = true});
    one.watch({a, b});
    const Tensor loss = against(w, linalg::solve(a, b));
    const Matrix da = Matrix::from(a, some_layout()), db = Matrix::from(b, some_layout()),
                 dw = Matrix::from(w, some_layout());
    GradientTape many({.persistent = true});
    watch(many, da);
    watch(many, db);
    const Tensor spread = dot(dw, solve(da, db));
    EXPECT_NEAR(number(spread) / number(loss), 1, 9e3 * unit(dtype));
    EXPECT_LE(distance(gradient(many, spread, da).gather(), one.gradient(loss, a)), 9e3 * unit(dtype));
    EXPECT_LE(distance(gradient(many, spread, db).gather(), one.gradient(loss, b)), 9e3 * unit(dtype));
  }
}

TEST(Gradients, OfInvAreMinusTheInverseTwice) {
  for (const DType dtype : kAll) {
    const Tensor a = noise_matrix(23, 23, dtype), w = noise_matrix(23, 23, dtype, 3);
    GradientTape one;
    one.watch(a);
    const Tensor g = one.gradient(against(w, linalg::inv(a)), a);
    const Matrix da = Matrix::from(a, some_layout());
    GradientTape many;
    watch(many, da);
    EXPECT_LE(distance(gradient(many, dot(Matrix::from(w, some_layout()), inv(da)), da).gather(), g),
              9e4 * unit(dtype));
  }
}

// What an option keeps from being read has no slope.
TEST(Gradients, OfSolveAndInvAreOfTheElementsThatWereRead) {
  struct Row {
    std::string_view assume, method;
  };
  for (const DType dtype : kAll)
    for (const Row& row : {Row{"lower", "auto"}, Row{"upper", "auto"}, Row{"diagonal", "auto"},
                           Row{"triangular", "auto"}, Row{"symmetric", "auto"}, Row{"spd", "auto"},
                           Row{"detect", "lu"}, Row{"detect", "cholesky"}, Row{"detect", "ldl"}}) {
      const Tensor full = spd(13, dtype) + 0.01 * noise_matrix(13, 13, dtype, 5);
      const Tensor a = row.assume == "triangular" ? triu(full) : full, b = noise_matrix(13, 2, dtype, 2),
                   w = noise_matrix(13, 2, dtype, 3), v = noise_matrix(13, 13, dtype, 4);
      GradientTape one({.persistent = true});
      one.watch({a, b});
      const Tensor solved = against(w, linalg::solve(a, b, {.assume = row.assume, .method = row.method})),
                   inverted = against(v, linalg::inv(a, {.assume = row.assume, .method = row.method}));
      const auto spread = [](const Tensor& t) { return Matrix::from(t, some_layout(3)); };
      const Matrix da = spread(a), db = spread(b);
      GradientTape many({.persistent = true});
      watch(many, da);
      watch(many, db);
      const Tensor dsolved = dot(spread(w), solve(da, db, {.assume = row.assume, .method = row.method})),
                   dinverted = dot(spread(v), inv(da, {.assume = row.assume, .method = row.method}));
      const double most = 9e3 * unit(dtype);
      EXPECT_LE(distance(gradient(many, dsolved, da).gather(), one.gradient(solved, a)), most)
          << row.assume << row.method << name(dtype);
      EXPECT_LE(distance(gradient(many, dsolved, db).gather(), one.gradient(solved, b)), most);
      EXPECT_LE(distance(gradient(many, dinverted, da).gather(), one.gradient(inverted, a)), most)
          << row.assume << row.method << name(dtype);
    }
}

TEST(Gradients, OfOneTriangleAreInThatTriangle) {
  for (const DType dtype : kAll)
    for (const std::string_view uplo : {"lower", "upper"}) {
      const Tensor a = spd(13, dtype) + 0.01 * noise_matrix(13, 13, dtype, 5), w = noise_matrix(13, 13, dtype, 3);
      GradientTape one({.persistent = true});
      one.watch(a);
      const Tensor log = linalg::logdet(a, {.uplo = uplo}),
                   factor = against(w, linalg::cholesky(a, {.upper = true, .uplo = uplo}));
      const Matrix da = Matrix::from(a, some_layout(3));
      GradientTape many({.persistent = true});
      watch(many, da);
      const Tensor dlog = logdet(da, {.uplo = uplo}),
                   dfactor = dot(Matrix::from(w, some_layout(3)), cholesky(da, {.upper = true, .uplo = uplo}));
      EXPECT_LE(distance(gradient(many, dlog, da).gather(), one.gradient(log, a)), 9e3 * unit(dtype)) << uplo;
      EXPECT_LE(distance(gradient(many, dfactor, da).gather(), one.gradient(factor, a)), 9e3 * unit(dtype)) << uplo;
    }
}

TEST(Gradients, OfOneTriangleDifferentiateAgain) {
  const Tensor a = spd(7, f64) + 0.01 * noise_matrix(7, 7, f64, 5), v = noise_matrix(7, 7, f64, 6);
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(linalg::logdet(a, {.uplo = "lower"}), a);
  const Tensor h = outer.gradient(against(v, g), a);
  const Matrix da = Matrix::from(a, some_layout(2));
  GradientTape far, near;
  watch(far, da);
  watch(near, da);
  const Matrix dg = gradient(near, logdet(da, {.uplo = "lower"}), da);
  EXPECT_LE(distance(dg.gather(), g), 1e-12);
  EXPECT_LE(distance(gradient(far, dot(Matrix::from(v, some_layout(2)), dg), da).gather(), h), 1e-11);
}

TEST(Gradients, ReachTheTensorThatWasSpread) {
  for (const DType dtype : kAll) {
    const Tensor a = spd(11, dtype), w = noise_matrix(11, 11, dtype, 3);
    GradientTape one, many;
    one.watch(a);
    const Tensor g = one.gradient(against(w, linalg::inv(a)), a);
    many.watch(a);
    const Tensor loss = dot(Matrix::from(w, some_layout(3)), inv(Matrix::from(a, some_layout(3))));
    EXPECT_LE(distance(many.gradient(loss, a), g), 9e3 * unit(dtype)) << name(dtype);
  }
}

TEST(Gradients, OfWhatTheLossDoesNotDependOnAreNothing) {
  const Matrix a = Matrix::from(eye(6), some_layout(2)), b = Matrix::from(ones({6}), some_layout(2));
  GradientTape tape({.persistent = true});
  watch(tape, a);
  watch(tape, b);
  EXPECT_FALSE(gradient(tape, sum(b), a).defined());
  EXPECT_EQ(distance(gradient(tape, sum(b), a, {.unconnected = "zero"}).gather(), zeros({6, 6})), 0);
}

TEST(Gradients, OfLogdetAndCholeskyAreHermitian) {
  for (const DType dtype : kAll) {
    const Tensor a = spd(23, dtype), w = noise_matrix(23, 23, dtype, 3);
    GradientTape one({.persistent = true});
    one.watch(a);
    const Tensor log = linalg::logdet(a), factor = against(w, linalg::cholesky(a));
    const Matrix da = Matrix::from(a, some_layout());
    GradientTape many({.persistent = true});
    watch(many, da);
    const Tensor dlog = logdet(da), dfactor = dot(Matrix::from(w, some_layout()), cholesky(da));
    EXPECT_LE(distance(gradient(many, dlog, da).gather(), one.gradient(log, a)), 9e3 * unit(dtype));
    EXPECT_LE(distance(gradient(many, dfactor, da).gather(), one.gradient(factor, a)), 9e3 * unit(dtype));
  }
}

// By what is counted: solve goes back by substitution (4 n² for one column), inv by two products, logdet by the
// inverse of its factor (2/3 n³), cholesky by a product and two substitutions of n columns. A factorisation by LU
// would be 2/3 n³ more, one by Cholesky 1/3 n³.
TEST(Gradients, OfSolveInvLogdetAndCholeskyFactorNothingAgain) {
  constexpr double n = 200, cube = n * n * n;
  const Tensor a = noise_matrix(200, 200), definite = spd(200, f64);
  const Matrix w = Matrix::from(noise_matrix(200, 200, f64, 3), some_layout(16)),
               b = Matrix::from(noise_matrix(200, 1, f64, 2), some_layout(16));
  const auto counted = [](const auto& f) {
    const double before = traffic().flops;
    f();
    return (traffic().flops - before) * size();
  };
  const auto back = [&](const Tensor& t, const std::function<Tensor(const Matrix&)>& loss) {
    const Matrix m = Matrix::from(t, some_layout(16));
    GradientTape tape;
    watch(tape, m);
    const Tensor l = loss(m);
    return counted([&] { gradient(tape, l, m); });
  };
  const auto log = [](const Matrix& m) { return logdet(m); };
  EXPECT_LE(back(a, [&](const Matrix& m) { return dot(b, solve(m, b)); }), 1.0 / 3 * cube);
  EXPECT_LE(back(a, [&](const Matrix& m) { return dot(w, inv(m)); }), (4 + 1.0 / 3) * cube);
  EXPECT_NEAR(back(definite, log) / cube, 2.0 / 3, 1e-12);
  EXPECT_NEAR(back(definite, [&](const Matrix& m) { return logdet(m, {.uplo = "upper"}); }) / cube, 2.0 / 3, 1e-12);
  EXPECT_NEAR(back(definite, [&](const Matrix& m) { return dot(w, cholesky(m)); }) / cube, 4, 1e-12);
  // Twice: Ā = −X X̄ X has the inverse that is there.
  const Matrix m = Matrix::from(definite, some_layout(16));
  GradientTape outer, inner;
  watch(outer, m);
  watch(inner, m);
  const Tensor l = log(m);
  Matrix g;
  EXPECT_NEAR(counted([&] { g = gradient(inner, l, m); }) / cube, 2.0 / 3, 1e-12);
  const Tensor along = dot(w, g);
  EXPECT_NEAR(counted([&] { gradient(outer, along, m); }) / cube, 4, 1e-12);
}

TEST(Gradients, GoThroughProductsAndSeveralSteps) {
  const Tensor a = spd(17, f64), b = noise_matrix(17, 3);
  const auto local_loss = [&](const Tensor& m) {
    const Tensor x = linalg::solve(m, b);
    return sum(matmul(matrix_transpose(x), x)) + 2.0 * linalg::logdet(m);
  };
  GradientTape one;
  one.watch(a);
  const Tensor g = one.gradient(local_loss(a), a);
  const Matrix da = Matrix::from(a, some_layout()), db = Matrix::from(b, some_layout());
  GradientTape many;
  watch(many, da);
  const Matrix x = solve(da, db);
  const Tensor loss = sum(matmul(x, x, {.adjoint_a = true})) + 2.0 * logdet(da);
  EXPECT_LE(distance(gradient(many, loss, da).gather(), g), 1e-12);
}

TEST(Gradients, OfSolveDifferentiateAgain) {
  const Tensor a = spd(9, f64), b = noise_matrix(9, 1), v = noise_matrix(9, 9, f64, 6);
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(against(b, linalg::solve(a, b)), a);
  const Tensor h = outer.gradient(against(v, g), a);
  const Matrix da = Matrix::from(a, some_layout(2)), db = Matrix::from(b, some_layout(2)),
               dv = Matrix::from(v, some_layout(2));
  GradientTape far, near;
  watch(far, da);
  watch(near, da);
  const Matrix dg = gradient(near, dot(db, solve(da, db)), da);
  EXPECT_LE(distance(dg.gather(), g), 1e-12);
  EXPECT_LE(distance(gradient(far, dot(dv, dg), da).gather(), h), 1e-12);
}

TEST(Gradients, OfCholeskyDifferentiateAgain) {
  const Tensor a = spd(7, f64), w = noise_matrix(7, 7), v = noise_matrix(7, 7, f64, 6);
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(against(w, linalg::cholesky(a)), a);
  const Tensor h = outer.gradient(against(v, g), a);
  const auto spread = [](const Tensor& t) { return Matrix::from(t, some_layout(2)); };
  const Matrix da = spread(a);
  GradientTape far, near;
  watch(far, da);
  watch(near, da);
  const Matrix dg = gradient(near, dot(spread(w), cholesky(da)), da);
  EXPECT_LE(distance(gradient(far, dot(spread(v), dg), da).gather(), h), 1e-11);
}

TEST(Gradients, GoThroughLayoutsAndGathering) {
  const Tensor a = noise_matrix(9, 5), w = noise_matrix(5, 9, f64, 2);
  const Matrix da = Matrix::from(a, some_layout(2));
  GradientTape tape({.persistent = true});
  watch(tape, da);
  const Tensor turned = da.adjoint().redistributed({Grid(size(), 1), 3}).astype(c128).gather();
  const Matrix g = gradient(tape, sum(w * real(turned)), da);
  EXPECT_EQ(distance(g.gather(), matrix_transpose(w)), 0);
}

TEST(Gradients, ThatAreNotThereAreAnErrorNotAZero) {
  const Matrix a = Matrix::from(spd(6, f64), some_layout(2)), b = Matrix::from(ones({6}), some_layout(2));
  GradientTape tape({.persistent = true});
  watch(tape, a);
  EXPECT_THROW(gradient(tape, sum(svdvals(a)), a), GradientError);
  EXPECT_THROW(gradient(tape, sum(qr(a).R), a), GradientError);
  EXPECT_THROW(gradient(tape, sum(eigh(a).eigenvalues), a), GradientError);
  EXPECT_THROW(gradient(tape, sum(lstsq(a, b)), a), GradientError);
  EXPECT_THROW(gradient(tape, sum(pinv(a)), a), GradientError);
  EXPECT_THROW(gradient(tape, sum(lu(a).U), a), GradientError);
}

TEST(Gradients, OfRegularisedAnswersAreRefusedNotWrong) {
  const Matrix a = Matrix::from(eye(6), some_layout(2)), b = Matrix::from(ones({6}), some_layout(2));
  GradientTape tape;
  watch(tape, a);
  const Tensor loss = sum(solve(a, b, {.ridge = 0.5}));
  EXPECT_THROW(gradient(tape, loss, a), GradientError);
}

// Rules are collective: what a rank sees of its part must not make it run one twice.
TEST(Gradients, OfSolveWithoutAnAnswerAreThoseOfOneMachineOnAllRanks) {
  struct Row {
    const char* name;
    Tensor a, b;
  };
  Tensor singular = noise_matrix(8, 8), with_nan = noise_matrix(8, 8), bad = ones({8});
  singular[{slice(), 3}] = zeros({8});
  with_nan[{2, 3}] = std::nan("");
  bad[{3}] = std::nan("");
  const std::vector<Row> rows{{"singular A", singular, ones({8})},
                              {"singular to rounding", matmul(noise_matrix(8, 3), noise_matrix(3, 8)), ones({8})},
                              {"NaN in A", with_nan, ones({8})},
                              {"NaN in b", noise_matrix(8, 8), bad}};
  for (const Row& row : rows)
    for (const bool of_a : {false, true}) {
      GradientTape one, many;
      Tensor g;
      Matrix dg;
      one.watch(of_a ? row.a : row.b);
      const std::string here =
          raised([&] { g = one.gradient(sum(linalg::diagnosed::solve(row.a, row.b).value), of_a ? row.a : row.b); });
      const Matrix a = Matrix::from(row.a, some_layout(2)), b = Matrix::from(row.b, some_layout(2));
      watch(many, of_a ? a : b);
      EXPECT_EQ(raised([&] { dg = gradient(many, sum(diagnosed::solve(a, b).value), of_a ? a : b); }), here)
          << row.name << of_a;
      if (here.empty() && dg.defined() && linalg::cond(row.a).item<double>() < 1e6) {
        EXPECT_LE(distance(dg.gather(), g), 1e-13) << row.name << of_a;
      }
    }
}

TEST(Gradients, OfFunctionsThatRunAgainStayTogetherWhereNothingIsFinite) {
  Tensor singular = noise_matrix(8, 8);
  singular[{slice(), 3}] = zeros({8});
  const Matrix b = Matrix::from(ones({8}), some_layout(2));
  const auto loss = [&](const Tensor& t) { return sum(diagnosed::solve(Matrix::from(t, some_layout(2)), b).value); };
  for (const Tensor& t : {singular, noise_matrix(8, 8)}) {
    GradientTape plain, again;
    Tensor g, h;
    plain.watch(t);
    again.watch(t);
    const std::string code = raised([&] { g = plain.gradient(loss(t), t); });
    EXPECT_EQ(raised([&] { h = again.gradient(checkpoint(loss, t), t); }), code);
    EXPECT_EQ(code.empty() ? distance(g, h) : 0, 0);
  }
}

TEST(Gradients, ThatAreNotFiniteOnOneRankAreRaisedOnAll) {
  const Matrix a = Matrix::from(zeros({8, 8}), some_layout(2));
  Tensor w = ones({8, 8});
  w[{5, 3}] = 1e300;
  GradientTape tape({.persistent = true});
  watch(tape, a);
  const Tensor loss = dot(a, Matrix::from(w, some_layout(2))) * 1e10;
  EXPECT_EQ(raised([&] { gradient(tape, loss, a); }), "WP-ESC-001");
  try {
    gradient(tape, loss, a);
  } catch (const NonFiniteError& e) {
    EXPECT_NE(std::string(e.what()).find("inf at element [5, 3] of [8, 8]"), std::string::npos) << e.what();
  }
  const checks off(CheckLevel::off);
  EXPECT_EQ(raised([&] { gradient(tape, loss, a); }), "");
}

TEST(Gradients, OfIllConditionedMatricesSayWhatIsLeftOfThem) {
  std::vector<double> v;
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) v.push_back(1.0 / (i + j + 1));
  const auto told = [](const Tensor& t, auto&& loss) {
    const Matrix a = Matrix::from(t, some_layout(2));
    GradientTape tape;
    watch(tape, a);
    gradient(tape, loss(a), a);
    std::string codes;
    for (const Finding& f : tape.findings()) codes += f.code + " " + f.op + "\n";
    return codes;
  };
  const auto solved = [](const Matrix& a) {
    return sum(diagnosed::solve(a, Matrix::from(ones({9}), a.layout())).value);
  };
  const auto inverted = [](const Matrix& a) { return sum(diagnosed::inv(a).value); };
  const auto log = [](const Matrix& a) { return diagnosed::logdet(a).value; };
  const Tensor hilbert = Tensor::from(v, {9, 9}), good = spd(9, f64);
  EXPECT_EQ(told(hilbert, solved), "WP-GRD-012 dist.solve\n");
  EXPECT_EQ(told(hilbert, inverted), "WP-GRD-012 dist.inv\n");
  EXPECT_EQ(told(hilbert, log), "WP-GRD-012 dist.logdet\n");
  EXPECT_EQ(told(good, solved) + told(good, inverted) + told(good, log), "");
}

}  // namespace
}  // namespace wp::dist
