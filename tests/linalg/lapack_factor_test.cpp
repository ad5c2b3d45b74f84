#include <gtest/gtest.h>

#include "kernels/lapack.hpp"
#include "matrices.hpp"

namespace {
using namespace matrices;
namespace lapack = wp::lapack;
using lapack::Form;
using lapack::Op;
using lapack::Side;

template <class T>
class LapackFactor : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LapackFactor, Types);

// The first k columns of Q, and R of k rows.
template <class T>
Matrix<T> q_of(const Matrix<T>& f, const std::vector<T>& tau) {
  Matrix<T> q(f.m, std::min(f.m, f.n));
  for (Size j = 0; j < q.n; ++j)
    for (Size i = 0; i < q.m; ++i) q(i, j) = f(i, j);
  EXPECT_EQ(lapack::householder_product(q.m, q.n, q.n, q.data.data(), q.ld, tau.data()), 0);
  return q;
}
template <class T>
Matrix<T> r_of(const Matrix<T>& f) {
  Matrix<T> r(std::min(f.m, f.n), f.n);
  for (Size j = 0; j < r.n; ++j)
    for (Size i = 0; i < r.m; ++i) r(i, j) = i <= j ? f(i, j) : T(0);
  return r;
}

TYPED_TEST(LapackFactor, QrReconstructsPivotedOrNot) {
  using T = TypeParam;
  for (const Shape shape : kShapes)
    for_kinds([&](Kind kind) {
      SCOPED_TRACE(name(kind) + " " + std::to_string(shape.m) + " x " + std::to_string(shape.n));
      const Matrix<T> a = make<T>(kind, shape.m, shape.n);
      const auto A = wide(a);
      std::vector<T> tau(std::min(a.m, a.n) + 1);
      Matrix<T> f = a;
      ASSERT_EQ(lapack::qr(f.m, f.n, f.data.data(), f.ld, tau.data()), 0);
      EXPECT_TRUE(f.room_is_untouched());
      const Matrix<T> q = q_of(f, tau);
      EXPECT_LT(ratio<T>(A - wide(q) * wide(r_of(f)), norm(A), std::max(a.m, a.n)), kRight);
      EXPECT_LT(unorthogonality(q), kRight);
      Matrix<T> pivoted = a;
      std::vector<Size> columns(a.n);
      ASSERT_EQ(lapack::qr_pivoted(a.m, a.n, pivoted.data.data(), a.ld, columns.data(), tau.data()), 0);
      Matrix<Wide<T>> AP(a.m, a.n, 0);
      for (Size j = 0; j < a.n; ++j)
        for (Size i = 0; i < a.m; ++i) AP(i, j) = A(i, columns[j]);
      EXPECT_LT(ratio<T>(AP - wide(q_of(pivoted, tau)) * wide(r_of(pivoted)), norm(A), std::max(a.m, a.n)), kRight);
      for (Size i = 1; i < std::min(a.m, a.n); ++i)
        EXPECT_LE(std::abs(pivoted(i, i)),
                  std::abs(pivoted(i - 1, i - 1)) * (1 + 20 * std::sqrt(unit<T>)) + norm(A) * a.m * unit<T>);
    });
}

TYPED_TEST(LapackFactor, ApplyingQIsMultiplyingByIt) {
  using T = TypeParam;
  Matrix<T> f = random<T>(20, 8, 1);
  std::vector<T> tau(8);
  ASSERT_EQ(lapack::qr(f.m, f.n, f.data.data(), f.ld, tau.data()), 0);
  Matrix<T> q(20, 20);
  for (Size j = 0; j < 8; ++j)
    for (Size i = 0; i < 20; ++i) q(i, j) = f(i, j);
  ASSERT_EQ(lapack::householder_product(20, 20, 8, q.data.data(), q.ld, tau.data()), 0);
  EXPECT_LT(unorthogonality(q), kRight);
  for (const Op op : {Op::none, Op::adjoint})
    for (const Side side : {Side::left, Side::right}) {
      const Matrix<T> c = side == Side::left ? random<T>(20, 5, 2) : random<T>(5, 20, 2);
      Matrix<T> product = c;
      ASSERT_EQ(
          lapack::apply_q(side, op, c.m, c.n, 8, f.data.data(), f.ld, tau.data(), product.data.data(), product.ld),
          0);
      const auto Q = op == Op::none ? wide(q) : adjoint(wide(q)), C = wide(c);
      EXPECT_LT(ratio<T>((side == Side::left ? Q * C : C * Q) - wide(product), norm(C), 20), kRight);
    }
}

