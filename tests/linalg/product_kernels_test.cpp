#include <gtest/gtest.h>

#include "factors.hpp"

namespace {
using namespace factors;
using namespace wp::kernels;

template <class T>
class ProductKernels : public testing::Test {};
TYPED_TEST_SUITE(ProductKernels, Types);

TYPED_TEST(ProductKernels, SetAddAndSubtractIntoAnyLayoutWithTheSameBits) {
  using T = TypeParam;
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& s : {Size{1, 1, 1}, Size{1, 9, 4}, Size{9, 1, 4}, Size{7, 17, 30}, Size{70, 90, 300},
                        Size{3, 500, 40}, Size{0, 4, 3}, Size{4, 0, 3}, Size{4, 5, 0}}) {
    const Matrix<T> a = random_matrix<T>(s.m, s.k, 1), b = random_matrix<T>(s.k, s.n, 2),
                    old = random_matrix<T>(s.m, s.n, 3, 5);
    for (const Into into : {Into::set, Into::add, Into::subtract}) {
      Matrix<T> c = old, ct = turned(old, Form::transposed), back(s.m, s.n), lower = old;
      gemm<T>(s.m, s.n, s.k, a.view(), b.view(), c.view(), into);
      gemm<T>(s.m, s.n, s.k, a.view(), b.view(), ct.view().transposed(), into);
      gemm<T>(s.m, s.n, s.k, a.view(), b.view(), lower.view(), into, Part::lower);
      EXPECT_TRUE(c.gaps_untouched());
      WideMatrix<T> rest = widened(into == Into::set ? Matrix<T>(s.m, s.n) : old);
      Matrix<T> minus = a;
      for (auto& v : minus.data) v = into == Into::subtract ? v : -v;
      subtract_product<T>(s.m, s.n, s.k, minus, b, rest);
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
          ASSERT_EQ(c(i, j), ct(j, i));
          ASSERT_EQ(lower(i, j), j <= i ? c(i, j) : old(i, j));
          const Wide<T> error = rest[static_cast<std::size_t>(i * s.n + j)] - Wide<T>(c(i, j));
          ASSERT_LE(std::abs(error),
                    static_cast<double>(s.k + 2) * unit_roundoff<T> * static_cast<double>(4 * s.k + 4));
        }
      if (s.m * s.n * s.k == 0) continue;  // nothing has no last row
      // Backward rows and columns of C.
      gemm<T>(s.m, s.n, s.k, View<T>(a.view()).reversed(s.m, s.k), View<T>(b.view()).reversed(s.k, s.n),
              back.view().reversed(s.m, s.n));
      if (into == Into::set) {
        EXPECT_LE(std::abs(back(0, 0) - c(0, 0)), static_cast<double>(s.k) * unit_roundoff<T> * 16);
      }
    }
  }
}

}  // namespace
