// Gradients of eigh_generalized where eigenvalues repeat: A x = λ B x with B^(-1) A known in closed form.
#include <gtest/gtest.h>

#include <cmath>

#include "draws.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
namespace la = linalg;

// A and B with these eigenvalues.
struct Pencil {
  Tensor a, b;
  Pencil(const std::vector<double>& values, unsigned seed) {
    const auto n = static_cast<std::int64_t>(values.size());
    const Tensor v = normal({n, n}, seed) + 2 * eye(n);
    b = hermitian(matmul(v, adjoint(v)));
    a = hermitian(matmul(v * Tensor::from(values, {n}), adjoint(v)));
  }
};
// V f(Λ) Vᵀ with f(λ) = λ² is B⁻¹ A B⁻¹ A B⁻¹.
Tensor through_vectors(const Tensor& a, const Tensor& b, const Tensor& w) {
  const auto e = la::eigh_generalized(a, b);
  return sum(w * matmul(e.eigenvectors * expand_dims(square(e.eigenvalues), {.axis = -2}), adjoint(e.eigenvectors)));
}
Tensor closed(const Tensor& a, const Tensor& b, const Tensor& w) {
  const Tensor sa = hermitian(a), sb = hermitian(b), x = la::solve(sb, sa);
  return sum(w * matmul(matmul(x, x), la::inv(sb)));
}
using Loss = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
std::vector<Tensor> gradients(Loss f, const Pencil& p, const Tensor& w) {
  GradientTape tape;
  tape.watch(p.a);
  tape.watch(p.b);
  return tape.gradient(f(p.a, p.b, w), std::vector<Tensor>{p.a, p.b});
}
// Second derivatives along (da, db).
std::vector<Tensor> bent(Loss f, const Pencil& p, const Tensor& w, const Tensor& da, const Tensor& db) {
  GradientTape outer, inner;
  for (GradientTape* t : {&outer, &inner}) {
    t->watch(p.a);
    t->watch(p.b);
  }
  const std::vector<Tensor> g = inner.gradient(f(p.a, p.b, w), std::vector<Tensor>{p.a, p.b});
  return outer.gradient(sum(g[0] * da) + sum(g[1] * db), std::vector<Tensor>{p.a, p.b});
}