template <class T>
void check_ldl(Form form, Kind kind, Size n) {
  SCOPED_TRACE(name(kind) + " " + std::to_string(n) + (form == Form::hermitian ? " hermitian" : " symmetric"));
  Matrix<T> a = make_hermitian<T>(kind, n);
  if (form == Form::symmetric)
    for (Size j = 0; j < n; ++j)
      for (Size i = 0; i < j; ++i) a(i, j) = a(j, i);
  Matrix<T> f = a, l(n, n);
  std::vector<lapack::Pivot> pivots(n);
  const int info = lapack::ldl(form, n, f.data.data(), f.ld, pivots.data());
  ASSERT_GE(info, 0);
  std::vector<T> diagonal(n), below(n + 1);
  std::vector<Size> rows(n);
  lapack::ldl_unpack(n, f.data.data(), f.ld, pivots.data(), l.data.data(), l.ld, diagonal.data(), below.data(),
                     rows.data());
  Matrix<Wide<T>> D(n, n, 0), PAP(n, n, 0);
  const auto A = wide(a), L = wide(l);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < n; ++i) {
      const Size k = std::min(i, j);
      const T off = form == Form::hermitian && i < j ? conjugate(below[k]) : below[k];
      D(i, j) = Wide<T>(i == j ? diagonal[i] : std::abs(i - j) == 1 ? off : T(0));
      PAP(i, j) = A(rows[i], rows[j]);
    }
  Matrix<Wide<T>> right = adjoint(L);
  if (form == Form::symmetric)
    for (auto& x : right.data) x = conjugate(x);
  EXPECT_LT(ratio<T>(PAP - L * D * right, norm(A), n), kRight);
  if (info == 0 && (kind == Kind::random || kind == Kind::identity || kind == Kind::repeated)) {
    const Matrix<T> b = random<T>(n, 3, 9);
    Matrix<T> x = b;
    ASSERT_EQ(lapack::ldl_solve(form, n, 3, f.data.data(), f.ld, pivots.data(), x.data.data(), x.ld), 0);
    EXPECT_LT(ratio<T>(A * wide(x) - wide(b), norm(A) * norm(wide(x)), n), kRight);
  }
  if (form == Form::symmetric && !std::is_arithmetic_v<T>) return;
  const lapack::Inertia count = lapack::inertia(n, f.data.data(), f.ld, pivots.data());
  EXPECT_EQ(count.positive + count.negative + count.zero, n);
  std::vector<Real<T>> w(n);
  ASSERT_EQ(lapack::eigh<T>(lapack::Triangle::lower, n, a.data.data(), a.ld, w.data(), nullptr, 0), 0);
  const Real<T> noise =
      static_cast<Real<T>>(kRight * unit<T> * static_cast<double>(n) * static_cast<double>(norm(A)));
  EXPECT_GE(count.positive, std::count_if(w.begin(), w.end(), [&](auto x) { return x > noise; }));
  EXPECT_GE(count.negative, std::count_if(w.begin(), w.end(), [&](auto x) { return x < -noise; }));
}
TYPED_TEST(LapackFactor, LdlReconstructsSolvesAndCountsSigns) {
  for (const Form form : {Form::symmetric, Form::hermitian})
    for (const Size n : kSizes) for_kinds([&](Kind kind) { check_ldl<TypeParam>(form, kind, n); });
}
TEST(LapackLdl, InertiaCountsTheZerosOfASingularMatrix) {
  std::vector<double> a = {0, 1, 0, 1, 0, 0, 0, 0, 0};
  std::vector<lapack::Pivot> pivots(3);
  EXPECT_EQ(lapack::ldl(Form::symmetric, 3, a.data(), 3, pivots.data()), 3);
  const lapack::Inertia count = lapack::inertia(3, a.data(), 3, pivots.data());
  EXPECT_EQ(count.positive, 1);
  EXPECT_EQ(count.negative, 1);
  EXPECT_EQ(count.zero, 1);
}

TYPED_TEST(LapackFactor, BandedAndTridiagonalSystemsHaveSmallResiduals) {
  using T = TypeParam;
  for (const Size n : kSizes)
    for (const Shape width : {Shape{1, 1}, Shape{0, 2}, Shape{3, 1}, Shape{40, 9}})
      for (const Op op : {Op::none, Op::transpose, Op::adjoint}) {
        SCOPED_TRACE(std::to_string(n) + " kl " + std::to_string(width.m) + " ku " + std::to_string(width.n));
        const Size kl = width.m, ku = width.n;
        Matrix<T> a = random<T>(n, n, 4), band(2 * kl + ku + 1, n);
        for (Size j = 0; j < n; ++j)
          for (Size i = 0; i < n; ++i) {
            if (i - j > kl || j - i > ku)
              a(i, j) = T(0);
            else
              band(kl + ku + i - j, j) = a(i, j);
          }
        const Matrix<T> b = random<T>(n, 2, 8);
        Matrix<T> x = b;
        std::vector<lapack::Pivot> pivots(n);
        ASSERT_EQ(lapack::lu_banded(n, kl, ku, band.data.data(), band.ld, pivots.data()), 0);
        ASSERT_EQ(
            lapack::lu_banded_solve(op, n, kl, ku, 2, band.data.data(), band.ld, pivots.data(), x.data.data(), x.ld),
            0);
        auto A = wide(a);
        if (op != Op::none) A = adjoint(A);
        if (op == Op::transpose)
          for (auto& v : A.data) v = conjugate(v);
        EXPECT_LT(ratio<T>(A * wide(x) - wide(b), norm(A) * norm(wide(x)) + 1e-30L, n), kRight);
        if (kl != 1 || ku != 1 || n == 0) continue;
        std::vector<T> below(n), diagonal(n), above(n), above2(n);
        for (Size i = 0; i < n; ++i) {
          diagonal[i] = a(i, i);
          if (i + 1 < n) below[i] = a(i + 1, i), above[i] = a(i, i + 1);
        }
        x = b;
        ASSERT_EQ(
            lapack::lu_tridiagonal(n, below.data(), diagonal.data(), above.data(), above2.data(), pivots.data()), 0);
        ASSERT_EQ(lapack::lu_tridiagonal_solve(op, n, 2, below.data(), diagonal.data(), above.data(), above2.data(),
                                               pivots.data(), x.data.data(), x.ld),
                  0);
        EXPECT_LT(ratio<T>(A * wide(x) - wide(b), norm(A) * norm(wide(x)) + 1e-30L, n), kRight);
      }
}

}  // namespace
