#include <gtest/gtest.h>

#include "kernels/lapack.hpp"
#include "matrices.hpp"

namespace {
using namespace matrices;
namespace lapack = wp::lapack;
using lapack::EighMethod;
using lapack::Triangle;

template <class T>
class LapackEigen : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LapackEigen, Types);

TYPED_TEST(LapackEigen, EveryMethodDiagonalisesEveryHermitianMatrix) {
  using T = TypeParam;
  for (const EighMethod method : {EighMethod::divide, EighMethod::relative, EighMethod::qr})
    for (const Triangle triangle : {Triangle::lower, Triangle::upper})
      for (const Size n : kSizes)
        for_kinds([&](Kind kind) {
          SCOPED_TRACE(name(kind) + " " + std::to_string(n) + " method " + std::to_string(static_cast<int>(method)));
          const Matrix<T> truth = make_hermitian<T>(kind, n);
          Matrix<T> a = truth, z(n, n);
          for (Size j = 0; j < n; ++j)  // the other triangle is not read
            for (Size i = 0; i < n; ++i)
              if (triangle == Triangle::lower ? i < j : i > j) a(i, j) = T(std::numeric_limits<Real<T>>::quiet_NaN());
          std::vector<Real<T>> w(n), only(n);
          ASSERT_EQ(lapack::eigh_by<T>(method, triangle, n, a.data.data(), a.ld, w.data(), z.data.data(), z.ld), 0);
          ASSERT_EQ(lapack::eigh_by<T>(method, triangle, n, a.data.data(), a.ld, only.data(), nullptr, 0), 0);
          EXPECT_TRUE(z.room_is_untouched());
          EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
          const auto A = wide(truth), Z = wide(z);
          const double right = method == EighMethod::relative ? 4 * kRight : kRight;  // as its header says
          EXPECT_LT(ratio<T>(A - scaled(Z, w) * adjoint(Z), norm(A), n), right);
          EXPECT_LT(unorthogonality(z), right);
          for (Size i = 0; i < n; ++i)
            EXPECT_NEAR(only[i], w[i],
                        kRight * static_cast<double>(n) *
                            (unit<T> * static_cast<double>(norm(A)) + std::numeric_limits<Real<T>>::denorm_min()));
        });
}

TYPED_TEST(LapackEigen, GeneralisedVectorsAreOrthonormalInTheMetricOfB) {
  using T = TypeParam;
  for (const bool vectors : {true, false})
    for (const Size n : kSizes)
      for (const Kind kind : {Kind::random, Kind::zero, Kind::repeated, Kind::hilbert}) {
        SCOPED_TRACE(name(kind) + " " + std::to_string(n));
        const Matrix<T> a = make_hermitian<T>(kind, n);
        Matrix<T> b = make_hermitian<T>(Kind::random, n), z = a;
        for (Size j = 0; j < n; ++j) b(j, j) += T(static_cast<Real<T>>(2 * n));
        Matrix<T> factor = b;
        std::vector<Real<T>> w(n);
        ASSERT_EQ(lapack::eigh_generalised(vectors, Triangle::lower, n, z.data.data(), z.ld, factor.data.data(),
                                           factor.ld, w.data()),
                  0);
        EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
        if (!vectors || n == 0) continue;
        const auto A = wide(a), B = wide(b), Z = wide(z);
        EXPECT_LT(ratio<T>(A * Z - scaled(B * Z, w), norm(A) * norm(Z) + 1e-30L, n), kRight);
        EXPECT_LT(ratio<T>(identity<Wide<T>>(n) - adjoint(Z) * B * Z, 1, n), kRight);
      }
}
TEST(LapackEigh, AMetricThatIsNotPositiveDefiniteIsNamedByItsMinor) {
  std::vector<double> a = {1, 0, 0, 1}, b = {1, 0, 0, -1}, w(2);
  EXPECT_EQ(lapack::eigh_generalised(true, Triangle::lower, 2, a.data(), 2, b.data(), 2, w.data()), 2 + 2);
}

