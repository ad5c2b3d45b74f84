// Gradients through QR: tall, wide, square, complete, pivoted, and where the matrix has no full rank.
#include <gtest/gtest.h>

#include "draws.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;

TEST(QrGradient, AgreesWithDifferences) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{3, 3}, {4, 2}, {2, 4}, {1, 3}, {3, 1}}) {
    const Tensor A = normal({m, n}, static_cast<unsigned>(m * 10 + n));
    const auto f = [](const std::vector<Tensor>& x) {
      const auto r = linalg::qr(x[0]);
      return std::vector<Tensor>{r.Q, r.R};
    };
    EXPECT_TRUE(gradcheck(f, {A}, 2)) << m << "x" << n << "\n" << gradcheck(f, {A}, 2);
    const auto p = [](const std::vector<Tensor>& x) {
      const auto r = linalg::qr_pivoted(x[0]);
      return std::vector<Tensor>{r.Q, r.R};
    };
    EXPECT_TRUE(gradcheck(p, {A}, 2)) << "pivoted " << m << "x" << n << "\n" << gradcheck(p, {A}, 2);
  }
}
TEST(QrGradient, OfSmoothLossesIsRightWithoutFullRank) {
  for (const Tensor& A : {Tensor{{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}}, Tensor{{0.0, 0.0}, {0.0, 0.0}},
                          Tensor{{1.0, 1.0}, {1.0, 1.0}, {1.0, 1.0}}, Tensor{{1.0, 1.0, 2.0}, {2.0, 2.0, 4.0}}}) {
    for (const bool complete : {false, true}) {
      GradientTape tape({.persistent = true});
      tape.watch(A);
      const auto f = linalg::qr(A, {.mode = complete ? "complete" : "reduced"});
      const Tensor W = normal(A.shape(), 5), y = sum(f.R * f.R), z = sum(W * matmul(f.Q, f.R));
      EXPECT_LT(wp::max(wp::abs(tape.gradient(y, A) - 2 * A)).item<double>(), 1e-13) << A;
      EXPECT_LT(relative(tape.gradient(z, A), W), 1e-13) << A;
    }
  }
}
TEST(QrGradient, OfALossThatDependsOnColumnsWithoutAPivotIsRefused) {
  const Tensor A{{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 2.0, 3.0}}, W = normal({3, 3}, 1);
  GradientTape tape;
  tape.watch(A);
  const Tensor y = sum(W * linalg::qr(A).Q);
  EXPECT_THROW((void)tape.gradient(y, A), GaugeError);
}
}  // namespace
