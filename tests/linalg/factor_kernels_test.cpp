#include <gtest/gtest.h>

#include <cstring>

#include "factors.hpp"
#include "kernels/cholesky.hpp"
#include "simd/isa.hpp"
#include "wellposed/threads.hpp"

namespace {
using namespace factors;
using namespace wp::kernels;

template <class T>
class FactorKernels : public testing::Test {};
TYPED_TEST_SUITE(FactorKernels, Types);

template <class T>
std::vector<char> bytes(const Matrix<T>& a) {
  std::vector<char> out(a.data.size() * sizeof(T));
  std::memcpy(out.data(), a.data.data(), out.size());
  return out;
}

TYPED_TEST(FactorKernels, HaveTheSameBitsForOneTwoAndThreeThreads) {
  using T = TypeParam;
  const int before = wp::threads();
  const std::int64_t n = 333;
  const Matrix<T> a = random_matrix<T>(n, n, 1), b = random_matrix<T>(n, 130, 2), spd = positive<T>("random", n);
  std::vector<std::vector<char>> want;
  for (const int threads : {1, 2, 3}) {
    wp::set_threads(threads);
    const Lu<T> f(a);
    Matrix<T> x = b, inverse(n, n), l = spd, spd_inverse(n, n), w = f.lu;
    lu_solve<T>(Form::plain, n, 130, f.lu.view(), f.pivots.data(), x.view());
    lu_inverse<T>(n, f.lu.view(), f.pivots.data(), inverse.data.data(), n);
    EXPECT_EQ(cholesky_factor<T>(n, l.view()), -1);
    cholesky_inverse<T>(n, l.view(), spd_inverse.data.data(), n);
    invert_triangular<T>({true, false}, n, w.view());
    const std::vector<std::vector<char>> got = {bytes(f.lu), bytes(x),           bytes(inverse),
                                                bytes(l),    bytes(spd_inverse), bytes(w)};
    if (want.empty()) want = got;
    EXPECT_EQ(got, want) << threads;
  }
  wp::set_threads(before);
}

TYPED_TEST(FactorKernels, AreRightOnEveryInstructionSet) {
  using T = TypeParam;
  using wp::simd::Isa;
  const Isa before = wp::simd::isa();
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!wp::simd::supported(isa)) continue;
    wp::simd::set_isa(isa);
    for (const std::int64_t n : {7, 70, 150}) {
      const Matrix<T> a = random_matrix<T>(n, n, 1), b = random_matrix<T>(n, 9, 2), spd = positive<T>("random", n);
      const Lu<T> f(a);
      EXPECT_LT(lu_ratio(a, f), limit);
      Matrix<T> x = b, y = b, l = spd;
      lu_solve<T>(Form::adjoint, n, 9, f.lu.view(), f.pivots.data(), x.view());
      EXPECT_LT(solve_ratio(turned(a, Form::adjoint), x, b), limit);
      EXPECT_EQ(cholesky_factor<T>(n, l.view()), -1);
      cholesky_solve<T>(n, 9, l.view(), y.view());
      EXPECT_LT(solve_ratio(spd, y, b), limit);
    }
  }
  wp::simd::set_isa(before);
}

}  // namespace
