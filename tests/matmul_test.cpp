#include <gtest/gtest.h>

#include "products.hpp"
#include "simd/isa.hpp"
#include "wellposed/threads.hpp"

namespace {
using namespace products;
using wp::Dims;
using wp::Tensor;

struct Size {
  std::int64_t m, n, k;
};
// Around the edges of tiles, strips, blocks and panels; vectors; long sums.
constexpr Size sizes[] = {{1, 1, 1},    {1, 7, 5},     {7, 1, 5},     {2, 2, 2},     {3, 5, 4},     {6, 16, 8},
                          {7, 17, 9},   {12, 48, 31},  {13, 49, 64},  {5, 100, 256}, {64, 64, 257}, {97, 33, 300},
                          {70, 90, 70}, {130, 65, 40}, {33, 400, 50}, {1, 1, 1000},  {1, 300, 33},  {300, 1, 33}};

template <class T>
class RealMatmul : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(RealMatmul, Floats);

// |c − exact| ≤ γ_k Σ|a||b| with γ_k = k u (Higham 2002, §3.1); the blocked sum is far below it.
TYPED_TEST(RealMatmul, IsWithinTheBoundOfRecursiveSummationForEveryLayout) {
  using T = TypeParam;
  const double u = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
  for (const Size& s : sizes) {
    const std::vector<T> a = random_values<T>(s.m * s.k, 1), b = random_values<T>(s.k * s.n, 2);
    const Tensor A = Tensor::from(a, {s.m, s.k}), B = Tensor::from(b, {s.k, s.n});
    for (const Layout la : layouts)
      for (const Layout lb : layouts) {
        const std::vector<T> c = wp::matmul(laid_out(A, la), laid_out(B, lb)).template to_vector<T>();
        for (std::int64_t i = 0; i < s.m; ++i)
          for (std::int64_t j = 0; j < s.n; ++j) {
            if (la != Layout::plain && (i * s.n + j) % 7) continue;
            Exact e;
            for (std::int64_t p = 0; p < s.k; ++p)
              e.add(static_cast<double>(a[static_cast<std::size_t>(i * s.k + p)]),
                    static_cast<double>(b[static_cast<std::size_t>(p * s.n + j)]));
            const double got = static_cast<double>(c[static_cast<std::size_t>(i * s.n + j)]);
            ASSERT_LE(std::abs(got - e.value()), static_cast<double>(s.k) * u * e.size)
                << s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j;
          }
      }
  }
}

template <class T>
class AnyMatmul : public testing::Test {};
using All = testing::Types<std::int8_t, std::uint16_t, std::int32_t, std::uint64_t, float, double, wp::complex64,
                           wp::complex128>;
TYPED_TEST_SUITE(AnyMatmul, All);

TYPED_TEST(AnyMatmul, HasTheSameBitsForEveryLayout) {
  for (const Size& s : sizes) {
    const Tensor a = random<TypeParam>({s.m, s.k}, 3), b = random<TypeParam>({s.k, s.n}, 4);
    const std::vector<char> want = bits(wp::matmul(a, b));
    for (const Layout la : layouts)
      for (const Layout lb : layouts)
        ASSERT_EQ(bits(wp::matmul(laid_out(a, la), laid_out(b, lb))), want) << s.m << "x" << s.n << "x" << s.k;
  }
}

TYPED_TEST(AnyMatmul, HasTheSameBitsForOneAndTwoThreads) {
  const int before = wp::threads();
  for (const Size& s :
       {Size{97, 201, 300}, Size{3, 1000, 200}, Size{700, 3, 100}, Size{1, 1, 200000}, Size{2000, 1, 90}}) {
    const Tensor a = random<TypeParam>({s.m, s.k}, 5), b = random<TypeParam>({s.k, s.n}, 6);
    wp::set_threads(1);
    const std::vector<char> want = bits(wp::matmul(a, b));
    wp::set_threads(2);
    for (int again = 0; again < 3; ++again)
      ASSERT_EQ(bits(wp::matmul(a, b)), want) << s.m << "x" << s.n << "x" << s.k;
  }
  wp::set_threads(before);
}

TYPED_TEST(AnyMatmul, GivesAMemberOfABatchTheBitsItHasAlone) {
  for (const Size& s : {Size{4, 4, 4}, Size{5, 9, 33}, Size{70, 70, 70}, Size{1, 6, 40}, Size{6, 1, 40}}) {
    const Tensor a = random<TypeParam>({3, 1, s.m, s.k}, 7), b = random<TypeParam>({2, s.k, s.n}, 8);
    const Tensor all = wp::matmul(a, b);
    ASSERT_EQ(all.shape(), (Dims{3, 2, s.m, s.n}));
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 2; ++j) {
        const Tensor x = view(a, {s.m, s.k}, {s.k, 1}, i * s.m * s.k),
                     y = view(b, {s.k, s.n}, {s.n, 1}, j * s.k * s.n);
        EXPECT_EQ(bits(view(all, {s.m, s.n}, {s.n, 1}, (i * 2 + j) * s.m * s.n)), bits(wp::matmul(x, y)));
      }
  }
}

