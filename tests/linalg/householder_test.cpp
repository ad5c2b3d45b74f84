// Reflectors in blocks: shapes on both sides of a block's border.
#include <gtest/gtest.h>

#include "kernels/householder.hpp"
#include "kernels/lapack.hpp"
#include "matrices.hpp"
#include "wellposed/threads.hpp"

namespace {
using namespace matrices;
namespace kernels = wp::kernels;

template <class T>
class Householder : public testing::Test {};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Householder, Types);

TYPED_TEST(Householder, QrReconstructsWithAnOrthonormalQOfAnyWidth) {
  using T = TypeParam;
  for (const Shape shape :
       {Shape{1, 1}, Shape{16, 17}, Shape{64, 64}, Shape{65, 65}, Shape{150, 129}, Shape{90, 200}})
    for (const Kind kind : {Kind::random, Kind::graded, Kind::rank_deficient}) {
      SCOPED_TRACE(name(kind) + " " + std::to_string(shape.m) + " x " + std::to_string(shape.n));
      const Matrix<T> a = make<T>(kind, shape.m, shape.n);
      const Size k = std::min(a.m, a.n);
      Matrix<T> f = a;
      std::vector<T> tau(k);
      kernels::householder_qr(f.m, f.n, f.data.data(), f.ld, tau.data());
      EXPECT_TRUE(f.room_is_untouched());
      for (const Size width : {k, (k + a.m) / 2, a.m}) {
        Matrix<T> q(a.m, width), r(width, a.n);
        for (Size j = 0; j < k; ++j)
          for (Size i = 0; i < a.m; ++i) q(i, j) = f(i, j);
        for (Size j = 0; j < a.n; ++j)
          for (Size i = 0; i < width; ++i) r(i, j) = i <= j && i < k ? f(i, j) : T(0);
        kernels::householder_q(a.m, width, k, q.data.data(), q.ld, tau.data());
        EXPECT_LT(ratio<T>(wide(a) - wide(q) * wide(r), norm(wide(a)), std::max(a.m, a.n)), kRight);
        EXPECT_LT(unorthogonality(q), kRight);
      }
    }
}

// Sizes on both sides of where matrices go to the pool, and of the borders of panels and blocks.
constexpr Size kReduced[] = {47, 48, 64, 65, 97, 130, 260};

template <class T>
class Reduction : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Reduction, Reals);

TYPED_TEST(Reduction, SingularValuesAndVectorsOfAnyShapeAndScaleAreRight) {
  using T = TypeParam;
  constexpr int far = std::numeric_limits<T>::max_exponent;
  for (const Size k : kReduced)
    for (const Shape shape :
         {Shape{k, k}, Shape{k + 1, k}, Shape{k, k + 1}, Shape{3 * k / 2, k}, Shape{k, 3 * k / 2}})
      for (const Kind kind : {Kind::random, Kind::graded, Kind::rank_deficient, Kind::repeated})
        for (const int scale : {0, far / 2 + 40, 60 - far}) {
          if (k > 65 && (scale != 0 || kind == Kind::repeated)) continue;  // for time
          SCOPED_TRACE(name(kind) + " " + std::to_string(shape.m) + " x " + std::to_string(shape.n) + " 2^" +
                       std::to_string(scale));
          Matrix<T> a = make<T>(kind, shape.m, shape.n);
          for (T& v : a.data) v = v == T(7) ? v : std::ldexp(v, scale);
          Matrix<T> u(a.m, k), vh(k, a.n);
          std::vector<T> s(k), only(k);
          ASSERT_EQ(wp::lapack::svd_by<T>(wp::lapack::SvdMethod::divide, wp::lapack::Vectors::thin, a.m, a.n,
                                          a.data.data(), a.ld, s.data(), u.data.data(), u.ld, vh.data.data(), vh.ld),
                    0);
          ASSERT_EQ(wp::lapack::svd_by<T>(wp::lapack::SvdMethod::divide, wp::lapack::Vectors::none, a.m, a.n,
                                          a.data.data(), a.ld, only.data(), nullptr, 1, nullptr, 1),
                    0);
          EXPECT_TRUE(u.room_is_untouched() && vh.room_is_untouched());
          EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
          const auto w = wide(a);
          EXPECT_LT(ratio<T>(w - scaled(wide(u), s) * wide(vh), norm(w), std::max(a.m, a.n)), kRight);
          EXPECT_LT(unorthogonality(u), kRight);
          Matrix<T> v(a.n, k);
          for (Size j = 0; j < k; ++j)
            for (Size i = 0; i < a.n; ++i) v(i, j) = vh(j, i);
          EXPECT_LT(unorthogonality(v), kRight);
          for (Size i = 0; i < k; ++i)
            EXPECT_NEAR(only[i], s[i], kRight * unit<T> * static_cast<double>(std::max(a.m, a.n)) * s[0]);
        }
}

TYPED_TEST(Reduction, HasTheSameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const int before = wp::threads();
  const auto all = [](const Matrix<T>& a, const Matrix<T>& h) {
    const Size n = a.n;
    Matrix<T> u(n, n), vh(n, n), z(n, n);
    std::vector<T> s(n), w(n);
    EXPECT_EQ(wp::lapack::svd<T>(wp::lapack::Vectors::thin, n, n, a.data.data(), a.ld, s.data(), u.data.data(), u.ld,
                                 vh.data.data(), vh.ld),
              0);
    EXPECT_EQ(wp::lapack::eigh<T>(wp::lapack::Triangle::lower, n, h.data.data(), h.ld, w.data(), z.data.data(), z.ld),
              0);
    return std::tuple{s, u.data, vh.data, w, z.data};
  };
  for (const Size n : {130, 600}) {
    const Matrix<T> a = make<T>(Kind::random, n, n), h = make_hermitian<T>(Kind::random, n);
    wp::set_threads(1);
    const auto one = all(a, h);
    wp::set_threads(3);
    EXPECT_EQ(one, all(a, h)) << n;
  }
  wp::set_threads(before);
}

}  // namespace
