// Bounds of singular values and eigenvectors against exact ones; updates, cut-offs and words of linear dependence.
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.hpp"
#include "rationals.hpp"
#include "tensors.hpp"

namespace wp {
namespace {

namespace la = linalg;
using matrices::same_bits;
using rationals::Rational;

Tensor random(const Dims& shape, std::int64_t seed) {
  return random::normal(shape, seed, 0);
}
double largest(const Tensor& x) {
  return max(abs(x)).item<double>();
}

// Every singular value σ̂ is within e of the exact one: (σ̂ ± e)² are counted among the eigenvalues of AᵀA.
double check_singular(const Tensor& a, const la::SvdvalsOptions& options) {
  const std::int64_t m = a.shape(0), n = a.shape(1), k = std::min(m, n);
  const auto d = la::diagnosed::svdvals(a, options);
  const auto s = d.value.to_vector<double>(), e = d.diagnosis[0].value_error.to_vector<double>();
  const auto v = (m > n ? contiguous(matrix_transpose(a)) : a).to_vector<double>();
  const std::int64_t each = std::max(m, n);
  std::vector<Rational> square(static_cast<std::size_t>(k * k));
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t l = 0; l < each; ++l) {
        const double x = v[static_cast<std::size_t>(i * each + l)], y = v[static_cast<std::size_t>(j * each + l)];
        if (x != 0 && y != 0) square[static_cast<std::size_t>(i * k + j)] += Rational(x) * Rational(y);
      }
  double worst = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Rational low = Rational(s[at]) - Rational(e[at]), high = Rational(s[at]) + Rational(e[at]);
    if (e[at] < s[at]) {
      EXPECT_LE(rationals::below(square, k, low * low), k - 1 - i) << s[at] << " is too large";
    }
    EXPECT_GE(rationals::below(square, k, high * high), k - i) << s[at] << " is too small";
    worst = std::max(worst, e[at] / s[at]);
  }
  return worst;
}

TEST(SingularValues, OfGradedMatricesHaveRelativeBoundsWithHighAccuracy) {
  for (std::int64_t seed = 0; seed < 20; ++seed)
    for (const Dims& shape : {Dims{4, 4}, Dims{6, 3}, Dims{3, 6}, Dims{1, 5}, Dims{7, 7}}) {
      const std::int64_t k = std::min(shape[0], shape[1]);
      const Tensor scales = exp2(astype(arange(k), f64) * -20.0);
      const Tensor b = random(shape, 10 * seed);
      const Tensor a = shape[0] > shape[1] ? b * scales : b * expand_dims(scales, {.axis = 1});
      SCOPED_TRACE(say(seed, " ", shape));
      const double high = check_singular(a, {.accuracy = "high"}), normal = check_singular(a, {});
      EXPECT_LT(high, 1e-9);
      if (k > 3) {
        EXPECT_GT(normal, 1) << "the bound by the norm says nothing of the least value";
      }
    }
}

TEST(SingularValues, WithoutAGradeHaveHonestBoundsToo) {
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    const Tensor a = random({5, 5}, seed), near = stack({a[{0}], a[{1}], a[{2}], a[{3}], a[{0}] + a[{1}] * 1e-9});
    EXPECT_LT(check_singular(a, {.accuracy = "high"}), 1e-11);
    EXPECT_GT(check_singular(near, {.accuracy = "high"}), 1e-9);
  }
}