// Rows and columns of a product do not know of each other.
TYPED_TEST(AnyMatmul, GivesAnElementTheBitsItHasInASmallerProduct) {
  const std::int64_t m = 80, n = 90, k = 300;
  const Tensor a = random<TypeParam>({m, k}, 9), b = random<TypeParam>({k, n}, 10);
  const Tensor all = wp::matmul(a, b);
  const std::int64_t i = 41, j = 67;
  const Tensor some = wp::matmul(view(a, {5, k}, {k, 1}, i * k), view(b, {k, 3}, {n, 1}, j));
  EXPECT_EQ(bits(some), bits(view(all, {5, 3}, {n, 1}, i * n + j)));
}

template <class T>
class IntegerMatmul : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerMatmul, Integers);

TYPED_TEST(IntegerMatmul, WrapsAroundExactly) {
  using T = TypeParam;
  for (const Size& s : {Size{3, 4, 5}, Size{70, 65, 66}, Size{9, 1, 100}, Size{1, 1, 77}}) {
    const std::vector<T> a = random_values<T>(s.m * s.k, 11), b = random_values<T>(s.k * s.n, 12);
    const std::vector<T> c =
        wp::matmul(Tensor::from(a, {s.m, s.k}), Tensor::from(b, {s.k, s.n})).template to_vector<T>();
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        std::uint64_t sum = 0;
        for (std::int64_t p = 0; p < s.k; ++p)
          sum += static_cast<std::uint64_t>(a[static_cast<std::size_t>(i * s.k + p)]) *
                 static_cast<std::uint64_t>(b[static_cast<std::size_t>(p * s.n + j)]);
        ASSERT_EQ(c[static_cast<std::size_t>(i * s.n + j)], static_cast<T>(sum));
      }
  }
}

TEST(ComplexMatmul, IsExactOnIntegersForEveryLayout) {
  using C = wp::complex128;
  for (const Size& s : sizes) {
    std::vector<C> a, b;
    for (std::int64_t i = 0; i < s.m * s.k; ++i)
      a.emplace_back(static_cast<double>(i % 13 - 6), static_cast<double>(i % 7 - 3));
    for (std::int64_t i = 0; i < s.k * s.n; ++i)
      b.emplace_back(static_cast<double>(i % 11 - 5), static_cast<double>(i % 5 - 2));
    const Tensor A = Tensor::from(a, {s.m, s.k}), B = Tensor::from(b, {s.k, s.n});
    for (const Layout l : layouts) {
      const std::vector<C> c = wp::matmul(laid_out(A, l), laid_out(B, l)).to_vector<C>();
      for (std::int64_t e = 0; e < s.m * s.n; ++e) {
        C want(0);
        for (std::int64_t p = 0; p < s.k; ++p)
          want += a[static_cast<std::size_t>(e / s.n * s.k + p)] * b[static_cast<std::size_t>(p * s.n + e % s.n)];
        ASSERT_EQ(c[static_cast<std::size_t>(e)], want);
      }
    }
  }
}

TEST(Matmul16Bit, RoundsOnceFromF32) {
  Tensor half = Tensor::adopt(wp::detail::make_node(wp::f16, {1, 3000})),
         ones = Tensor::adopt(wp::detail::make_node(wp::f16, {3000, 1}));
  for (std::int64_t i = 0; i < 3000; ++i) {
    reinterpret_cast<std::uint16_t*>(half.node()->data)[i] = 0x3c00;  // 1
    reinterpret_cast<std::uint16_t*>(ones.node()->data)[i] = 0x3c00;
  }
  const Tensor c = wp::matmul(half, ones);
  EXPECT_EQ(c.dtype(), wp::f16);
  EXPECT_EQ(c.item<double>(), 3000);  // a sum kept in f16 stops at 2048
}

TEST(Matmul, SumOfNothingIsZero) {
  const Tensor c = wp::matmul(random<double>({2, 3, 0}, 1), random<double>({0, 4}, 2));
  EXPECT_EQ(c.shape(), (Dims{2, 3, 4}));
  for (const double v : c.to_vector<double>()) EXPECT_EQ(v, 0);
  EXPECT_EQ(wp::matmul(random<double>({0, 3}, 1), random<double>({3, 2}, 2)).shape(), (Dims{0, 2}));
}

TEST(Matmul, SaysWhichLengthsDoNotFit) {
  try {
    wp::matmul(random<double>({2, 3}, 1), random<double>({4, 5}, 2));
    FAIL();
  } catch (const wp::ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("3 and 4"), std::string::npos) << e.what();
  }
  EXPECT_THROW(wp::matmul(2.0, random<double>({4, 5}, 2)), wp::ShapeError);
  EXPECT_THROW(wp::matmul(random<double>({2, 3, 4}, 1), random<double>({3, 4, 5}, 2)), wp::ShapeError);
  EXPECT_THROW(wp::matmul(Tensor{{true}}, Tensor{{true}}), wp::DtypeError);
}

