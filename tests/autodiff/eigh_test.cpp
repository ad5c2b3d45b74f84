// Gradients through eigh against closed forms, at every gap from 1 to 0.
#include <gtest/gtest.h>

#include "spectra.hpp"

namespace {
using namespace wp;

TEST(EighGradient, KeepsNineAndAHalfDigitsAtEveryGapAndHessianProductsSix) {
  for (const DType dtype : {f64, c128}) {
    Draw d(6);
    double worst = 0, worst_bent = 0;
    for (const Loss& loss : eigh_losses(d, 6, dtype))
      for (const std::vector<double>& l : spectra(true)) {
        const Tensor A = d.with_eigenvalues(l, dtype), B = hermitian(d.normal({6, 6}, dtype));
        GradientTape tape;
        tape.watch(A);
        const double e = relative(tape.gradient(loss.of(A), A), loss.exact(A));
        EXPECT_LT(e, 3e-10) << loss.name << " " << name(dtype) << " " << Tensor::from(l, {6});
        EXPECT_EQ(tape.findings().size(), 0U) << loss.name << " " << name(dtype) << " " << Tensor::from(l, {6});
        const double bent = relative(hessian_product(loss.of, A, B), loss.directed(A, B));
        EXPECT_LT(bent, 1e-6) << loss.name << " " << name(dtype) << " " << Tensor::from(l, {6});
        worst = std::max(worst, e);
        worst_bent = std::max(worst_bent, bent);
      }
    std::printf("worst relative error of %s %.1e, of second derivatives %.1e\n", name(dtype).data(), worst,
                worst_bent);
  }
}
TEST(EighGradient, OfSquareRootsIsRightAtRepeatedEigenvalues) {
  // √A with ⟨W, √A⟩: the gradient G solves √A G + G √A = herm W.
  for (const DType dtype : {f64, c128})
    for (unsigned seed = 0; seed < 17; ++seed) {
      Draw d(seed);
      const double g = seed < 16 ? std::pow(10.0, -static_cast<double>(seed)) : 0;
      const Tensor W = d.normal({5, 5}, dtype), A = d.with_eigenvalues({1, 1 + g, 2, 2, 4}, dtype);
      Tensor root;
      const Tensor G = gradient_by(
          [&](const Tensor& x) {
            const auto f = linalg::eigh(x);
            root = matmul(f.eigenvectors * row(sqrt(f.eigenvalues)), adjoint(f.eigenvectors));
            return against(W, root);
          },
          A);
      EXPECT_LT(relative(matmul(root, G) + matmul(G, root), hermitian(W)), 3e-10) << g;
    }
}
// P onto the eigenvalues above a gap: ∂⟨W, P⟩ = Σ pᵢpᵢᴴ herm(W) qⱼqⱼᴴ/(λᵢ − λⱼ) + its adjoint, i above, j below.
TEST(EighGradient, OfAProjectorIsRightWithClustersOnBothSides) {
  for (const DType dtype : {f64, c128})
    for (int k = 0; k <= 16; ++k) {
      Draw d(static_cast<unsigned>(40 + k));
      const double g = k < 16 ? std::pow(10.0, -k) : 0;
      const Tensor l{-1.0, -1.0, -1 + g / 4, 2.0, 2 + g / 3, 2 + g}, Q = d.orthogonal(6, 6, dtype);
      const Tensor A = hermitian(matmul(Q * l, adjoint(Q))), W = d.normal({6, 6}, dtype);
      const Tensor G = gradient_by(
          [&](const Tensor& x) {
            const Tensor v = linalg::eigh(x).eigenvectors[{ellipsis, slice(3, none)}];
            return against(W, matmul(v, adjoint(v)));
          },
          A);
      const Tensor above = expand_dims(l, {.axis = 1}) * Tensor::from(std::vector<double>{0, 0, 0, 1, 1, 1}, {6, 1});
      const Tensor gaps = where(greater(above, 0), above - row(l), 0)[{ellipsis, slice(0, 3)}];
      const Tensor inner = times(adjoint(Q), hermitian(W), Q)[{ellipsis, slice(0, 3)}];
      const Tensor half = where(greater(gaps, 0), inner / where(greater(gaps, 0), gaps, 1), 0);
      const Tensor core = concat({half, zeros({6, 3})}, {.axis = 1});
      EXPECT_LT(relative(G, times(Q, core + adjoint(core), adjoint(Q))), 3e-10) << name(dtype) << " gap " << g;
    }
}
TEST(ThroughEigh, KeepsNothingAndIsRightAtRepeatedEigenvaluesToSecondOrder) {
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& l :
         {std::vector<double>{3, 3, 1, 0}, {2, 2, 2, 2}, {-1, -1, 0, 0}, {4, 3, 2, 1}, {2, 2 + 1e-9, 1, 1 - 1e-6}}) {
      Draw d(11);
      const Tensor A = d.with_eigenvalues(l, dtype), M = d.normal({4, 4}, dtype), H = hermitian(M);
      const Tensor B = hermitian(d.normal({4, 4}, dtype));
      GradientTape outer, tape;
      outer.watch(A);
      tape.watch(A);
      const Tensor y = linalg::through_eigh(A, [&](const Tensor& values, const Tensor& V) {
        return against(M, matmul(V * row(values * values), adjoint(V)));
      });
      EXPECT_EQ(tape.recorded(), 1U);
      const Tensor g = tape.gradient(y, A);
      EXPECT_LT(relative(g, matmul(H, A) + matmul(A, H)), 3e-10) << name(dtype) << Tensor::from(l, {4});
      EXPECT_LT(relative(outer.gradient(against(B, g), A), matmul(H, B) + matmul(B, H)), 1e-6)
          << name(dtype) << Tensor::from(l, {4});
    }
}
TEST(ThroughEigh, TakesEveryMemberOfABatchForItself) {
  for (const DType dtype : {f64, c128}) {
    Draw d(13);
    const Tensor A = stack({d.with_eigenvalues({3, 3, 1}, dtype), d.with_eigenvalues({3, 2, 1}, dtype),
                            d.with_eigenvalues({0, 0, 0}, dtype), d.with_eigenvalues({-1, 2, 2 + 1e-11}, dtype)});
    const Tensor M = d.normal({3, 3}, dtype), H = hermitian(M), B = hermitian(d.normal({4, 3, 3}, dtype));
    const auto loss = [&](const Tensor& x) {
      return linalg::through_eigh(x, [&](const Tensor& values, const Tensor& V) {
        return against(M, matmul(V * row(values * values), adjoint(V)));
      });
    };
    const Tensor g = gradient_by(loss, A), bent = hessian_product(loss, A, B);
    for (std::int64_t k = 0; k < 4; ++k) {
      EXPECT_LT(relative(g[{k}], matmul(H, A[{k}]) + matmul(A[{k}], H)), 3e-10) << k;
      EXPECT_LT(relative(bent[{k}], matmul(H, B[{k}]) + matmul(B[{k}], H)), 1e-6) << k;
    }
  }
}
TEST(ThroughEigh, RefusesWhatDependsOnTheBasisOfATie) {
  Draw d(17);
  const Tensor A = d.with_eigenvalues({2, 2, 1}), M = d.normal({3, 3});
  const auto loss = [&](const Tensor& x) {
    return linalg::through_eigh(x, [&](const Tensor&, const Tensor& V) { return sum(M * V); });
  };
  EXPECT_THROW((void)gradient_by(loss, A), GaugeError);
}
TEST(EighGradient, DoesNotMoveWithAChangeOfBasis) {
  for (const DType dtype : {f64, c128}) {
    Draw d(78);
    const Tensor M = d.normal({4, 4}, dtype), P = d.orthogonal(4, 4, dtype);
    const auto loss = [](const Tensor& m) {
      return [m](const Tensor& x) {
        const auto e = linalg::eigh(x);
        return against(m, matmul(e.eigenvectors * row(square(e.eigenvalues)), adjoint(e.eigenvectors)));
      };
    };
    for (const std::vector<double>& l : {std::vector<double>{3, 3, 1, 0}, {2, 2, 2, 2}, {4, -3, 2, 1}}) {
      const Tensor A = d.with_eigenvalues(l, dtype), turned = hermitian(times(P, A, adjoint(P)));
      const Tensor there = gradient_by(loss(times(P, M, adjoint(P))), turned);
      EXPECT_LT(relative(there, times(P, gradient_by(loss(M), A), adjoint(P))), 1e-11) << Tensor::from(l, {4});
    }
  }
}
}  // namespace