// A = X Λ X⁻¹ in whole numbers: X = L·U with ones on both diagonals.
TEST(Eig, VectorsAreWithinTheirErrors) {
  for (std::int64_t seed = 0; seed < 30; ++seed)
    for (const std::int64_t n : {2, 3, 5}) {
      const Tensor l = tril(floor(random({n, n}, 5 * seed) * 2.0), {.k = -1}) + eye(n);
      const Tensor u = triu(floor(random({n, n}, 5 * seed + 1) * 2.0), {.k = 1}) + eye(n);
      const Tensor x = matmul(l, u), w = astype(arange(n), f64) * 3.0 + 1.0;
      const Tensor inverse = round(la::inv(x));
      ASSERT_TRUE(same_bits(matmul(x, inverse), eye(n)));
      const Tensor a = matmul(x * w, inverse);
      const auto d = la::diagnosed::eig(a);
      const Tensor error = d.diagnosis[0].vector_error;
      for (std::int64_t j = 0; j < n; ++j) {
        const Tensor got = d.value.eigenvectors[{slice(), j}];
        const double value = real(d.value.eigenvalues[{j}]).item<double>();
        const Tensor exact = x[{slice(), static_cast<std::int64_t>(std::lround((value - 1) / 3))}];
        const Tensor unit = exact / la::vector_norm(exact);
        const Tensor phase = sum(conj(got) * unit);
        const double off = largest(got * (phase / abs(phase)) - unit);
        EXPECT_LE(off, error[{j}].item<double>() + 1e-15) << seed << " " << n << " " << j;
        EXPECT_LT(error[{j}].item<double>(), 1e-4);
      }
    }
}

TEST(Eig, ValuesThatCannotBeToldApartAreAClusterWithUncertainVectors) {
  const Tensor q = la::qr(random({4, 4}, 3)).Q;
  const Tensor a = matmul(
      matmul(q, Tensor{{2.0, 1.0, 0.0, 0.0}, {0.0, 2.0, 0.0, 0.0}, {0.0, 0.0, 5.0, 0.0}, {0.0, 0.0, 0.0, 9.0}}),
      matrix_transpose(q));
  const auto d = la::diagnosed::eig(a);
  const la::Member& m = d.diagnosis[0];
  ASSERT_EQ(m.clusters.size(), 1U);
  EXPECT_EQ(m.clusters[0].last, m.clusters[0].first + 1);
  EXPECT_NEAR(m.clusters[0].low, 2, 1e-6);
  EXPECT_GT(m.vector_error[{m.clusters[0].first}].item<double>(), 1e-8);
  EXPECT_TRUE(la::diagnosed::eig(Tensor{{1.0, 2.0}, {3.0, 4.0}}).diagnosis[0].clusters.empty());
  EXPECT_EQ(la::diagnosed::eig(Tensor{{3.0}}).diagnosis[0].vector_error.item<double>(), 0);
  EXPECT_FALSE(la::diagnosed::eigvals(a).diagnosis[0].vector_error.defined());
  EXPECT_LE(la::diagnosed::eig(Tensor{{1.0, 1e200}, {1e-200, 2.0}}).diagnosis[0].vector_error[{0}].item<double>(), 2);
}

TEST(Eigh, WithTwoMatricesIsTheGeneralizedProblem) {
  const Tensor a = {{4.0, 1.0}, {1.0, 5.0}}, b = {{3.0, 1.0}, {1.0, 2.0}};
  const auto r = la::eigh(a, b), same = la::eigh_generalized(a, b);
  EXPECT_TRUE(same_bits(r.eigenvalues, same.eigenvalues));
  EXPECT_TRUE(same_bits(r.eigenvectors, same.eigenvectors));
  EXPECT_TRUE(same_bits(la::eigh(a, b, {.uplo = "lower"}).eigenvalues,
                        la::eigh_generalized(a, b, {.uplo = "lower"}).eigenvalues));
  EXPECT_TRUE(la::diagnosed::eigh(a, b).diagnosis.ok());
  EXPECT_EQ(la::eigh(a, {}).eigenvalues.size(), 2);
  EXPECT_EQ(la::eigh(a, {.uplo = "upper"}).eigenvalues.size(), 2);
  EXPECT_THROW(la::eigh(a, a - 6.0 * eye(2)), NotPositiveDefinite);
}

