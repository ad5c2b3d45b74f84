// Gradients through the Schur form, triangular and with 2 × 2 blocks.
#include <gtest/gtest.h>

#include "draws.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
namespace la = linalg;

std::vector<Tensor> factors(const std::vector<Tensor>& x) {
  const auto f = la::schur(x[0]);
  return {f.T, f.Z};
}

TEST(SchurGradient, OfRealMatricesAgreesWithDifferencesAlsoWithBlocks) {
  int blocks = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Tensor a = normal({seed < 4 ? 4 : 5, seed < 4 ? 4 : 5}, seed), t = la::schur(a).T;
    blocks += bool(any(not_equal(tril(t, {.k = -1}), 0)));
    const GradcheckReport r = gradcheck(factors, {a}, seed < 3 ? 2 : 1, {.rtol = 1e-5});
    EXPECT_TRUE(r) << t << r;
    EXPECT_LT(r.unjudged, r.entries / 2) << t << r;
  }
  EXPECT_GT(blocks, 2);
}
TEST(SchurGradient, OfAFunctionOfTheMatrixIsThatOfTheFunction) {
  for (const bool complex : {false, true}) {
    Tensor a = normal({5, 5}, 3), w = normal({5, 5}, 4), v = normal({5, 5}, 5);
    if (complex) {
      a = astype(a, c128) + normal({5, 5}, 6) * complex128(0, 1);
      w = astype(w, c128) + normal({5, 5}, 7) * complex128(0, 1);
    }
    const auto through = [&](const Tensor& x) {
      const auto f = la::schur(x);
      return sum(real(conj(w) * matmul(matmul(f.Z, matmul(f.T, f.T)), adjoint(f.Z))));
    };
    const auto plain = [&](const Tensor& x) { return sum(real(conj(w) * matmul(x, x))); };
    const auto both = [&](const auto& f) {
      GradientTape outer, inner;
      outer.watch(a);
      inner.watch(a);
      const Tensor g = inner.gradient(f(a), a);
      return std::pair<Tensor, Tensor>(g, outer.gradient(sum(real(g) * v), a));
    };
    const auto got = both(through), want = both(plain);
    EXPECT_LT(relative(got.first, want.first), 1e-10);
    EXPECT_LT(relative(got.second, want.second), 1e-9);
    // Forward mode.
    const auto t = jvp(through, a, complex ? astype(v, c128) : v), e = jvp(plain, a, complex ? astype(v, c128) : v);
    EXPECT_LT(relative(t.tangent, e.tangent), 1e-11);
  }
}
TEST(SchurGradient, OfRealMatricesInComplexFormIsReal) {
  const Tensor a = normal({4, 4}, 8), w = normal({4, 4}, 9);
  GradientTape tape;
  tape.watch(a);
  const auto f = la::schur(a, {.output = "complex"});
  const Tensor y = sum(w * real(matmul(matmul(f.Z, matmul(f.T, f.T)), adjoint(f.Z))));
  GradientTape other;
  other.watch(a);
  const Tensor z = sum(w * matmul(a, a));
  EXPECT_LT(relative(tape.gradient(y, a), other.gradient(z, a)), 1e-11);
}
TEST(SchurGradient, OfALossThatDependsOnPhasesIsRefused) {
  const Tensor a = astype(normal({3, 3}, 1), c128) + normal({3, 3}, 2) * complex128(0, 1);
  GradientTape tape;
  tape.watch(a);
  const Tensor y = sum(real(la::schur(a).Z));
  EXPECT_THROW((void)tape.gradient(y, a), GaugeError);
}
TEST(SchurGradient, WhereEigenvaluesCoincideIsRefused) {
  for (const Tensor& a :
       {Tensor{{2.0, 1.0}, {0.0, 2.0}}, Tensor{{1.0, 0.0}, {0.0, 1.0}}, Tensor{{0.0, -1.0}, {1.0, 0.0}}}) {
    GradientTape tape;
    tape.watch(a);
    const auto f = la::schur(a);
    const Tensor y = sum(f.T * f.T);
    try {
      (void)tape.gradient(y, a);
      ADD_FAILURE() << a;
    } catch (const GradientError& e) {
      EXPECT_EQ(e.finding().code, "WP-GRD-011");
    }
  }
}
TEST(SchurGradient, OfVectorsOfNearlyEqualEigenvaluesIsAFinding) {
  const Tensor a{{2.0, 1.0}, {0.0, 2.0 + 1e-9}}, w{{1.0, 2.0}, {3.0, 5.0}};
  GradientTape tape;
  tape.watch(a);
  const Tensor y = sum(w * la::schur(a).Z);
  (void)tape.gradient(y, a);
  ASSERT_EQ(tape.findings().size(), 1U);
  EXPECT_EQ(tape.findings()[0].code, "WP-GRD-008");
}
}  // namespace
