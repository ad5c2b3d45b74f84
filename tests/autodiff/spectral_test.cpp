// Gradients through svd against closed forms, at every gap from 1 to 0.
#include "spectra.hpp"

#include <gtest/gtest.h>

namespace {
using namespace wp;

constexpr std::pair<std::int64_t, std::int64_t> kShapes[] = {{6, 6}, {8, 5}, {5, 8}};

TEST(SvdGradient, KeepsNineAndAHalfDigitsAtEveryGapAndHessianProductsSix) {
  for (const DType dtype : {f64, c128}) {
    double worst = 0, worst_bent = 0;
    for (const auto& [m, n] : kShapes) {
      Draw d(static_cast<unsigned>(10 * m + n));
      for (const bool full : {false, true}) {
        if (full && (m == n || dtype == c128)) continue;
        for (const Loss& loss : svd_losses(d, m, n, dtype, full))
          for (const std::vector<double>& s : spectra()) {
            const Tensor A = d.with_values(m, n, s, dtype), B = d.normal({m, n}, dtype);
            GradientTape tape;
            tape.watch(A);
            const double e = relative(tape.gradient(loss.of(A), A), loss.exact(A));
            EXPECT_LT(e, 3e-10) << loss.name << " " << m << "x" << n << " " << Tensor::from(s, {6}) << " full "
                                << full;
            EXPECT_EQ(tape.findings().size(), 0U) << loss.name << " " << Tensor::from(s, {6});
            worst = std::max(worst, e);
            const double bent = relative(hessian_product(loss.of, A, B), loss.directed(A, B));
            EXPECT_LT(bent, 1e-6) << loss.name << " " << m << "x" << n << " " << Tensor::from(s, {6});
            worst_bent = std::max(worst_bent, bent);
          }
      }
    }
    std::printf("worst relative error of %s %.1e, of second derivatives %.1e\n", name(dtype).data(), worst,
                worst_bent);
  }
}
TEST(SvdGradient, ThirdDerivativesAreRightAtTies) {
  Draw d(3);
  const Loss loss = svd_losses(d, 4, 4)[2];
  for (const std::vector<double>& s :
       {std::vector<double>{3, 3, 1, 0.5}, {2, 2, 2, 2}, {1, 0, 0, 0}, {3, 2, 1, 0.5}}) {
    const Tensor A = d.with_values(4, 4, s), B = d.normal({4, 4});
    GradientTape third, second, first;
    for (GradientTape* t : {&third, &second, &first}) t->watch(A);
    const Tensor g = first.gradient(loss.of(A), A), h = second.gradient(sum(g * B), A);
    const Tensor t = third.gradient(sum(h * B), A);
    // The loss has degree 3 in A beside a part of degree 2: differences of its second derivative are exact.
    EXPECT_LT(relative(t, loss.directed(A + B, B) - loss.directed(A, B)), 1e-4) << Tensor::from(s, {4});
  }
}
TEST(SvdGradient, PhasesOfComplexVectorsAreNotDetermined) {
  Draw d(1);
  const Tensor A = d.normal({3, 3}, c128);
  GradientTape tape;
  tape.watch(A);
  const Tensor y = sum(real(linalg::svd(A).U));
  EXPECT_THROW((void)tape.gradient(y, A), GaugeError);
}
TEST(SvdGradient, TwoDecompositionsMayFollowEachOther) {
  Draw d(21);
  const Tensor M = d.normal({4, 4});
  for (const std::vector<double>& s : {std::vector<double>{4, 3, 2, 1}, {3, 3, 2, 1}, {2, 2, 2, 0}}) {
    const Tensor A = matmul(d.orthogonal(4, 4) * Tensor::from(s, {4}), d.orthogonal(4, 4));
    GradientTape tape;
    tape.watch(A);
    const auto f = linalg::svd(A);
    const Tensor G = matmul(f.U * row(f.S * f.S), adjoint(f.U)) +
                     Tensor{{5.0, 1.0, 0.0, 0.0}, {1.0, 3.0, 0.0, 0.0}, {0.0, 0.0, 2.0, 0.0}, {0.0, 0.0, 0.0, 1.0}};
    const auto e = linalg::eigh(G);
    const Tensor back = matmul(e.eigenvectors * row(e.eigenvalues), adjoint(e.eigenvectors));
    EXPECT_LT(relative(tape.gradient(sum(M * back), A), matmul(M + adjoint(M), A)), 1e-9) << Tensor::from(s, {4});
  }
}
TEST(SvdGradient, OfALossThatDependsOnSignsIsFoundByVerify) {
  const Tensor A{{1.0, 2.0}, {3.0, 4.0}};
  GradientTape tape({.persistent = true});
  tape.watch(A);
  const auto f = linalg::svd(A);
  const Tensor y = sum(f.U), z = sum(f.S);
  EXPECT_NO_THROW((void)tape.gradient(y, A));
  EXPECT_THROW((void)tape.gradient(y, A, {.verify = true}), GaugeError);
  EXPECT_NO_THROW((void)tape.gradient(z, A, {.verify = true}));
}
// Of one vector, whichever it is, and of the product of any two.
TEST(SvdGradient, OfALossThatDependsOnTheSignsOfFewVectorsIsFoundByVerify) {
  Draw d(12);
  const Tensor A = d.with_values(6, 6, {6, 5, 4, 3, 2, 1}), w = d.normal({6}),
               H = d.with_eigenvalues({6, 5, 4, 3, 2, 1});
  const auto refused = [](const std::function<Tensor(const Tensor&)>& loss, const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = loss(x);
    try {
      (void)tape.gradient(y, x, {.verify = true});
      return false;
    } catch (const GaugeError&) {
      return true;
    }
  };
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto signs = [&](const Tensor& V) {
        const Tensor one = sum(w * V[{ellipsis, i}]);
        return i == j ? one : one * sum(V[{ellipsis, j}]);
      };
      EXPECT_TRUE(refused([&](const Tensor& x) { return signs(linalg::svd(x).U); }, A)) << i << j;
      EXPECT_TRUE(refused([&](const Tensor& x) { return signs(linalg::eigh(x).eigenvectors); }, H)) << i << j;
    }
  EXPECT_FALSE(refused([&](const Tensor& x) { return sum(square(linalg::svd(x).U) * w); }, A));
}
TEST(SvdGradient, AtAKinkIsASubgradientWithAFinding) {
  const Tensor A{{2.0, 0.0}, {0.0, 2.0}};
  {
    GradientTape tape;
    tape.watch(A);
    const Tensor g = tape.gradient(sum(linalg::svd(A).S * Tensor{1.0, 0.0}), A);
    EXPECT_LT(relative(g, Tensor{{0.5, 0.0}, {0.0, 0.5}}), 1e-15);
    ASSERT_EQ(tape.findings().size(), 1U);
    EXPECT_EQ(tape.findings()[0].code, "WP-GRD-009");
  }
  GradientTape tape;  // s₁ + ⟨K, A⟩: no cotangent shows it
  tape.watch(A);
  const auto f = linalg::svd(A);
  const Tensor K{{1.0, 2.0}, {3.0, 4.0}};
  (void)tape.gradient(sum(f.S * Tensor{1.0, 0.0}) + sum(K * matmul(f.U * row(f.S), f.Vh)), A);
  ASSERT_EQ(tape.findings().size(), 1U);
  EXPECT_EQ(tape.findings()[0].code, "WP-GRD-009");
}
TEST(ThroughSvd, KeepsNothingAndGivesTheSame) {
  Draw d(11);
  const Tensor A = matmul(d.orthogonal(4, 4) * Tensor{3.0, 3.0, 1.0, 0.0}, d.orthogonal(4, 4)), M = d.normal({4, 4});
  GradientTape outer, tape;
  outer.watch(A);
  tape.watch(A);
  const Tensor y = linalg::through_svd(A, [&](const Tensor& U, const Tensor& S, const Tensor&) {
    return sum(M * matmul(U * row(S * S), adjoint(U)));
  });
  EXPECT_EQ(tape.recorded(), 1U);
  const Tensor g = tape.gradient(y, A);
  EXPECT_LT(relative(g, matmul(M + adjoint(M), A)), 1e-10);
  const Tensor B = d.normal({4, 4});
  EXPECT_LT(relative(outer.gradient(sum(g * B), A), matmul(M + adjoint(M), B)), 1e-7);
}
TEST(ThroughSvd, TakesEveryMemberOfABatchForItselfInEveryDtype) {
  for (const DType dtype : {f64, c128, f32, c64}) {
    const bool narrow = finfo(real_of(dtype)).eps > 1e-10;
    const DType wide = is_complex(dtype) ? c128 : f64;
    Draw d(14);
    const Tensor A = stack({d.with_values(4, 3, {3, 3, 1}, dtype), d.with_values(4, 3, {3, 2, 1}, dtype),
                            d.with_values(4, 3, {2, 0, 0}, dtype), d.with_values(4, 3, {1, 1, 1}, dtype)});
    const Tensor M = d.normal({4, 4}, dtype), H = 2 * hermitian(astype(M, wide)), B = d.normal({4, 4, 3}, dtype);
    const auto loss = [&](const Tensor& x) {
      return linalg::through_svd(x, [&](const Tensor& U, const Tensor& S, const Tensor&) {
        return against(M, matmul(U * row(S * S), adjoint(U)));
      });
    };
    const Tensor g = astype(gradient_by(loss, A), wide), bent = astype(hessian_product(loss, A, B), wide);
    for (std::int64_t k = 0; k < 4; ++k) {
      EXPECT_LT(relative(g[{k}], matmul(H, astype(A[{k}], wide))), narrow ? 1.5e-4 : 3e-10) << name(dtype) << k;
      EXPECT_LT(relative(bent[{k}], matmul(H, astype(B[{k}], wide))), narrow ? 1e-2 : 1e-6) << name(dtype) << k;
    }
  }
}
TEST(GaugeErrors, NameTheValues) {
  const Tensor A{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}};
  GradientTape tape;
  tape.watch(A);
  const Tensor y = sum(linalg::svd(A).U * Tensor{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}});
  try {
    (void)tape.gradient(y, A);
    FAIL();
  } catch (const GaugeError& e) {
    EXPECT_NE(std::string(e.what()).find("repeated values 2 and 2 (numbers 0 and 1)"), std::string::npos) << e.what();
  }
}
TEST(SvdGradient, DoesNotMoveWithAChangeOfBasis) {
  Draw d(77);
  const Tensor M = d.normal({4, 4}), P = d.orthogonal(4, 4), Q = d.orthogonal(4, 4);
  for (const std::vector<double>& s : {std::vector<double>{3, 3, 1, 0}, {2, 2, 2, 2}, {4, 3, 2, 1}}) {
    const Tensor A = matmul(d.orthogonal(4, 4) * Tensor::from(s, {4}), d.orthogonal(4, 4));
    const auto gradient = [&](const Tensor& at, const Tensor& m) {
      GradientTape tape;
      tape.watch(at);
      const auto f = linalg::svd(at);
      return tape.gradient(sum(m * matmul(f.U * row(f.S * f.S), adjoint(f.U))), at);
    };
    const Tensor turned = gradient(times(P, A, Q), times(P, M, adjoint(P)));
    EXPECT_LT(relative(turned, times(P, gradient(A, M), Q)), 1e-11);
  }
}
}  // namespace
