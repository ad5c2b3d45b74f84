// Losses made of factors where the derivative is what is left of nearly equal numbers: a function that adds to values
// what is large beside them, and small values that are no cluster at zero.
#include <gtest/gtest.h>

#include "spectra.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

Tensor slope(const Function& f, const Tensor& a) {
  GradientTape tape;
  tape.watch(a);
  const Tensor g = tape.gradient(f(a), a);
  EXPECT_TRUE(tape.findings().empty()) << tape.findings()[0].text();
  return g;
}
const std::vector<std::vector<double>>& shapes() {
  static const std::vector<std::vector<double>> all{{2, 1.25, 0.5}, {2, 1, 1}, {2, 1 + 1e-7, 1}};
  return all;
}

// ⟨W, exp A⟩ has the gradient W + (W A + A W)/2 + (W A² + A W A + A² W)/6 + …
TEST(SmallValues, OfTheExponentialThroughEighAreRightAtEveryScale) {
  Draw d(7);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : shapes())
      for (const double scale : {1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 1e-17, 1e-30, 1e-100, 1e-160}) {
        const Tensor a = scale * d.with_eigenvalues(s, dtype), w = hermitian(d.normal({3, 3}, dtype));
        const Function f = [&](const Tensor& x) {
          const auto e = la::eigh(x);
          const Tensor v = e.eigenvectors;
          return against(w, matmul(v * row(exp(e.eigenvalues)), adjoint(v)));
        };
        const Tensor wa = matmul(w, a), aw = matmul(a, w), exact = w + (wa + aw) / 2;
        const Tensor next = (matmul(wa, a) + matmul(aw, a) + matmul(a, aw)) / 6;
        EXPECT_LT(relative(slope(f, a), exact + next), 5e-10) << scale;
      }
}

// U √(1 + S²) Uᴴ = √(1 + A Aᴴ): ⟨W, ·⟩ has the gradient W A (1 + O(A²)) for W = Wᴴ; V (1 + S²)⁻¹ Vᴴ has −2 A W.
TEST(SmallValues, OfEvenFunctionsThroughSvdAreRightAtEveryScale) {
  Draw d(8);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : shapes())
      for (const double scale : {1e-6, 1e-8, 1e-10, 1e-12, 1e-17, 1e-30, 1e-100}) {
        const Tensor a = scale * d.with_values(3, 3, s, dtype), w = hermitian(d.normal({3, 3}, dtype));
        const Function left = [&](const Tensor& x) {
          const auto t = la::svd(x);
          return against(w, matmul(t.U * row(sqrt(1 + square(t.S))), adjoint(t.U)));
        };
        const Function right = [&](const Tensor& x) {
          const auto t = la::svd(x);
          return against(w, matmul(adjoint(t.Vh) * row(1 / (1 + square(t.S))), t.Vh));
        };
        EXPECT_LT(relative(slope(left, a) / scale, matmul(w, a) / scale), scale > 1e-7 ? 1e-4 : 5e-10) << scale;
        EXPECT_LT(relative(slope(right, a) / scale, -2 * matmul(a, w) / scale), scale > 1e-7 ? 1e-4 : 5e-10) << scale;
      }
}
// ‖U Vᴴ − T‖² and its gradient vanish at T = U Vᴴ; the Hessian does not.
TEST(SmallValues, OfAGradientThatVanishesDoNotMoveItsDerivative) {
  Draw d(11);
  const Tensor t{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}, a{{2.0, 0.0, 0.0}, {0.0, 2.0 + 3e-9, 0.0}}, b = d.normal({2, 3});
  const Function f = [&](const Tensor& x) {
    const auto s = la::svd(x, {.full_matrices = false});
    return sum(square(matmul(s.U, s.Vh) - t));
  };
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor h = outer.gradient(against(b, inner.gradient(f(a), a)), a);
  // U Vᴴ turns by (b₀₁ − b₁₀)/(σ₁ + σ₂) in the plane, and by b_i2/σ_i out of it: f = 2 ω² + Σ (b_i2/σ_i)².
  const std::vector<double> v = b.to_vector<double>();
  const double sum_of_values = 4 + 3e-9, turn = 4 * (v[1] - v[3]) / (sum_of_values * sum_of_values);
  const Tensor exact{{0.0, turn, v[2] / 2}, {-turn, 0.0, 2 * v[5] / ((2 + 3e-9) * (2 + 3e-9))}};
  EXPECT_LT(relative(h, exact), 1e-6) << h << exact;
}
TEST(SmallValues, OfAMemberDoNotMoveTheGradientsOfOthers) {
  Draw d(9);
  const Tensor one = d.with_eigenvalues({2, 1 + 1e-7, 0.5}, f64), small = 1e-13 * one, w = d.normal({3, 3}, f64);
  const Function f = [&](const Tensor& x) {
    const auto e = la::eigh(x);
    const Tensor v = e.eigenvectors;
    return against(w, matmul(v * row(exp(e.eigenvalues)), adjoint(v)));
  };
  const Tensor both = slope(f, stack({small, one}));
  EXPECT_TRUE(bool(wp::all(equal(both[0], slope(f, small)))));
  EXPECT_TRUE(bool(wp::all(equal(both[1], slope(f, one)))));
}

// A = [D; 0], X = A⁺ = [D⁻¹ 0]: ⟨W, V S⁻¹ Uᴴ⟩ has the gradient −Xᴴ W Xᴴ + (1 − A X) Wᴴ X Xᴴ.
TEST(SmallValues, ThatAreNoClusterAtZeroHaveTheQuotientInEveryElement) {
  Draw d(10);
  for (const DType dtype : {f32, f64, c64})
    for (const double least : {0x1p-8, 0x1p-11, 0x1p-14, 0x1p-17, 0x1p-19})
      for (int repeat = 0; repeat < 4; ++repeat) {
        const Tensor values{1.0, 0x1p-6, least}, top = eye(3) * values;
        const Tensor a = astype(concat({top, zeros({2, 3})}), dtype);
        const Tensor w = astype(d.normal({3, 5}, is_complex(dtype) ? c64 : f32), dtype);
        const Tensor g = slope(
            [&](const Tensor& x) {
              const auto t = la::svd(x, {.full_matrices = false});
              return against(w, matmul(adjoint(t.Vh) * row(1 / t.S), adjoint(t.U)));
            },
            a);
        const DType wide = is_complex(dtype) ? c128 : f64;
        const Tensor x = astype(concat({eye(3) / values, zeros({3, 2})}, {.axis = 1}), wide), xh = adjoint(x);
        const Tensor outside = astype(eye(5) * Tensor{0.0, 0.0, 0.0, 1.0, 1.0}, wide), v = astype(w, wide);
        const Tensor exact = matmul(matmul(outside, adjoint(v)), matmul(x, xh)) - matmul(matmul(xh, v), xh);
        EXPECT_LT(relative(astype(g, wide), exact), dtype == f64 ? 1e-9 : 1e-5) << name(dtype) << " " << least;
      }
}

}  // namespace
