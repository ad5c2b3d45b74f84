// Factors against what they stand for, and against one machine.
#include "dist/hermitian.hpp"
#include "linalg/stack.hpp"
#include "matrices.hpp"

namespace wp::dist {
namespace {

// max |Qᴴ Q − 1|.
double orthonormal(const Tensor& q) {
  return distance(matmul(adjoint_of(q), q), eye(q.shape()[1], {.dtype = q.dtype()}));
}

struct Size {
  std::int64_t m, n;
};
class Shapes : public ::testing::TestWithParam<Size> {};
INSTANTIATE_TEST_SUITE_P(All, Shapes,
                         ::testing::Values(Size{1, 1}, Size{30, 30}, Size{50, 20}, Size{20, 50}, Size{130, 90}));

TEST_P(Shapes, QrIsThin) {
  const auto [m, n] = GetParam();
  for (const DType dtype : kAll)
    for (const std::int64_t block : {3, 16}) {
      const Tensor a = noise_matrix(m, n, dtype);
      const QrResult f = qr(Matrix::from(a, some_layout(block)));
      const Tensor q = f.Q.gather(), r = f.R.gather();
      EXPECT_LE(distance(matmul(q, r), a), 200 * unit(dtype));
      EXPECT_LE(orthonormal(q), 200 * unit(dtype));
      EXPECT_EQ(distance(r, triu(r)), 0);
    }
}

TEST_P(Shapes, LuHasTheOrderOfItsRows) {
  const auto [m, n] = GetParam();
  for (const DType dtype : kAll)
    for (const std::int64_t block : {3, 16}) {
      const Tensor a = noise_matrix(m, n, dtype);
      const LuResult f = lu(Matrix::from(a, some_layout(block)));
      const Tensor order = Tensor::from(f.order, {m}), l = f.L.gather(), u = f.U.gather();
      EXPECT_LE(distance(matmul(l, u), take(a, order, {.axis = 0})), 300 * unit(dtype));
      EXPECT_EQ(distance(u, triu(u)), 0);
    }
}

TEST_P(Shapes, SvdGivesTheMatrixBack) {
  const auto [m, n] = GetParam();
  for (const DType dtype : kAll)
    for (const std::int64_t block : {3, 16}) {
      const Tensor a = noise_matrix(m, n, dtype);
      const auto f = diagnosed::svd(Matrix::from(a, some_layout(block)));
      const Tensor u = f.value.U.gather(), vh = f.value.Vh.gather(), s = f.value.S;
      EXPECT_TRUE(f.diagnosis.ok());
      EXPECT_LE(distance(matmul(u * astype(s, dtype), vh), a), 400 * unit(dtype));
      EXPECT_LE(orthonormal(u), 400 * unit(dtype));
      EXPECT_LE(orthonormal(adjoint_of(vh)), 400 * unit(dtype));
      EXPECT_LE(distance(s, linalg::svdvals(a)), 100 * unit(dtype));
      EXPECT_LE(distance(svdvals(Matrix::from(a, some_layout(block))), s), 100 * unit(dtype));
      EXPECT_EQ(f.diagnosis[0].value_error.size(), std::min(m, n));
    }
}

TEST(Svd, KeepsItsVectorsOrthonormalWhereValuesVanish) {
  const Tensor a = matmul(noise_matrix(120, 5), matrix_transpose(noise_matrix(120, 5, f64, 3)));
  const SvdResult f = svd(Matrix::from(a, some_layout(16)));
  const Tensor u = f.U.gather(), vh = f.Vh.gather();
  EXPECT_LE(distance(matmul(u * f.S, vh), a), 1e-13);
  EXPECT_LE(orthonormal(u), 1e-13);
  EXPECT_LE(orthonormal(matrix_transpose(vh)), 1e-13);
}

TEST(Eigh, GivesTheMatrixBack) {
  for (const DType dtype : kAll)
    for (const std::int64_t n : {1, 30, 110}) {
      const Tensor b = noise_matrix(n, n, dtype), a = b + adjoint_of(b);
      const auto f = diagnosed::eigh(Matrix::from(a, some_layout(16)));
      const Tensor z = f.value.eigenvectors.gather(), w = f.value.eigenvalues;
      EXPECT_TRUE(f.diagnosis.ok());
      EXPECT_LE(distance(matmul(z * astype(w, dtype), adjoint_of(z)), a), 400 * unit(dtype)) << name(dtype) << n;
      EXPECT_LE(orthonormal(z), 400 * unit(dtype));
      EXPECT_LE(distance(w, linalg::eigvalsh(a)), 100 * unit(dtype));
    }
}

TEST(Eigh, SaysThatAMatrixIsNotSymmetric) {
  std::string told;
  const FindingHandler before = on_finding([&](const Finding& f) { told = f.code; });
  const Tensor a{{1.0, 2.0}, {5.0, 3.0}};
  const EighResult f = eigh(Matrix::from(a, some_layout()));
  EXPECT_EQ(told, "WP-LIN-006");
  EXPECT_LE(distance(f.eigenvalues, linalg::eigvalsh(Tensor{{1.0, 3.5}, {3.5, 3.0}})), 1e-15);
  told.clear();
  EXPECT_LE(distance(eigh(Matrix::from(a, some_layout()), {.uplo = "lower"}).eigenvalues,
                     linalg::eigvalsh(Tensor{{1.0, 5.0}, {5.0, 3.0}})),
            1e-15);
  EXPECT_EQ(told, "");
  on_finding(before);
}

TEST(Cholesky, IsTheFactorOrARefusal) {
  for (const DType dtype : kAll)
    for (const std::int64_t n : {1, 40, 90}) {
      const Tensor a = spd_matrix(n, dtype);
      const Matrix da = Matrix::from(a, some_layout(8));
      const Tensor l = cholesky(da).gather();
      EXPECT_LE(distance(matmul(l, adjoint_of(l)), a), 100 * unit(dtype));
      EXPECT_EQ(distance(l, tril(l)), 0);
      EXPECT_EQ(distance(cholesky(da, {.upper = true}).gather(), adjoint_of(l)), 0);
      EXPECT_NEAR(astype(logdet(da), f64).item<double>(), astype(linalg::logdet(a), f64).item<double>(),
                  1e3 * unit(dtype) * static_cast<double>(n));
    }
  const Matrix bad = Matrix::from(Tensor{{1.0, 2.0}, {2.0, 1.0}}, some_layout());
  EXPECT_THROW(cholesky(bad), NotPositiveDefinite);
  EXPECT_THROW(logdet(bad), NotPositiveDefinite);
  EXPECT_TRUE(std::isnan(cholesky(bad, {.if_ill = "nan"}).gather().to_vector<double>()[0]));
}

TEST(Hermitian, IsNoMatrixWithAnElementThatDiffersFromItsMirror) {
  const std::int64_t n = 23;
  for (const DType dtype : kAll) {
    const auto is_it = [&](const std::vector<complex128>& v, const Layout& layout) {
      const Tensor whole = Tensor::from(v, {n, n});
      const Matrix m = Matrix::from(is_complex(dtype) ? astype(whole, dtype) : astype(real(whole), dtype), layout);
      return linalg::with_float(dtype, [&]<class T>(T) { return is_hermitian<T>(m); });
    };
    std::vector<complex128> h;
    const Tensor a = noise_matrix(n, n, dtype);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) h.push_back(value_at(a, std::min(i, j) * n + std::max(i, j)));
    for (std::int64_t i = 0; i < n; ++i) {
      h[static_cast<std::size_t>(i * n + i)] = h[static_cast<std::size_t>(i * n + i)].real();
      for (std::int64_t j = 0; j < i; ++j)
        h[static_cast<std::size_t>(i * n + j)] = std::conj(h[static_cast<std::size_t>(i * n + j)]);
    }
    for (const Layout& layout : layouts({3, 8})) EXPECT_TRUE(is_it(h, layout));
    std::vector<complex128> factors{1 + 4 * unit(dtype), -1.0};  // a last digit, a sign, an imaginary part
    if (is_complex(dtype)) factors.emplace_back(1, 1e-3);
    for (const complex128 by : factors)
      for (std::int64_t k = 0; k < 2 * n; ++k) {
        std::vector<complex128> other = h;
        for (std::int64_t changed = 0; changed <= k / n * 30; ++changed) {  // one of them, and many
          const std::int64_t i = (7 * k + 5 * changed) % n, j = (i + 1 + (k + changed) % (n - 1)) % n;
          other[static_cast<std::size_t>(i * n + j)] = h[static_cast<std::size_t>(i * n + j)] * by;
        }
        EXPECT_FALSE(is_it(other, some_layout(5))) << name(dtype) << " " << by << " " << k;
      }
  }
}

TEST_P(Shapes, LstsqIsTheShortestMinimiser) {
  const auto [m, n] = GetParam();
  for (const DType dtype : kAll) {
    const Tensor a = noise_matrix(m, n, dtype), b = noise_matrix(m, 2, dtype, 5);
    const auto found = diagnosed::lstsq(Matrix::from(a, some_layout(8)), Matrix::from(b, some_layout(8)));
    const auto one = linalg::diagnosed::lstsq(a, b);
    EXPECT_TRUE(found.diagnosis.ok()) << found.diagnosis;
    EXPECT_LE(distance(found.value.gather(), one.value),
              std::pow(10, -std::floor(found.diagnosis[0].digits)) + 8 * unit(dtype))
        << name(dtype) << found.diagnosis;
    EXPECT_EQ(found.diagnosis[0].rank, std::min(m, n));
  }
}

TEST(Lstsq, OfLowerRankTakesTheSingularValuesThatCount) {
  const Tensor a = matmul(noise_matrix(70, 6), noise_matrix(6, 40, f64, 2)), b = noise_matrix(70, 1, f64, 5);
  const Matrix da = Matrix::from(a, some_layout(8)), db = Matrix::from(b, some_layout(8));
  const auto found = diagnosed::lstsq(da, db);
  EXPECT_EQ(found.diagnosis[0].rank, 6);
  EXPECT_GT(found.diagnosis[0].rank_gap, 1e10);
  EXPECT_EQ(found.diagnosis[0].method, "SVD");
  EXPECT_LE(distance(found.value.gather(), linalg::lstsq(a, b)), 1e-11);
  EXPECT_LE(distance(lstsq(da, db, {.ridge = 0.1}).gather(), linalg::lstsq(a, b, {.ridge = 0.1})), 1e-11);
  EXPECT_LE(distance(pinv(da).gather(), linalg::pinv(a)), 1e-11);
  EXPECT_EQ(matrix_rank(da), 6);
  EXPECT_THROW(lstsq(da, Matrix::from(ones({69}), some_layout(8))), ShapeError);
}

TEST(Lstsq, KeepsItsDigitsInAPolynomialFit) {  // Vandermonde, condition 1e5: QR alone loses five digits
  const std::int64_t m = 60, n = 7;
  std::vector<double> v, right;
  for (std::int64_t i = 0; i < m; ++i) {
    double power = 1, sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      v.push_back(power);
      sum += static_cast<double>(j + 1) * power;
      power *= static_cast<double>(i) / 16;
    }
    right.push_back(sum);
  }
  const auto found = diagnosed::lstsq(Matrix::from(Tensor::from(v, {m, n}), some_layout(4)),
                                      Matrix::from(Tensor::from(right, {m}), some_layout(4)));
  EXPECT_LE(distance(found.value.gather(), arange(1.0, {.stop = 8.0})), 1e-14) << found.diagnosis;
}