TEST(CholUpdate, OfManyColumnsIsTheFactorOfTheSum) {
  for (const std::int64_t n : {1, 4, 30})
    for (const std::int64_t k : {0, 1, 3, 40}) {
      const Tensor r = random({n, n}, n), a = matmul(r, matrix_transpose(r)) + eye(n), x = random({n, k}, k);
      const Tensor l = la::cholesky(a), sum = a + matmul(x, matrix_transpose(x));
      const Tensor up = la::chol_update(l, x, {.columns = true});
      EXPECT_LT(largest(matmul(up, matrix_transpose(up)) - sum), 1e-12 * largest(sum)) << n << " " << k;
      const auto down = la::diagnosed::chol_update(up, x, {.downdate = true, .columns = true});
      EXPECT_LE(down.diagnosis.status(), la::Status::ill_conditioned);
      EXPECT_LT(largest(down.value - l), 1e-9 * largest(l)) << n << " " << k;
      if (k == 1) {
        EXPECT_TRUE(same_bits(up, la::chol_update(l, x[{slice(), 0}])));
      }
    }
  const Tensor l = eye(3), x = Tensor{{0.8, 0.0}, {0.0, 0.7}, {0.5, 0.7}};  // each column alone could go
  EXPECT_NO_THROW(la::chol_update(l, x[{slice(), 0}], {.downdate = true}));
  EXPECT_NO_THROW(la::chol_update(l, x[{slice(), 1}], {.downdate = true}));
  EXPECT_THROW(la::chol_update(l, x, {.downdate = true, .columns = true}), NotPositiveDefinite);
  EXPECT_THROW(la::chol_update(l, eye(2), {.columns = true}), ShapeError);
  EXPECT_THROW(la::chol_update(l, Tensor{1.0, 2.0, 3.0}, {.columns = true}), ShapeError);
}

TEST(Subspaces, TakeAnAbsoluteThreshold) {
  const Tensor a = {{1.0, 0.0}, {0.0, 0.01}};
  EXPECT_EQ(la::null_space(a).shape(), (Dims{2, 0}));
  EXPECT_EQ(la::null_space(a, {.atol = 0.1}).shape(), (Dims{2, 1}));
  EXPECT_EQ(la::orth(a, {.atol = 0.1}).shape(), (Dims{2, 1}));
  EXPECT_EQ(la::projector(a, {.atol = 0.1}).to_vector<double>(), (std::vector<double>{1, 0, 0, 0}));
  EXPECT_EQ(la::orth(a * 1e-20, {.atol = 1e-30}).shape(), (Dims{2, 2}));
  EXPECT_THROW(la::orth(a, {.atol = -1.0}), ArgumentError);
}

std::string dependency(const Tensor& a, const std::optional<std::vector<std::string>>& names = std::nullopt) {
  return la::diagnosed::solve(a, ones({a.shape(0)}), {.names = names}).diagnosis[0].dependent;
}

TEST(Words, OfAnExactlySingularMatrixAreExact) {
  EXPECT_EQ(dependency({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}), "row 2 = −row 0 + 2 × row 1");
  EXPECT_EQ(dependency({{3.0, 6.0}, {1.0, 2.0}}), "row 1 = 1/3 × row 0");
  EXPECT_EQ(dependency({{7.0, 14.0}, {-24.0, -48.0}}), "row 1 = −24/7 × row 0");
  EXPECT_EQ(dependency({{9.0, 3.0}, {3.0, 1.0}}, {{"mass", "force"}}), "force = 1/3 × mass");
  EXPECT_EQ(dependency({{0.0, 0.0}, {1.0, 2.0}}), "row 0 is zero");
  EXPECT_EQ(dependency({{1.0, 1.0}, {1.5, 1.5}}), "row 1 = 1.5 × row 0");
  EXPECT_EQ(dependency({{0.1, 0.2}, {0.2, 0.4}}), "row 1 = 2 × row 0");
}

}  // namespace
}  // namespace wp
