// Losses made of factors where the derivative is what is left of nearly equal numbers: a function that adds to values
// what is large beside them, and small values that are no cluster at zero.
#include <gtest/gtest.h>

#include "spectra.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

Tensor slope(const Function& f, const Tensor& a, bool kept = false) {
  GradientTape tape({.persistent = kept});
  tape.watch(a);
  const Tensor g = tape.gradient(f(a), a);
  EXPECT_TRUE(tape.findings().empty()) << tape.findings()[0].text();
  return g;
}
struct Bent {
  Tensor slope, along;
  bool told;  // that digits are lost
};
Bent bent(const Function& f, const Tensor& a, const Tensor& b) {
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(f(a), a);
  const Tensor along = outer.gradient(against(b, g), a);
  return {g, along, !outer.findings().empty()};
}
const std::vector<std::vector<double>>& shapes() {
  static const std::vector<std::vector<double>> all{{2, 1.25, 0.5}, {2, 1, 1}, {2, 1 + 1e-7, 1}};
  return all;
}

// ⟨W, exp A⟩ has the gradient W + (Aᴴ W + W Aᴴ)/2 + (Aᴴ² W + Aᴴ W Aᴴ + W Aᴴ²)/6 + …, which along B changes by
// (Bᴴ W + W Bᴴ)/2 + ….
struct Exponential {
  Tensor slope, along;
  Exponential(const Tensor& w, const Tensor& x, const Tensor& along_b) {
    const Tensor a = adjoint(x), b = adjoint(along_b), ab = matmul(a, b) + matmul(b, a);
    slope = w + (matmul(a, w) + matmul(w, a)) / 2 + (times(a, a, w) + times(a, w, a) + times(w, a, a)) / 6;
    along = (matmul(b, w) + matmul(w, b)) / 2 + (matmul(ab, w) + times(a, w, b) + times(b, w, a) + matmul(w, ab)) / 6;
  }
};
void expect_exponential(const Function& f, const Tensor& w, const Tensor& a, const Tensor& b, double scale) {
  const Exponential exact(w, a, b);
  EXPECT_LT(relative(slope(f, a), exact.slope), 5e-10) << scale;
  EXPECT_LT(relative(slope(f, a, true), exact.slope), 5e-10) << scale;
  const Bent twice = bent(f, a, b);
  EXPECT_LT(relative(twice.slope, exact.slope), 5e-10) << scale;
  const bool told = scale > 1e-7 && twice.told;
  EXPECT_TRUE(told || relative(twice.along, exact.along) < 2e-6)
      << scale << ": " << relative(twice.along, exact.along);
}
const std::vector<double> kScales{1e-6,  1e-8,   1e-10,  1e-12,  1e-14,  1e-17,
                                  1e-30, 1e-100, 1e-140, 1e-160, 1e-200, 1e-250};

TEST(SmallValues, OfTheExponentialThroughEighAreRightAtEveryScale) {
  Draw d(7);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : shapes())
      for (const double scale : kScales) {
        const Tensor a = scale * d.with_eigenvalues(s, dtype), w = hermitian(d.normal({3, 3}, dtype)),
                     b = hermitian(d.normal({3, 3}, dtype));
        const auto of_factors = [&](const Tensor& values, const Tensor& v) {
          return against(w, matmul(v * row(exp(values)), adjoint(v)));
        };
        const Function f = [&](const Tensor& x) {
          const auto e = la::eigh(x);
          return of_factors(e.eigenvalues, e.eigenvectors);
        };
        expect_exponential(f, w, a, b, scale);
        expect_exponential([&](const Tensor& x) { return la::through_eigh(x, of_factors); }, w, a, b, scale);
      }
}
TEST(SmallValues, OfTheExponentialThroughEigAreRightAtEveryScale) {
  Draw d(12);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : shapes())
      for (const double scale : kScales) {
        const Tensor p = d.normal({3, 3}, dtype) + 4 * eye(3), of_values = Tensor::from(s, {3});
        const Tensor a = scale * matmul(p * of_values, la::inv(p)), w = d.normal({3, 3}, dtype),
                     b = d.normal({3, 3}, dtype);
        const Function f = [&](const Tensor& x) {
          const auto e = la::eig(x);
          const Tensor v = e.eigenvectors;
          return against(w, matmul(v * row(exp(e.eigenvalues)), la::inv(v)));
        };
        expect_exponential(f, w, a, b, scale);
      }
}
// V exp(Λ) Vᴴ = exp(B⁻¹ A) B⁻¹: ⟨W, ·⟩ has the gradient B⁻¹ W B⁻¹ + …
TEST(SmallValues, OfTheExponentialThroughAPencilAreRightAtEveryScale) {
  Draw d(13);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : shapes())
      for (const double scale : kScales) {
        const Tensor root = d.normal({3, 3}, dtype) + 2 * eye(3), metric = matmul(root, adjoint(root));
        const Tensor a = scale * hermitian(matmul(root * Tensor::from(s, {3}), adjoint(root)));
        const Tensor w = hermitian(d.normal({3, 3}, dtype));
        const Function f = [&](const Tensor& x) {
          const auto e = la::eigh_generalized(x, metric);
          const Tensor v = e.eigenvectors;
          return against(w, matmul(v * row(exp(e.eigenvalues)), adjoint(v)));
        };
        const Tensor y = la::inv(metric), ywy = times(y, w, y), ya = matmul(y, a), ay = matmul(a, y);
        const Tensor next = (matmul(ywy, ay) + matmul(ya, ywy)) / 2;
        const Tensor third = (times(ywy, ay, ay) + times(ya, ywy, ay) + times(ya, ya, ywy)) / 6;
        EXPECT_LT(relative(slope(f, a), ywy + next + third), 5e-10) << scale;
        EXPECT_LT(relative(slope(f, a, true), ywy + next + third), 5e-10) << scale;
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
        // The next terms are of the order of A³.
        for (const bool kept : {false, true}) {
          EXPECT_LT(relative(slope(left, a, kept) / scale, matmul(w, a) / scale), 5e-10) << scale;
          EXPECT_LT(relative(slope(right, a, kept) / scale, -2 * matmul(a, w) / scale), 5e-10) << scale;
        }
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