TEST(Matmul, BlamesAnInfOnTheRowAndColumnThatMadeIt) {
  std::vector<double> a(100 * 100, 1.0), b(100 * 100, 1.0);
  a[37 * 100 + 5] = 1e308;
  b[5 * 100 + 61] = 1e308;
  const Tensor c = wp::matmul(Tensor::from(a, {100, 100}), Tensor::from(b, {100, 100}));
  try {
    (void)c.to_vector<double>();
    FAIL() << "a made inf left in silence";
  } catch (const wp::NonFiniteError& e) {
    EXPECT_EQ(e.finding().element, (Dims{37, 61}));
    EXPECT_EQ(e.finding().count, 1);
    EXPECT_NE(std::string(e.what()).find("x1[37, 5] = 1e+308"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("x2[5, 61] = 1e+308"), std::string::npos) << e.what();
  }
}

TEST(Matmul, HasTheSameBitsOnEveryInstructionSetWithFusedMultiplyAdd) {
  using wp::simd::Isa;
  if (!wp::simd::supported(Isa::avx512)) return;
  const Isa before = wp::simd::isa();
  for (const Size& s : sizes) {
    const Tensor a = random<float>({s.m, s.k}, 3), b = random<float>({s.k, s.n}, 4);
    wp::simd::set_isa(Isa::avx2);
    const std::vector<char> narrow = bits(wp::matmul(a, b));
    wp::simd::set_isa(Isa::avx512);
    EXPECT_EQ(bits(wp::matmul(a, b)), narrow);
  }
  wp::simd::set_isa(before);
}

TEST(Matmul, IsExactOnIntegersOnEveryInstructionSet) {
  using wp::simd::Isa;
  const Isa before = wp::simd::isa();
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!wp::simd::supported(isa)) continue;
    wp::simd::set_isa(isa);
    for (const Size& s : sizes) {
      std::vector<float> a, b;
      for (std::int64_t i = 0; i < s.m * s.k; ++i) a.push_back(static_cast<float>(i % 13 - 6));
      for (std::int64_t i = 0; i < s.k * s.n; ++i) b.push_back(static_cast<float>(i % 11 - 5));
      const std::vector<float> c =
          wp::matmul(Tensor::from(a, {s.m, s.k}), Tensor::from(b, {s.k, s.n})).to_vector<float>();
      for (std::int64_t e = 0; e < s.m * s.n; ++e) {
        float want = 0;
        for (std::int64_t p = 0; p < s.k; ++p)
          want += a[static_cast<std::size_t>(e / s.n * s.k + p)] * b[static_cast<std::size_t>(p * s.n + e % s.n)];
        ASSERT_EQ(c[static_cast<std::size_t>(e)], want);
      }
    }
  }
  wp::simd::set_isa(before);
}

TEST(Vecdot, ConjugatesTheFirstAndTakesAnyAxis) {
  using C = wp::complex128;
  const std::vector<C> a = random_values<C>(6, 1), b = random_values<C>(6, 2);
  const Tensor A = Tensor::from(a, {2, 3}), B = Tensor::from(b, {2, 3});
  const std::vector<C> down = wp::vecdot(A, B, {.axis = 0}).to_vector<C>();
  for (std::size_t j = 0; j < 3; ++j) {
    const C want = std::conj(a[j]) * b[j] + std::conj(a[3 + j]) * b[3 + j];
    EXPECT_NEAR(std::abs(down[j] - want), 0, 1e-15);
  }
  EXPECT_THROW(wp::vecdot(A, B, {.axis = 2}), wp::IndexError);
  EXPECT_THROW(wp::vecdot(A, random<C>({3}, 1), {.axis = 0}), wp::ArgumentError);
  EXPECT_THROW(wp::vecdot(A, random<C>({2}, 1)), wp::ShapeError);
}

TEST(Tensordot, RefusesAxesThatDoNotPair) {
  const Tensor a = random<double>({2, 3, 4}, 1), b = random<double>({4, 3, 2}, 2);
  EXPECT_EQ(wp::tensordot(a, b, {.axes = 1}).shape(), (Dims{2, 3, 3, 2}));
  EXPECT_EQ(wp::tensordot(a, b, {.x1_axes = Dims{0, 2}, .x2_axes = Dims{2, 0}}).shape(), (Dims{3, 3}));
  EXPECT_THROW(wp::tensordot(a, b), wp::ShapeError);
  EXPECT_THROW(wp::tensordot(a, b, {.axes = 4}), wp::ArgumentError);
  EXPECT_THROW(wp::tensordot(a, b, {.x1_axes = Dims{0}}), wp::ArgumentError);
  EXPECT_THROW(wp::tensordot(a, b, {.x1_axes = Dims{0, 0}, .x2_axes = Dims{2, 2}}), wp::ArgumentError);
  EXPECT_THROW(wp::tensordot(a, b, {.x1_axes = Dims{0, 2}, .x2_axes = Dims{2}}), wp::ArgumentError);
}

}  // namespace
