#include <gtest/gtest.h>

#include "kernels/lapack.hpp"
#include "matrices.hpp"

namespace {
using namespace matrices;
namespace lapack = wp::lapack;
using lapack::SvdMethod;
using lapack::Vectors;

template <class T>
class LapackSvd : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LapackSvd, Types);

template <class T>
struct Svd {
  std::vector<Real<T>> s;
  Matrix<T> u, vh;
  int info;
  Svd(const Matrix<T>& a, Vectors vectors, SvdMethod method)
      : s(std::min(a.m, a.n)),
        u(a.m, vectors == Vectors::full ? a.m : std::min(a.m, a.n)),
        vh(vectors == Vectors::full ? a.n : std::min(a.m, a.n), a.n) {
    info = lapack::svd_by(method, vectors, a.m, a.n, a.data.data(), a.ld, s.data(), u.data.data(), u.ld,
                          vh.data.data(), vh.ld);
  }
};

// ‖A − U·S·Vᴴ‖ / (max(m, n) u ‖A‖)
template <class T>
double residual(const Matrix<T>& a, const Svd<T>& f) {
  const auto k = static_cast<Size>(f.s.size());
  auto u = wide(f.u), vh = wide(f.vh);
  Matrix<Wide<T>> thin_u(a.m, k, 0), thin_vh(k, a.n, 0);
  for (Size j = 0; j < k; ++j) {
    for (Size i = 0; i < a.m; ++i) thin_u(i, j) = u(i, j);
    for (Size i = 0; i < a.n; ++i) thin_vh(j, i) = vh(j, i);
  }
  const auto w = wide(a);
  return ratio<T>(w - scaled(thin_u, f.s) * thin_vh, norm(w), std::max(a.m, a.n));
}

template <class T>
void check(Kind kind, Shape shape, Vectors vectors, SvdMethod method) {
  SCOPED_TRACE(testing::Message() << name(kind) << " " << shape.m << " x " << shape.n << " method "
                                  << static_cast<int>(method) << " vectors " << static_cast<int>(vectors));
  const Matrix<T> a = make<T>(kind, shape.m, shape.n), before = a;
  const Svd<T> f(a, vectors, method);
  ASSERT_EQ(f.info, 0);
  EXPECT_EQ(a.data, before.data);
  EXPECT_TRUE(f.u.room_is_untouched() && f.vh.room_is_untouched());
  EXPECT_TRUE(std::is_sorted(f.s.rbegin(), f.s.rend()));
  EXPECT_TRUE(f.s.empty() || f.s.back() >= 0);
  EXPECT_LT(residual(a, f), kRight);
  EXPECT_LT(unorthogonality(f.u), kRight);
  Matrix<T> v(f.vh.n, f.vh.m);
  for (Size j = 0; j < v.n; ++j)
    for (Size i = 0; i < v.m; ++i) v(i, j) = conjugate(f.vh(j, i));
  EXPECT_LT(unorthogonality(v), kRight);
  const Svd<T> only(a, Vectors::none, method);
  ASSERT_EQ(only.info, 0);
  for (std::size_t i = 0; i < f.s.size(); ++i)
    EXPECT_NEAR(only.s[i], f.s[i], kRight * unit<T> * static_cast<double>(std::max(shape.m, shape.n)) * f.s[0]);
}

TYPED_TEST(LapackSvd, EveryMethodFactorsEveryKindOfMatrix) {
  for (const SvdMethod method : {SvdMethod::divide, SvdMethod::qr, SvdMethod::jacobi})
    for (const Shape shape : kShapes)
      for_kinds([&](Kind kind) {
        check<TypeParam>(kind, shape, Vectors::thin, method);
        if (shape.m != shape.n && shape.m + shape.n < 100) check<TypeParam>(kind, shape, Vectors::full, method);
      });
}

// One-sided Jacobi in long double: the truth for matrices of condition below 10³⁰ whose columns are scaled.
std::vector<long double> true_values(Matrix<long double> a) {
  for (int sweep = 0; sweep < 60; ++sweep)
    for (Size p = 0; p < a.n; ++p)
      for (Size q = p + 1; q < a.n; ++q) {
        long double pp = 0, qq = 0, pq = 0;
        for (Size i = 0; i < a.m; ++i) pp += a(i, p) * a(i, p), qq += a(i, q) * a(i, q), pq += a(i, p) * a(i, q);
        if (std::abs(pq) <= 1e-19L * std::sqrt(pp) * std::sqrt(qq)) continue;
        const long double z = (qq - pp) / (2 * pq);
        const long double t = std::copysign(1 / (std::abs(z) + std::sqrt(1 + z * z)), z),
                          c = 1 / std::sqrt(1 + t * t);
        for (Size i = 0; i < a.m; ++i) {
          const long double x = a(i, p), y = a(i, q);
          a(i, p) = c * (x - t * y);
          a(i, q) = c * (t * x + y);
        }
      }
  std::vector<long double> s;
  for (Size j = 0; j < a.n; ++j) {
    long double sum = 0;
    for (Size i = 0; i < a.m; ++i) sum += a(i, j) * a(i, j);
    s.push_back(std::sqrt(sum));
  }
  std::sort(s.rbegin(), s.rend());
  return s;
}
// D₁·B·D₂ with well-conditioned B: every singular value is determined to nearly full relative accuracy.
template <class R>
Matrix<R> scaled_both_sides(Size n, int per_step) {
  Matrix<R> a = random<R>(n, n, 5);
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < n; ++i)
      a(i, j) = std::ldexp(a(i, j) + (i == j ? R(4) : R(0)), -per_step * static_cast<int>((i * 7) % n + j));
  return a;
}
template <class R>
R worst_relative_error(SvdMethod method, int per_step) {
  const Matrix<R> a = scaled_both_sides<R>(10, per_step);
  const std::vector<long double> truth = true_values(wide(a));
  const Svd<R> f(a, Vectors::thin, method);
  EXPECT_EQ(f.info, 0);
  R worst = 0;
  for (std::size_t i = 0; i < truth.size(); ++i)
    worst = std::max(worst, static_cast<R>(std::abs(static_cast<long double>(f.s[i]) - truth[i]) / truth[i]));
  return worst;
}
TEST(LapackSvdAccuracy, JacobiKeepsTheDigitsOfTinySingularValuesWhereTheOthersLoseThem) {
  EXPECT_LT(worst_relative_error<double>(SvdMethod::jacobi, 10), 1e-13);
  EXPECT_LT(worst_relative_error<float>(SvdMethod::jacobi, 4), 1e-5f);
  EXPECT_GT(worst_relative_error<double>(SvdMethod::divide, 10), 1e-3);
}

TEST(LapackSvdAccuracy, TheDefaultSaysWhichMethodItUsed) {
  const auto a = make<double>(Kind::random, 6, 4);
  Svd<double> f(a, Vectors::thin, SvdMethod::qr);
  auto used = SvdMethod::jacobi;
  EXPECT_EQ(lapack::svd(Vectors::thin, a.m, a.n, a.data.data(), a.ld, f.s.data(), f.u.data.data(), f.u.ld,
                        f.vh.data.data(), f.vh.ld, &used),
            0);
  EXPECT_EQ(used, SvdMethod::divide);
}

}  // namespace
