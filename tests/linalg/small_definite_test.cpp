// Which small symmetric matrices have a Cholesky factor: not those that only rounding has made positive definite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/batched/lanes.hpp"
#include "small_stacks.hpp"

namespace {

using namespace wp;
using namespace small_stacks;
using linalg::Status;

// B Bᵀ of integers, with fewer columns of B than rows.
std::vector<double> singular(std::int64_t n, std::mt19937_64& g) {
  const std::int64_t rank = g() % 2 ? n - 1 : static_cast<std::int64_t>(g() % static_cast<std::uint64_t>(n));
  std::vector<double> b(static_cast<std::size_t>(n * rank)), a;
  for (double& v : b) v = static_cast<double>(g() % 7) - 3;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < rank; ++k)
        sum += b[static_cast<std::size_t>(i * rank + k)] * b[static_cast<std::size_t>(j * rank + k)];
      a.push_back(sum);
    }
  return a;
}

// The pivot that should vanish is u |A₁₁⁻¹ a|² of its diagonal element, which may be far above u.
TEST(SmallCholesky, OfSingularMatricesIsRefusedHoweverLargeRoundingLeavesThePivot) {
  std::mt19937_64 g(3);
  for (const DType dtype : {f64, f32})
    for (const std::int64_t n : {2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20, 31, 32, 40}) {
      const std::int64_t members = n <= 8 ? 5000 : n <= 32 ? 1000 : 200;
      std::vector<std::vector<double>> all;
      for (std::int64_t i = 0; i < members; ++i) all.push_back(singular(n, g));
      const auto d = linalg::diagnosed::cholesky(stack_of(n, n, all, dtype)).diagnosis;
      std::int64_t accepted = 0;
      for (std::int64_t i = 0; i < members; ++i) accepted += d[i].status != Status::not_spd;
      EXPECT_EQ(accepted, 0) << name(dtype) << " " << n;
    }
}
TEST(SmallCholesky, OfSingularMatricesNamesThemBesideGoodOnes) {
  std::mt19937_64 g(4);
  std::vector<std::vector<double>> all;
  for (int i = 0; i < 100; ++i) all.push_back(draw(8, 8, Want::definite, g));
  all[41] = singular(8, g);
  try {
    linalg::cholesky(stack_of(8, 8, all, f64));
    FAIL();
  } catch (const NotPositiveDefinite& e) {
    EXPECT_EQ(e.finding().members, (std::vector<std::int64_t>{41}));
    EXPECT_TRUE(e.diagnosis()[41].exactly_singular);
    EXPECT_EQ(e.diagnosis()[40].status, Status::ok);
  }
}

// Members in doubt by the shares of their diagonal alone are proved to be good by their inverse, in lanes.
TEST(SmallCholesky, OfIllConditionedMatricesStaysInLanes) {
  std::mt19937_64 g(5);
  constexpr std::int64_t members = 64;
  for (const std::int64_t n : {3, 4, 8, 12, 16, 32})
    for (const double condition : {1e3, 1e6, 1e9}) {
      std::vector<double> values;
      for (std::int64_t k = 0; k < n; ++k)
        values.push_back(std::pow(condition, -static_cast<double>(k) / static_cast<double>(n - 1)));
      const Tensor q = linalg::qr(Tensor::from(draw(members * n, n, Want::any, g), {members, n, n})).Q,
                   h = matmul(q * Tensor::from(values, {n}), matrix_transpose(q)),
                   a = (h + matrix_transpose(h)) / 2.0;
      std::vector<std::uint8_t> redo(members);
      std::vector<double> l(static_cast<std::size_t>(a.size()));
      kernels::batched::cholesky<double>(n, {reinterpret_cast<const double*>(a.node()->data), n * n, n, 1},
                                         kernels::batched::Reads::both, false, {0, members}, l.data(), {redo.data()});
      EXPECT_EQ(std::count(redo.begin(), redo.end(), 1), 0) << n << " " << condition;
    }
}

}  // namespace
