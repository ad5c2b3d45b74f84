// vector_error of svd and eigh against vectors in double-double arithmetic, for every shape, dtype and spacing of the
// values; and the clusters of values that their errors do not tell apart.
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.hpp"
#include "small_truth.hpp"
#include "tensors.hpp"

namespace {
using namespace wp;
namespace la = wp::linalg;
using namespace matrices;
using small_truth::DoubleDouble;
using small_truth::Exact;

template <class T>
constexpr Size parts = std::is_arithmetic_v<T> ? 1 : 2;

// Complex matrices as [[re, −im], [im, re]], vectors as [re, im]: every value has a plane of real vectors.
template <class T>
Exact real_form(const Matrix<T>& a, Size columns) {
  const Size p = parts<T>, width = p * a.n;
  Exact out(static_cast<std::size_t>(p * a.m * width));
  for (Size i = 0; i < a.m; ++i)
    for (Size j = 0; j < a.n; ++j) {
      const auto put = [&](Size r, Size c, double v) { out[static_cast<std::size_t>(r * width + c)] = v; };
      put(i, j, std::real(a(i, j)));
      if (p == 1) continue;
      put(i + a.m, j, std::imag(a(i, j)));
      if (columns == 1) continue;
      put(i, j + a.n, -std::imag(a(i, j)));
      put(i + a.m, j + a.n, std::real(a(i, j)));
    }
  return out;
}

// |x − phase·v|, least over phases: x a column of `got`, v in the span of the rows [p·j, p·j + p) of `truth`, whose
// lengths are any.
template <class T>
double distance(const Matrix<T>& got, Size column, const Exact& truth, Size j) {
  const Size p = parts<T>, length = p * got.m;
  std::vector<DoubleDouble> x(static_cast<std::size_t>(length));
  for (Size i = 0; i < got.m; ++i) {
    x[static_cast<std::size_t>(i)] = std::real(got(i, column));
    if (p == 2) x[static_cast<std::size_t>(i + got.m)] = std::imag(got(i, column));
  }
  for (Size row = p * j; row < p * (j + 1); ++row) {
    const DoubleDouble* const v = truth.data() + row * length;
    DoubleDouble along, square;
    for (Size i = 0; i < length; ++i) along += v[i] * x[static_cast<std::size_t>(i)], square += v[i] * v[i];
    for (Size i = 0; i < length; ++i) x[static_cast<std::size_t>(i)] -= along / square * v[i];
  }
  DoubleDouble sine;
  for (const DoubleDouble& e : x) sine += e * e;
  return 2 * std::sin(std::asin(std::min(1.0, std::sqrt(sine.high()))) / 2);
}

// Every vector is within its error, and the error is not 2 for all where values lie apart.
template <class T>
void check_svd(const Matrix<T>& a, const std::string& accuracy) {
  const Size k = std::min(a.m, a.n), p = parts<T>;
  const bool tall = a.m >= a.n;
  const Matrix<T> upright = tall ? a : adjoint(a);
  const small_truth::Singular truth = small_truth::svd(static_cast<int>(p * upright.m), static_cast<int>(p * k),
                                                       real_form(upright, upright.n > 0 ? 2 : 1));
  const auto [value, d] = la::diagnosed::svd(tensor(a), {.full_matrices = false, .accuracy = accuracy});
  const auto error = d[0].vector_error.template to_vector<double>();
  const Matrix<T> u = matrix<T>(value.U), v = adjoint(matrix<T>(value.Vh));
  for (Size j = 0; j < k; ++j) {
    const double told = error[static_cast<std::size_t>(j)];
    EXPECT_LE(distance(tall ? v : u, j, truth.v, j), told) << "short side, value " << j << " " << d;
    if (truth.s[static_cast<std::size_t>(p * j)].high() > 0) {
      EXPECT_LE(distance(tall ? u : v, j, truth.left, j), told) << "long side, value " << j << " " << d;
    }
  }
}
template <class T>
void check_eigh(const Matrix<T>& a, const std::string& accuracy) {
  const Size n = a.n, p = parts<T>;
  Exact shifted = real_form(a, 2);  // positive definite: its singular vectors are the eigenvectors, order turned
  const double shift = 2 * static_cast<double>(norm(wide(a)));
  for (Size i = 0; i < p * n; ++i) shifted[static_cast<std::size_t>(i * (p * n + 1))] += shift;
  const small_truth::Singular truth = small_truth::svd(static_cast<int>(p * n), static_cast<int>(p * n), shifted);
  const auto [value, d] = la::diagnosed::eigh(tensor(a), {.accuracy = accuracy});
  const auto error = d[0].vector_error.template to_vector<double>();
  const Matrix<T> x = matrix<T>(value.eigenvectors);
  for (Size j = 0; j < n; ++j)
    EXPECT_LE(distance(x, j, truth.v, n - 1 - j), error[static_cast<std::size_t>(j)]) << "value " << j << " " << d;
}

// Values that fall by powers of ten, the last ones together or zero, and random ones.
std::vector<double> spaced(Size k, unsigned kind) {
  std::vector<double> s;
  for (Size i = 0; i < k; ++i) s.push_back(std::pow(10.0, -static_cast<double>(i * kind) * 1.5));
  if (kind == 4 && k > 1) s.back() = s[static_cast<std::size_t>(k) - 2] * (1 - 1e-9);
  if (kind == 5 && k > 1) s.back() = 1e-15;
  return s;
}
constexpr unsigned kSpacings = 6;

template <class T>
class VectorErrors : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(VectorErrors, Types);

TYPED_TEST(VectorErrors, OfSvdHoldForTallWideAndSquareMatrices) {
  for (const Shape shape : {Shape{3, 2}, {2, 3}, {4, 1}, {1, 4}, {6, 3}, {3, 6}, {5, 4}, {3, 3}, {5, 5}, {1, 1}})
    for (unsigned kind = 0; kind < kSpacings; ++kind)
      for (unsigned seed = 1; seed < 12; ++seed)
        for (const char* accuracy : {"normal", "high"}) {
          SCOPED_TRACE(say(shape.m, " x ", shape.n, ", spacing ", kind, ", seed ", seed, ", ", accuracy));
          check_svd(with_values<TypeParam>(shape.m, shape.n, spaced(std::min(shape.m, shape.n), kind), 2 * seed),
                    accuracy);
        }
}
TYPED_TEST(VectorErrors, OfEighHoldForNearAndDistantEigenvalues) {
  for (const Size n : {1, 2, 3, 6})
    for (unsigned kind = 0; kind < kSpacings; ++kind)
      for (unsigned seed = 1; seed < 12; ++seed)
        for (const char* accuracy : {"normal", "high"}) {
          SCOPED_TRACE(say("n ", n, ", spacing ", kind, ", seed ", seed, ", ", accuracy));
          Matrix<TypeParam> a = with_values<TypeParam>(n, n, spaced(n, kind), 2 * seed);
          for (Size i = 0; i < n; ++i)
            for (Size j = 0; j <= i; ++j) {
              a(j, i) = conjugate(a(i, j));
              if (i == j) a(i, i) = TypeParam(std::real(a(i, i)));
            }
          check_eigh(a, accuracy);
        }
}

// U of a tall matrix lies beside the vectors of m − n singular values that are 0: σ₂ is the gap.
TEST(Svd, VectorsOfTheLongSideAreBoundedByTheSingularValueItself) {
  const auto last = [](const Tensor& a) {
    const Tensor error = la::diagnosed::svd(a, {.full_matrices = false}).diagnosis[0].vector_error;
    return error.to_vector<double>().back();
  };
  const Tensor tall{{1.0, 0.0}, {0.0, 1e-12}, {0.0, 0.0}}, square{{1.0, 0.0}, {0.0, 1e-12}};
  EXPECT_GT(last(tall), 1e-4);
  EXPECT_GT(last(matrix_transpose(tall)), 1e-4);
  EXPECT_GT(last(stack({tall, tall})), 1e-4);
  EXPECT_LT(last(tall * Tensor{2.0, 1e12}), 1e-13);
  EXPECT_LT(last(square), 1e-13);
  EXPECT_GT(last(Tensor{{3.0}, {4.0}}), 0);
  EXPECT_EQ(last(Tensor{{3.0}}), 0);
  EXPECT_EQ(last(zeros({3, 2})), 2);
}
TEST(Svd, NamesTheClustersOfItsValuesAndOnlyThose) {
  const auto clusters = [](const std::vector<double>& s, Size m) {
    return la::diagnosed::svd(tensor(with_values<double>(m, static_cast<Size>(s.size()), s, 5)))
        .diagnosis[0]
        .clusters;
  };
  for (const Size m : {5, 8}) {
    const auto two = clusters({3, 3, 2, 1, 1}, m);
    ASSERT_EQ(two.size(), 2U) << m;
    EXPECT_EQ(two[0].first, 0);
    EXPECT_EQ(two[0].last, 1);
    EXPECT_EQ(two[1].first, 3);
    EXPECT_EQ(two[1].last, 4);
    EXPECT_NEAR(two[1].low, 1, 1e-14);
    EXPECT_LE(two[1].low, two[1].high);
    const auto one = clusters({3, 2, 2, 2, 1}, m);
    ASSERT_EQ(one.size(), 1U) << m;
    EXPECT_EQ(one[0].first, 1);
    EXPECT_EQ(one[0].last, 3);
    EXPECT_TRUE(clusters({3, 2 + 1e-10, 2, 1, 1e-9}, m).empty()) << m;
  }
}

}  // namespace
