// Reflectors in blocks: shapes on both sides of a block's border.
#include <gtest/gtest.h>

#include "kernels/householder.hpp"
#include "matrices.hpp"

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

}  // namespace