TEST(Products, AreThoseOfOneMachine) {
  for (const DType dtype : kAll) {
    const Tensor a = noise_matrix(20, 31, dtype), b = noise_matrix(31, 9, dtype, 2),
                 c = noise_matrix(9, 31, dtype, 3);
    const auto spread = [&](const Tensor& t) { return Matrix::from(t, some_layout(4)); };
    EXPECT_LE(distance(matmul(spread(a), spread(b)).gather(), matmul(a, b)), 40 * unit(dtype));
    EXPECT_LE(distance(matmul(spread(a), spread(c), {.adjoint_b = true}).gather(), matmul(a, adjoint_of(c))),
              40 * unit(dtype));
    EXPECT_LE(distance(matmul(spread(a), spread(a), {.adjoint_a = true}).gather(), matmul(adjoint_of(a), a)),
              40 * unit(dtype));
    EXPECT_THROW(matmul(spread(a), spread(a)), ShapeError);
  }
}

TEST(Norms, DoNotOverflowOnTheWay) {
  const Tensor a = noise_matrix(30, 20) * 1e200;
  const Matrix d = Matrix::from(a, some_layout(4));
  const auto near = [](double got, const Tensor& want) { EXPECT_NEAR(got / want.item<double>(), 1, 1e-13); };
  near(matrix_norm(d), linalg::matrix_norm(a));
  near(matrix_norm(d, 1), linalg::matrix_norm(a, {.ord = 1}));
  near(matrix_norm(d, "inf"), linalg::matrix_norm(a, {.ord = HUGE_VAL}));
  near(matrix_norm(d, 2), linalg::matrix_norm(a, {.ord = 2}));
  near(cond(Matrix::from(a, some_layout(4))), linalg::cond(a));
  EXPECT_EQ(matrix_norm(Matrix::from(zeros({3, 3}), some_layout())), 0);
  EXPECT_THROW(matrix_norm(d, 3), ArgumentError);
}

