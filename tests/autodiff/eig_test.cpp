// Gradients through eig against closed forms of matrix polynomials, at every gap from 1 to 0, and where eigenvectors
// are nearly dependent.
#include <gtest/gtest.h>

#include "draws.hpp"

namespace {
using namespace wp;

// V f(Λ) V⁻¹
Tensor function_of(const Tensor& a, const std::function<Tensor(const Tensor&)>& f) {
  const auto e = linalg::eig(a);
  return matmul(e.eigenvectors * row(f(e.eigenvalues)), linalg::inv(e.eigenvectors));
}
Tensor of_kind(const Tensor& x, DType dtype) {
  return is_complex(dtype) ? x : real(x);
}

struct Polynomial {
  const char* name;
  std::function<Tensor(const Tensor& A)> of;
  std::function<Tensor(const Tensor& A)> exact;                      // the gradient
  std::function<Tensor(const Tensor& A, const Tensor& B)> directed;  // its derivative along B
};
// Of Re⟨M, A²⟩ and the like; ∂ Re tr(Mᴴ X Y) = conjugate transposes of what stands around.
std::vector<Polynomial> polynomials(const Tensor& M) {
  const Tensor W = astype(M, c128), H = adjoint(M);
  const auto square_of = [](const Tensor& l) { return l * l; };
  const auto anti = [=](const Tensor& X) { return adjoint(matmul(X, H) + matmul(H, X)); };
  return {
      {"tr A^3 by eigvals", [](const Tensor& A) { return sum(real(pow(linalg::eigvals(A), 3))); },
       [=](const Tensor& A) { return 3 * adjoint(matmul(A, A)); },
       [=](const Tensor& A, const Tensor& B) { return 3 * adjoint(matmul(A, B) + matmul(B, A)); }},
      {"tr A^2 by eig", [=](const Tensor& A) { return sum(real(square_of(linalg::eig(A).eigenvalues))); },
       [](const Tensor& A) { return 2 * adjoint(A); }, [](const Tensor&, const Tensor& B) { return 2 * adjoint(B); }},
      {"<M, A^2>", [=](const Tensor& A) { return against(W, function_of(A, square_of)); }, anti,
       [=](const Tensor&, const Tensor& B) { return anti(B); }},
      // A is used again beside the decomposition.
      {"<M, A^2><M, A>", [=](const Tensor& A) { return against(W, function_of(A, square_of)) * against(M, A); },
       [=](const Tensor& A) { return anti(A) * against(M, A) + against(M, matmul(A, A)) * M; },
       [=](const Tensor& A, const Tensor& B) {
         return anti(B) * against(M, A) + anti(A) * against(M, B) + against(M, matmul(A, B) + matmul(B, A)) * M;
       }}};
}

// X diag(2, 2 + gap, 1, 1/2) X⁻¹; with a turn a gap of two conjugate values.
Tensor similar(Draw& d, double gap, bool normal, bool turn, DType dtype) {
  const complex128 shift = is_complex(dtype) ? complex128(0.4, -0.3) : complex128(1);
  std::vector<complex128> D(16, 0);
  D[0] = 2, D[5] = 2. + (turn ? 0 : gap * shift), D[10] = 1, D[15] = 0.5;
  if (turn) D[1] = gap, D[4] = -gap;
  const Tensor T = of_kind(Tensor::from(D, {4, 4}), dtype);
  const Tensor X = normal ? d.orthogonal(4, 4, dtype) : d.orthogonal(4, 4, dtype) + 0.5 * d.orthogonal(4, 4, dtype);
  return times(X, T, normal ? adjoint(X) : linalg::inv(X));
}

TEST(EigGradient, KeepsNineDigitsAtEveryGapAndHessianProductsSix) {
  double worst = 0, bent = 0;
  for (const DType dtype : {f64, c128})
    for (const bool normal : {true, false})
      for (const bool turn : {false, true}) {
        if (turn && is_complex(dtype)) continue;
        for (int k = -1; k < 16; ++k) {
          const double gap = k < 0 ? 0 : std::pow(10.0, -k);
          Draw d(static_cast<unsigned>(100 + k));
          const Tensor A = similar(d, gap, normal, turn, dtype), B = d.normal({4, 4}, dtype);
          for (const Polynomial& p : polynomials(d.normal({4, 4}, dtype))) {
            GradientTape tape;
            tape.watch(A);
            const double e = relative(tape.gradient(p.of(A), A), of_kind(p.exact(A), dtype));
            EXPECT_LT(e, 3e-9) << p.name << " gap " << gap << " normal " << normal << turn << name(dtype);
            EXPECT_EQ(tape.findings().size(), 0U) << p.name << " gap " << gap;
            const double h = relative(hessian_product(p.of, A, B), of_kind(p.directed(A, B), dtype));
            EXPECT_LT(h, 1e-6) << p.name << " gap " << gap << " normal " << normal << turn << name(dtype);
            worst = std::max(worst, e);
            bent = std::max(bent, h);
          }
        }
      }
  std::printf("worst relative error %.1e, of second derivatives %.1e\n", worst, bent);
}
TEST(EigGradient, OfMultiplesOfTheIdentityAndOfTurnsIsThatOfThePolynomial) {
  Draw d(4);
  const Tensor M = d.normal({4, 4}), B = d.normal({4, 4}), turn{{1.0, 1.0}, {-1.0, 1.0}};
  for (const Tensor& A :
       {Tensor(eye(4)), Tensor(zeros({4, 4})), linalg::kron(eye(2), turn), linalg::kron(turn, eye(2))})
    for (const Polynomial& p : polynomials(M)) {
      EXPECT_LT(relative(gradient_by(p.of, A), p.exact(A)), 1e-13) << p.name << A;
      EXPECT_LT(relative(hessian_product(p.of, A, B), p.directed(A, B)), 1e-12) << p.name << A;
    }
}
TEST(EigGradient, OfBatchesAndScaledMatricesIsThatOfEachMember) {
  Draw d(9);
  const Tensor M = d.normal({4, 4});
  const Polynomial p = polynomials(M)[2];
  const Tensor tied = similar(d, 0, false, false, f64), apart = d.normal({4, 4});
  GradientTape tape;
  const Tensor both = stack({tied, apart});
  tape.watch(both);
  const Tensor g = tape.gradient(p.of(both), both);
  EXPECT_LT(relative(g[{0}], p.exact(tied)), 1e-12);
  EXPECT_LT(relative(g[{1}], p.exact(apart)), 1e-12);
  for (const int e : {-300, 300}) {
    const double s = std::ldexp(1.0, e);
    const Tensor scaled = tied * s;
    EXPECT_LT(
        relative(gradient_by([&](const Tensor& x) { return sum(real(linalg::eigvals(x))); }, scaled), Tensor(eye(4))),
        1e-12);
  }
}
TEST(EigGradient, OfABasisOfATieIsRefused) {
  Draw d(5);
  const Tensor A = similar(d, 0, true, false, f64), W = d.normal({4, 4}, c128);
  EXPECT_THROW(gradient_by([&](const Tensor& x) { return against(W, linalg::eig(x).eigenvectors); }, A), GaugeError);
  // Not V⁻¹ but Vᴴ: vectors of a tie need not be orthogonal.
  EXPECT_THROW(gradient_by(
                   [&](const Tensor& x) {
                     const auto e = linalg::eig(x);
                     return against(W, matmul(e.eigenvectors * row(e.eigenvalues), adjoint(e.eigenvectors)));
                   },
                   A),
               GaugeError);
  const Tensor apart = similar(d, 0.3, true, false, f64);
  EXPECT_NO_THROW(gradient_by([&](const Tensor& x) { return against(W, linalg::eig(x).eigenvectors); }, apart));
}
TEST(EigGradient, OfNearlyDependentVectorsIsRightOrFound) {
  Draw d(6);
  const Tensor M = d.normal({3, 3}), Q = d.orthogonal(3, 3), B = d.normal({3, 3});
  int found = 0, right = 0;
  for (int k = 0; k < 15; ++k)
    for (const bool turned : {false, true}) {
      const double gap = std::pow(10.0, -k);
      const Tensor J{{2.0, 1.0, 0.0}, {0.0, 2.0 + gap, 0.0}, {0.0, 0.0, 1.0}};
      const Tensor A = turned ? times(Q, J, adjoint(Q)) : J;
      for (const Polynomial& p : polynomials(M)) {
        GradientTape outer, inner;
        outer.watch(A);
        inner.watch(A);
        try {
          const Tensor g = inner.gradient(p.of(A), A);
          const bool told = !inner.findings().empty();
          const double e = relative(g, p.exact(A));
          EXPECT_TRUE(told || e < 1e-6) << p.name << gap << turned << " " << e;
          const double h = relative(outer.gradient(sum(g * B), A), p.directed(A, B));
          EXPECT_TRUE(told || !outer.findings().empty() || h < 1e-4) << p.name << gap << turned << " " << h;
          (told ? found : right) += 1;
        } catch (const GradientError& e) {
          EXPECT_TRUE(e.finding().code == "WP-GRD-011" || e.finding().code == "WP-GRD-007") << e.what();
          ++found;
        }
      }
    }
  EXPECT_GT(right, 20);  // the neighbours are silent
  EXPECT_GT(found, 20);
}
TEST(EigGradient, OfAChoiceBetweenTiedValuesIsAKink) {
  Draw d(8);
  for (int k = 0; k < 10; ++k) {
    const Tensor A = similar(d, 0, k % 2 == 0, false, f64);
    GradientTape tape;
    tape.watch(A);
    (void)tape.gradient(wp::max(real(linalg::eigvals(A))), A);
    ASSERT_EQ(tape.findings().size(), 1U);
    EXPECT_EQ(tape.findings()[0].code, "WP-GRD-009");
  }
  const Tensor pair{{1.0, 2.0}, {-2.0, 1.0}};  // one modulus of two conjugate values: no tie
  GradientTape tape;
  tape.watch(pair);
  EXPECT_LT(relative(tape.gradient(wp::max(wp::abs(linalg::eigvals(pair))), pair), pair / (2 * std::sqrt(5.0))),
            1e-14);
  EXPECT_TRUE(tape.findings().empty());
}
// Eigenvalues that come out as one number, with vectors that are nearly dependent.
TEST(EigGradient, OfValuesThatAreEqualButNotKnownToBeTiedIsRightOrTold) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Draw d(seed);
    const Tensor X = d.with_values(4, 4, {3, 2, 1.5, 1}),
                 A = matmul(X * Tensor{3.0, 3.0, 1e-5, 1e-5}, linalg::inv(X));
    const Tensor K = d.normal({4, 4}), B = adjoint(A);
    GradientTape tape;
    tape.watch(A);
    const Tensor y = real(function_of(A, [](const Tensor& l) { return l * l * l; }));
    const double off = relative(tape.gradient(sum(K * y), A), times(K, B, B) + times(B, K, B) + times(B, B, K));
    EXPECT_LT(off, tape.findings().empty() ? 5e-7 : 1e-3) << seed;
  }
}
}  // namespace