TEST(PencilGradient, OfAFunctionOfThePencilIsRightAtEveryGapToSecondOrder) {
  double first = 0, second = 0;
  std::vector<std::vector<double>> spectra{{2, 2, 1, 0.5}, {3, 3, 3, 3}, {1, 1, -1, -1}, {4, 3, 2, 1}};
  for (int k = 1; k < 16; k += 2) spectra.push_back({2, 2 + std::pow(10.0, -k), 1, 1 - std::pow(10.0, -k) / 3});
  unsigned seed = 1;
  for (const std::vector<double>& values : spectra) {
    const Pencil p(values, ++seed);
    const Tensor w = normal({4, 4}, 50 + seed), da = hermitian(normal({4, 4}, 90 + seed)),
                 db = hermitian(normal({4, 4}, 70 + seed));
    const auto got = gradients(through_vectors, p, w), want = gradients(closed, p, w);
    const auto got2 = bent(through_vectors, p, w, da, db), want2 = bent(closed, p, w, da, db);
    for (const std::size_t i : {0U, 1U}) {
      EXPECT_LT(relative(got[i], want[i]), 3e-10) << Tensor::from(values, {4}) << i;
      EXPECT_LT(relative(got2[i], want2[i]), 1e-6) << Tensor::from(values, {4}) << i;
      first = std::max(first, relative(got[i], want[i]));
      second = std::max(second, relative(got2[i], want2[i]));
    }
  }
  std::printf("worst relative error %.1e, of second derivatives %.1e\n", first, second);
}
// Eigenvectors of an ill-conditioned B have lost cond(B)·u: beyond 3e-10/u the digits must go.
TEST(PencilGradient, LosesWithTheConditionOfBAndNotMore) {
  const Tensor Q = Draw(9).orthogonal(4, 4), core = Draw(3).with_eigenvalues({2, 2, 1, 0.5}), w = normal({4, 4}, 5),
               da = hermitian(normal({4, 4}, 6)), db = hermitian(normal({4, 4}, 7));
  for (const double condition : {1e2, 1e4, 1e6, 1e8}) {
    Pencil p({2, 2, 1, 0.5}, 1);
    const Tensor root = Q * pow(condition, Tensor{0.0, -1.0 / 6, -1.0 / 3, -0.5});
    p.b = hermitian(matmul(root, adjoint(root)));
    p.a = hermitian(times(root, core, adjoint(root)));
    const auto got = gradients(through_vectors, p, w), want = gradients(closed, p, w);
    const auto got2 = bent(through_vectors, p, w, da, db), want2 = bent(closed, p, w, da, db);
    for (const std::size_t i : {0U, 1U}) {
      EXPECT_LT(relative(got[i], want[i]), std::max(3e-10, 4 * condition * 0x1p-53)) << condition;
      EXPECT_LT(relative(got2[i], want2[i]), std::max(1e-6, 4 * condition * 0x1p-53)) << condition;
    }
  }
}
TEST(PencilGradient, AgreesWithDifferencesInBothModesWhereEigenvaluesDiffer) {
  const Pencil p({3, 2, 0.5}, 4);
  const auto f = [](const std::vector<Tensor>& x) {
    const auto e = la::eigh_generalized(x[0], x[1]);
    return std::vector<Tensor>{e.eigenvalues, e.eigenvectors};
  };
  const GradcheckReport r = gradcheck(f, {p.a, p.b}, 2);
  EXPECT_TRUE(r) << r;
  EXPECT_LT(r.unjudged, r.entries / 10) << r;
}
TEST(PencilGradient, OfComplexPencilsAgreesWithDifferencesAtATie) {
  const Tensor v = astype(normal({3, 3}, 1), c128) + normal({3, 3}, 2) * complex128(0, 1) + 2 * eye(3);
  const Tensor b = matmul(v, adjoint(v)), a = matmul(v * Tensor{2.0, 2.0, 1.0}, adjoint(v));
  const Tensor w = astype(normal({3, 3}, 3), c128) + normal({3, 3}, 4) * complex128(0, 1);
  const auto f = [&](const Tensor& x) {
    const Tensor h = (x + adjoint(x)) * 0.5;
    const auto e = la::eigh_generalized(h, b);
    return sum(
        real(w * matmul(e.eigenvectors * expand_dims(square(e.eigenvalues), {.axis = -2}), adjoint(e.eigenvectors))));
  };
  GradientTape tape;
  tape.watch(a);
  const Tensor got = tape.gradient(f(a), a), inverse = la::inv(b);
  GradientTape other;
  other.watch(a);
  const Tensor h = (a + adjoint(a)) * 0.5;
  const Tensor x = matmul(inverse, h);
  const Tensor want = other.gradient(sum(real(w * matmul(matmul(x, x), inverse))), a);
  EXPECT_LT(relative(got, want), 1e-9);
  EXPECT_EQ(tape.findings().size(), 0U);
}
TEST(PencilGradient, OfALossThatDependsOnTheBasisOfATieIsRefused) {
  const Pencil p({2, 2, 1}, 3);
  GradientTape tape;
  tape.watch(p.a);
  const Tensor y = sum(normal({3, 3}, 1) * la::eigh_generalized(p.a, p.b).eigenvectors);
  EXPECT_THROW((void)tape.gradient(y, p.a), GaugeError);
}
TEST(PencilGradient, OfOneOfTwoEqualEigenvaluesIsASubgradientWithAFinding) {
  const Pencil p({2, 2, 1}, 3);
  GradientTape tape;
  tape.watch(p.a);
  const Tensor y = sum(la::eigh_generalized(p.a, p.b).eigenvalues * Tensor{0.0, 0.0, 1.0});
  (void)tape.gradient(y, p.a);
  ASSERT_EQ(tape.findings().size(), 1U);
  EXPECT_EQ(tape.findings()[0].code, "WP-GRD-009");
}
TEST(PencilGradient, OfABatchThatSharesOneMatrixIsTheSumOverItsMembers) {
  const Pencil p({2, 2, 1}, 3), q({3, 2, 1}, 4);
  const Tensor w = normal({3, 3}, 5), both = stack({p.b, q.b});
  const auto gradient = [&](const Tensor& b) {
    GradientTape tape;
    tape.watch(p.a);
    return tape.gradient(through_vectors(p.a, b, w), p.a);
  };
  EXPECT_LT(relative(gradient(both), gradient(p.b) + gradient(q.b)), 1e-9);
}
}  // namespace