TEST(Decompositions, RefuseWhatIsNotFinite) {
  const Tensor a{{1.0, HUGE_VAL}, {2.0, 3.0}};
  const Matrix d = Matrix::from(a, some_layout());
  EXPECT_THROW(svd(d), NonFiniteError);
  EXPECT_THROW(svdvals(d), NonFiniteError);
  EXPECT_THROW(eigh(d), NonFiniteError);
  EXPECT_THROW(qr(d), NonFiniteError);
  EXPECT_THROW(lu(d), NonFiniteError);
  EXPECT_THROW(cholesky(d), NonFiniteError);
  EXPECT_THROW(pinv(d), NonFiniteError);
  EXPECT_THROW(lstsq(d, Matrix::from(ones({2}), some_layout())), NonFiniteError);
  EXPECT_TRUE(std::isnan(svdvals(d, {.if_ill = "nan"}).to_vector<double>()[0]));
}

TEST(Norms, ThatAreTheLeastOfNothingAreRefusedAsOnOneMachine) {
  for (const Dims& shape : {Dims{0, 4}, Dims{4, 0}, Dims{0, 0}})
    for (const Setting ord : {Setting(-1), Setting(-2), Setting(-HUGE_VAL), Setting(1), Setting(2), Setting("fro")}) {
      const Tensor t = zeros(shape);
      const Matrix a = Matrix::from(t, some_layout(4));
      if (ord.is_number() && ord.number() < 0) {
        EXPECT_THROW(linalg::matrix_norm(t, {.ord = ord}), ShapeError);
        EXPECT_THROW(matrix_norm(a, ord), ShapeError);
      } else {
        EXPECT_EQ(matrix_norm(a, ord), 0);
      }
    }
}

}  // namespace
}  // namespace wp::dist
