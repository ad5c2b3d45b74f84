// Products of small matrices have kernels of their own: their bits are those of the kernels for large ones.
#include <gtest/gtest.h>

#include <cstring>

#include "../products.hpp"
#include "kernels/gemm.hpp"
#include "long_tests.hpp"
#include "simd/isa.hpp"

namespace {

using namespace wp;
using namespace products;

template <class T>
class SmallProducts : public testing::Test {
 protected:
  void TearDown() override { simd::set_isa(before_); }
  template <class F>
  void on_each_isa(F f) {
    for (const simd::Isa isa : {simd::Isa::baseline, simd::Isa::avx2, simd::Isa::avx512})
      if (simd::supported(isa)) {
        simd::set_isa(isa);
        f(std::string(simd::name(isa)));
      }
  }

 private:
  simd::Isa before_ = simd::isa();
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(SmallProducts, Floats);

// One row or column: sums of gemv; else those of gemm.
template <class T>
std::vector<T> by_large_kernels(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b) {
  std::vector<T> c(static_cast<std::size_t>(m * n));
  if (n == 1)
    kernels::gemv<T>(m, k, {a, k, 1}, b, 1, c.data(), false);
  else if (m == 1)
    kernels::gemv<T>(n, k, {b, 1, n}, a, 1, c.data(), false);
  else
    kernels::gemm<T>(m, n, k, {a, k, 1}, {b, n, 1}, {c.data(), n, 1});
  return c;
}

TYPED_TEST(SmallProducts, HaveTheBitsOfTheKernelsForLargeOnes) {
  using T = TypeParam;
  const std::vector<std::int64_t> sizes =
      long_tests() ? std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32}
                   : std::vector<std::int64_t>{1, 2, 3, 4, 5, 8, 11, 16, 17, 32};
  constexpr std::int64_t members = 3;
  this->on_each_isa([&](const std::string& isa) {
    for (const std::int64_t m : sizes)
      for (const std::int64_t n : sizes)
        for (const std::int64_t k : sizes) {
          std::vector<T> a = random_values<T>(members * m * k, 1), b = random_values<T>(members * k * n, 2);
          a[0] = T(-0.0);
          if (a.size() > 2) a[2] = std::numeric_limits<T>::denorm_min();
          const Tensor A = Tensor::from(a, {members, m, k}), B = Tensor::from(b, {members, k, n});
          const std::vector<T> c = matmul(A, B).template to_vector<T>();
          for (std::int64_t i = 0; i < members; ++i) {
            const std::vector<T> want = by_large_kernels(m, n, k, a.data() + i * m * k, b.data() + i * k * n);
            ASSERT_EQ(std::memcmp(want.data(), c.data() + i * m * n, want.size() * sizeof(T)), 0)
                << isa << " " << m << "x" << k << " by " << k << "x" << n << ", member " << i;
          }
        }
  });
}

// Every layout of either factor, and members that are the same memory.
TYPED_TEST(SmallProducts, OfAnyLayoutHaveTheSameBits) {
  using T = TypeParam;
  struct Size {
    std::int64_t m, n, k;
  };
  this->on_each_isa([&](const std::string& isa) {
    for (const Size& s :
         {Size{4, 4, 4}, Size{3, 3, 3}, Size{5, 1, 7}, Size{1, 6, 3}, Size{9, 17, 32}, Size{2, 3, 1}}) {
      const Tensor a = products::random<T>({6, s.m, s.k}, 3), b = products::random<T>({6, s.k, s.n}, 4);
      const std::vector<char> want = bits(matmul(a, b));
      const auto turned = [](const Tensor& t) {
        return matrix_transpose(concat({matrix_transpose(t)}, {.axis = 0}));
      };
      const auto gaps = [](const Tensor& t) {
        return concat({t, t}, {.axis = 2})[{slice(), slice(), slice(0, t.shape(2))}];
      };
      const auto sparse = [](const Tensor& t) {
        return repeat(t, 2, {.axis = 2})[{slice(), slice(), slice(0, none, 2)}];
      };
      const std::vector<std::function<Tensor(const Tensor&)>> layouts = {[](const Tensor& t) { return t; }, turned,
                                                                         gaps, sparse};
      for (std::size_t i = 0; i < layouts.size(); ++i)
        for (std::size_t j = 0; j < layouts.size(); ++j)
          EXPECT_EQ(bits(matmul(layouts[i](a), layouts[j](b))), want) << isa << " " << i << " " << j << " " << s.m;
      const Tensor one = b[{0}];
      EXPECT_EQ(bits(matmul(a, one)), bits(matmul(a, concat({broadcast_to(one, {6, s.k, s.n})}, {.axis = 0}))));
      EXPECT_EQ(bits(matmul(reshape(a, {2, 3, s.m, s.k}), reshape(b, {2, 3, s.k, s.n}))), want);
      const Tensor across = matmul(reshape(a, {6, 1, s.m, s.k}), reshape(b[{slice(0, 2)}], {2, s.k, s.n}));
      EXPECT_EQ(bits(across[{5, 1}]), bits(matmul(a[{5}], b[{1}])));
    }
  });
}

TYPED_TEST(SmallProducts, OfAMemberWithNaNChangeNoOther) {
  using T = TypeParam;
  this->on_each_isa([&](const std::string& isa) {
    for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 16, 32}) {
      std::vector<T> values = random_values<T>(40 * n * n, 5);
      const Tensor b = products::random<T>({40, n, n}, 6), before = matmul(Tensor::from(values, {40, n, n}), b);
      values[static_cast<std::size_t>(17 * n * n)] = std::numeric_limits<T>::quiet_NaN();
      values[static_cast<std::size_t>(18 * n * n)] = std::numeric_limits<T>::infinity();
      const Tensor after = matmul(Tensor::from(values, {40, n, n}), b);
      for (std::int64_t i = 0; i < 40; ++i) {
        const bool touched = i == 17 || i == 18;
        EXPECT_EQ(bits(before[{i}]) == bits(after[{i}]), !touched) << isa << " " << n << " " << i;
        EXPECT_EQ(static_cast<bool>(all(isfinite(after[{i}]))), !touched) << isa << " " << n << " " << i;
      }
    }
  });
}

}  // namespace