TYPED_TEST(LapackEigen, GeneralEigenvectorsOfBothSidesSatisfyTheirEquations) {
  using T = TypeParam;
  using C = std::complex<Real<T>>;
  for (const Size n : kSizes)
    for_kinds([&](Kind kind) {
      SCOPED_TRACE(name(kind) + " " + std::to_string(n));
      const Matrix<T> a = make<T>(kind, n, n);
      Matrix<C> left(n, n), right(n, n);
      std::vector<C> w(n), only(n);
      std::vector<Real<T>> values(n), vectors(n);
      ASSERT_EQ(
          lapack::eig<T>(lapack::Balance::both, n, a.data.data(), a.ld, w.data(),
                         {left.data.data(), left.ld, right.data.data(), right.ld, values.data(), vectors.data()}),
          0);
      ASSERT_EQ(lapack::eig<T>(lapack::Balance::both, n, a.data.data(), a.ld, only.data(), {}), 0);
      Matrix<C> same(n, n);
      for (Size j = 0; j < n; ++j)
        for (Size i = 0; i < n; ++i) same(i, j) = C(a(i, j));
      const auto A = wide(same), L = wide(left), R = wide(right);
      std::vector<std::complex<long double>> conjugates;
      for (const C& x : w) conjugates.push_back(std::conj(std::complex<long double>(x)));
      EXPECT_LT(ratio<C>(A * R - scaled(R, w), norm(A), n), kRight);
      EXPECT_LT(ratio<C>(adjoint(A) * L - scaled(L, conjugates), norm(A), n), kRight);
      for (Size j = 0; j < n; ++j) {
        long double l = 0, r = 0;
        for (Size i = 0; i < n; ++i) l += std::norm(L(i, j)), r += std::norm(R(i, j));
        EXPECT_NEAR(static_cast<double>(std::sqrt(l)), 1, kRight * unit<T> * static_cast<double>(n));
        EXPECT_NEAR(static_cast<double>(std::sqrt(r)), 1, kRight * unit<T> * static_cast<double>(n));
        EXPECT_TRUE(values[j] >= 0 && values[j] <= 1 + kRight * unit<T> * static_cast<double>(n)) << values[j];
        EXPECT_TRUE(vectors[j] >= 0);
      }
    });
}
TEST(LapackEig, ARotationHasImaginaryEigenvaluesAndConjugateVectors) {
  const std::vector<double> a = {0, 1, 0, -1, 0, 0, 0, 0, 3};
  std::vector<std::complex<double>> w(3), v(9);
  ASSERT_EQ(lapack::eig<double>(lapack::Balance::both, 3, a.data(), 3, w.data(), {nullptr, 0, v.data(), 3}), 0);
  EXPECT_EQ(std::norm(w[0]) * std::norm(w[1]) * std::norm(w[2]), 9);
  for (int j = 0; j < 3; ++j)
    if (w[j].imag() > 0) {
      ASSERT_EQ(w[j + 1], std::conj(w[j]));
      for (int i = 0; i < 3; ++i) EXPECT_EQ(v[3 * (j + 1) + i], std::conj(v[3 * j + i]));
    }
}
TEST(LapackEig, ADefectiveMatrixHasEigenvaluesOfNoConditionAndANormalOneOfFullCondition) {
  const std::vector<double> jordan = {1, 0, 1, 1}, normal = {0, 1, -1, 0};
  std::vector<std::complex<double>> w(2);
  std::vector<double> c(2);
  lapack::EigOutputs<double> out;
  out.value_rcond = c.data();
  ASSERT_EQ(lapack::eig<double>(lapack::Balance::permute, 2, jordan.data(), 2, w.data(), out), 0);
  EXPECT_LT(c[0], 1e-15);
  ASSERT_EQ(lapack::eig<double>(lapack::Balance::permute, 2, normal.data(), 2, w.data(), out), 0);
  EXPECT_NEAR(c[0], 1, 1e-15);
}

TYPED_TEST(LapackEigen, SchurFormIsTriangularUpToStandardBlocksAndReconstructs) {
  using T = TypeParam;
  for (const Size n : kSizes)
    for_kinds([&](Kind kind) {
      SCOPED_TRACE(name(kind) + " " + std::to_string(n));
      const Matrix<T> a = make<T>(kind, n, n);
      Matrix<T> s = a, z(n, n), alone = a;
      std::vector<std::complex<Real<T>>> w(n);
      ASSERT_EQ(lapack::schur<T>(n, s.data.data(), s.ld, w.data(), z.data.data(), z.ld), 0);
      ASSERT_EQ(lapack::schur<T>(n, alone.data.data(), alone.ld, w.data(), nullptr, 0), 0);
      for (Size j = 0; j < n; ++j)
        for (Size i = j + 1; i < n; ++i) {
          if (s(i, j) == T(0)) continue;
          ASSERT_TRUE((std::is_arithmetic_v<T>)) << "complex forms have no blocks";
          ASSERT_EQ(i, j + 1);
          EXPECT_EQ(s(j, j), s(i, i));
          EXPECT_LT(std::real(s(i, j)) / std::abs(s(i, j)) * std::real(s(j, i)), 0);
        }
      const auto A = wide(a), Z = wide(z);
      EXPECT_LT(ratio<T>(A - Z * wide(s) * adjoint(Z), norm(A), n), kRight);
      EXPECT_LT(unorthogonality(z), kRight);
    });
}

TYPED_TEST(LapackEigen, SylvesterSolvesForEveryFormOfItsCoefficients) {
  using T = TypeParam;
  using lapack::Op;
  for (const Shape shape : kShapes)
    for (const int sign : {1, -1})
      for (const Op op : {Op::none, Op::adjoint}) {
        SCOPED_TRACE(std::to_string(shape.m) + " x " + std::to_string(shape.n));
        Matrix<T> a = random<T>(shape.m, shape.m, 1), b = random<T>(shape.n, shape.n, 2);
        const Matrix<T> c = random<T>(shape.m, shape.n, 3);
        std::vector<std::complex<Real<T>>> w(shape.m + shape.n);
        ASSERT_EQ(lapack::schur<T>(a.m, a.data.data(), a.ld, w.data(), nullptr, 0), 0);
        ASSERT_EQ(lapack::schur<T>(b.m, b.data.data(), b.ld, w.data(), nullptr, 0), 0);
        Matrix<T> x = c;
        Real<T> scale = 0;
        ASSERT_EQ(lapack::sylvester(op, Op::none, sign, a.m, b.m, a.data.data(), a.ld, b.data.data(), b.ld,
                                    x.data.data(), x.ld, &scale),
                  0);
        const auto A = op == Op::none ? wide(a) : adjoint(wide(a)), B = wide(b), X = wide(x);
        auto right = wide(c);
        for (auto& v : right.data) v *= scale;
        const auto XB = scaled(X * B, std::vector<int>(static_cast<std::size_t>(shape.n), -sign));
        EXPECT_LT(ratio<T>(A * X - XB - right, (norm(A) + norm(B)) * norm(X) + 1e-30L, std::max(shape.m, shape.n)),
                  kRight);
      }
}

}  // namespace
