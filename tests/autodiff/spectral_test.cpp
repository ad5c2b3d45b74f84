// Gradients through svd and eigh against closed forms, at every gap from 1 to 0.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;

class Draw {
 public:
  explicit Draw(unsigned seed) : g_(seed) {}
  Tensor normal(const Dims& shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    std::vector<double> v(static_cast<std::size_t>(n));
    for (double& x : v) x = normal_(g_);
    return Tensor::from(v, shape);
  }
  Tensor orthogonal(std::int64_t m, std::int64_t k) { return linalg::qr(normal({m, k})).Q; }

 private:
  std::mt19937_64 g_;
  std::normal_distribution<double> normal_;
};
Tensor transposed(const Tensor& x) {
  return matrix_transpose(x);
}
Tensor times(const Tensor& a, const Tensor& b, const Tensor& c) {
  return matmul(matmul(a, b), c);
}
double relative(const Tensor& a, const Tensor& b) {
  const double off = wp::max(wp::abs(a - b)).item<double>(), size = wp::max(wp::abs(b)).item<double>();
  return off / std::max(size, 1e-30);
}
Tensor row(const Tensor& s) {
  return expand_dims(s, {.axis = -2});
}

struct Loss {
  const char* name;
  std::function<Tensor(const Tensor& U, const Tensor& S, const Tensor& Vh)> of;
  std::function<Tensor(const Tensor& A)> exact;                      // the gradient
  std::function<Tensor(const Tensor& A, const Tensor& B)> directed;  // its derivative along B
};
std::vector<Loss> losses(Draw& d, std::int64_t m, std::int64_t n) {
  const Tensor M = d.normal({m, m}), N = d.normal({n, n}), K = d.normal({m, n});
  return {{"tr(M A A')",
           [=](const Tensor& U, const Tensor& S, const Tensor&) {
             return sum(M * matmul(U * row(S * S), transposed(U)));
           },
           [=](const Tensor& A) { return matmul(M + transposed(M), A); },
           [=](const Tensor&, const Tensor& B) { return matmul(M + transposed(M), B); }},
          {"tr(N A'A)",
           [=](const Tensor&, const Tensor& S, const Tensor& Vh) {
             return sum(N * matmul(transposed(Vh) * row(S * S), Vh));
           },
           [=](const Tensor& A) { return matmul(A, N + transposed(N)); },
           [=](const Tensor&, const Tensor& B) { return matmul(B, N + transposed(N)); }},
          {"<K,AA'A> + <K,A>^2",
           [=](const Tensor& U, const Tensor& S, const Tensor& Vh) {
             return sum(K * matmul(U * row(S * S * S), Vh)) + square(sum(K * matmul(U * row(S), Vh)));
           },
           [=](const Tensor& A) {
             const Tensor At = transposed(A), Kt = transposed(K);
             return times(K, At, A) + times(A, Kt, A) + times(A, At, K) + sum(K * A) * 2 * K;
           },
           [=](const Tensor& A, const Tensor& B) {
             const Tensor At = transposed(A), Kt = transposed(K), Bt = transposed(B);
             return times(K, Bt, A) + times(K, At, B) + times(B, Kt, A) + times(A, Kt, B) + times(B, At, K) +
                    times(A, Bt, K) + sum(K * B) * 2 * K;
           }}};
}
std::vector<std::vector<double>> spectra() {
  std::vector<std::vector<double>> all{{3, 3, 1, 1, .5, .5}, {3, 3, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 0},
                                       {0, 0, 0, 0, 0, 0},   {2, 2, 2, 2, 2, 2}, {3, 2.5, 2, 1.5, 1, 0.5}};
  for (int k = 1; k < 16; ++k) {
    const double g = std::pow(10.0, -k);
    all.push_back({3, 3 + g, 2, 2 - g / 3, 2 - g / 2, 1});
    all.push_back({3, 2, 1, g, g / 2, g / 3});
  }
  return all;
}

TEST(SvdGradient, KeepsItsDigitsAtEveryGap) {
  double worst = 0;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 6}, {8, 5}, {5, 8}}) {
    Draw d(static_cast<unsigned>(10 * m + n));
    const std::int64_t k = std::min(m, n);
    for (const Loss& loss : losses(d, m, n))
      for (const bool full : {false, true})
        for (const std::vector<double>& s : spectra()) {
          const Tensor A =
              matmul(d.orthogonal(m, k) * Tensor::from(std::vector<double>(s.begin(), s.begin() + k), {k}),
                     transposed(d.orthogonal(n, k)));
          GradientTape tape;
          tape.watch(A);
          const auto f = linalg::svd(A, {.full_matrices = full});
          const std::int64_t r = k;
          const Tensor U = full && m > k ? matmul(f.U, eye(m, {.n_cols = r})) : f.U;
          const Tensor Vh = full && n > k ? matmul(eye(r, {.n_cols = n}), f.Vh) : f.Vh;
          const double e = relative(tape.gradient(loss.of(U, f.S, Vh), A), loss.exact(A));
          EXPECT_LT(e, 3e-10) << loss.name << " " << m << "x" << n << " " << Tensor::from(s, {6}) << " full " << full;
          EXPECT_EQ(tape.findings().size(), 0U) << loss.name << " " << Tensor::from(s, {6});
          worst = std::max(worst, e);
        }
  }
  std::printf("worst relative error %.1e\n", worst);
}
TEST(SvdGradient, HessianVectorProductsAreRightAtEveryGap) {
  double worst = 0;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 6}, {8, 5}, {5, 8}}) {
    Draw d(static_cast<unsigned>(10 * m + n));
    const std::int64_t k = std::min(m, n);
    for (const Loss& loss : losses(d, m, n))
      for (const std::vector<double>& s : spectra()) {
        const Tensor A = matmul(d.orthogonal(m, k) * Tensor::from(std::vector<double>(s.begin(), s.begin() + k), {k}),
                                transposed(d.orthogonal(n, k)));
        const Tensor B = d.normal({m, n});
        GradientTape outer, inner;
        outer.watch(A);
        inner.watch(A);
        const auto f = linalg::svd(A, {.full_matrices = false});
        const Tensor g = inner.gradient(loss.of(f.U, f.S, f.Vh), A);
        const double e = relative(outer.gradient(sum(g * B), A), loss.directed(A, B));
        EXPECT_LT(e, 1e-6) << loss.name << " " << m << "x" << n << " " << Tensor::from(s, {6});
        worst = std::max(worst, e);
      }
  }
  std::printf("worst relative error %.1e\n", worst);
}
TEST(SvdGradient, ThirdDerivativesAreRightAtTies) {
  Draw d(3);
  const std::vector<Loss> all = losses(d, 4, 4);
  for (const std::vector<double>& s :
       {std::vector<double>{3, 3, 1, 0.5}, {2, 2, 2, 2}, {1, 0, 0, 0}, {3, 2, 1, 0.5}}) {
    const Tensor A = matmul(d.orthogonal(4, 4) * Tensor::from(s, {4}), d.orthogonal(4, 4)), B = d.normal({4, 4});
    GradientTape third, second, first;
    for (GradientTape* t : {&third, &second, &first}) t->watch(A);
    const auto f = linalg::svd(A, {.full_matrices = false});
    const Tensor g = first.gradient(all[2].of(f.U, f.S, f.Vh), A), h = second.gradient(sum(g * B), A);
    const Tensor t = third.gradient(sum(h * B), A);
    // The loss has degree 3 in A beside a part of degree 2: differences of its second derivative are exact.
    const Tensor exact = all[2].directed(A + B, B) - all[2].directed(A, B);
    EXPECT_LT(relative(t, exact), 1e-4) << Tensor::from(s, {4});
  }
}
TEST(SvdGradient, OfHomogeneousLossesScalesExactlyWithTheMatrix) {
  Draw d(5);
  const Tensor K = d.normal({4, 4});
  for (const std::vector<double>& s : {std::vector<double>{3, 3, 1, 0.5}, {3, 2, 1, 0}, {4, 2, 1, 0.5}}) {
    const Tensor A = matmul(d.orthogonal(4, 4) * Tensor::from(s, {4}), d.orthogonal(4, 4));
    const auto gradient = [&](const Tensor& at) {
      GradientTape tape;
      tape.watch(at);
      const auto f = linalg::svd(at);
      return tape.gradient(sum(K * matmul(f.U * row(f.S), f.Vh)), at).to_vector<double>();
    };
    const std::vector<double> plain = gradient(A);
    for (const int e : {-300, 300}) EXPECT_EQ(gradient(A * std::ldexp(1.0, e)), plain) << e;
  }
}
TEST(SvdGradient, OfABatchIsThatOfItsMembers) {
  Draw d(7);
  std::vector<Tensor> members;
  for (const std::vector<double>& s : {std::vector<double>{3, 3, 1}, {3, 2, 1}, {2, 0, 0}, {5, 4, 4 + 1e-9}})
    members.push_back(matmul(d.orthogonal(4, 3) * Tensor::from(s, {3}), d.orthogonal(3, 3)));
  const Tensor M = d.normal({4, 4});
  const auto gradient = [&](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    const auto f = linalg::svd(at, {.full_matrices = false});
    return tape.gradient(sum(M * matmul(f.U * row(f.S * f.S), matrix_transpose(f.U))), at);
  };
  const Tensor whole = gradient(stack(Tensors{members[0], members[1], members[2], members[3]}));
  for (std::int64_t k = 0; k < 4; ++k) {
    const Tensor exact = matmul(M + transposed(M), members[static_cast<std::size_t>(k)]);
    EXPECT_LT(relative(whole[{k}], exact), 1e-10);
    EXPECT_LT(relative(gradient(members[static_cast<std::size_t>(k)]), exact), 1e-10);
  }
}
Tensor complex_normal(Draw& d, const Dims& shape) {
  return astype(d.normal(shape), c128) + d.normal(shape) * complex128(0, 1);
}
Tensor adjoint(const Tensor& x) {
  return matrix_transpose(conj(x));
}
TEST(SvdGradient, OfComplexMatricesKeepsItsDigits) {
  double worst = 0;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{5, 5}, {6, 4}, {4, 6}}) {
    Draw d(static_cast<unsigned>(m * 10 + n));
    const std::int64_t k = std::min(m, n);
    for (std::vector<double> s : spectra()) {
      s.resize(static_cast<std::size_t>(k));
      const Tensor M = complex_normal(d, {m, m}), K = complex_normal(d, {m, n}), B = complex_normal(d, {m, n});
      const Tensor A = matmul(linalg::qr(complex_normal(d, {m, k})).Q * Tensor::from(s, {k}),
                              adjoint(linalg::qr(complex_normal(d, {n, k})).Q));
      GradientTape outer, tape;
      outer.watch(A);
      tape.watch(A);
      const auto f = linalg::svd(A, {.full_matrices = false});
      const Tensor y = sum(real(M * conj(matmul(f.U * row(f.S * f.S), adjoint(f.U))))) +
                       sum(real(conj(K) * matmul(f.U * row(f.S * f.S * f.S), f.Vh)));
      const auto third = [&](const Tensor& a, const Tensor& b, const Tensor& c) { return times(a, adjoint(b), c); };
      const Tensor exact = matmul(M + adjoint(M), A) + third(K, A, A) + third(A, K, A) + third(A, A, K);
      const Tensor g = tape.gradient(y, A);
      const double e = relative(g, exact);
      EXPECT_LT(e, 3e-10) << m << "x" << n << " " << Tensor::from(s, {k});
      worst = std::max(worst, e);
      const Tensor bent = matmul(M + adjoint(M), B) + third(K, B, A) + third(K, A, B) + third(B, K, A) +
                          third(A, K, B) + third(B, A, K) + third(A, B, K);
      EXPECT_LT(relative(outer.gradient(sum(real(conj(B) * g)), A), bent), 1e-6)
          << m << "x" << n << " " << Tensor::from(s, {k});
    }
  }
  std::printf("worst relative error %.1e\n", worst);
}
TEST(SvdGradient, PhasesOfComplexVectorsAreNotDetermined) {
  Draw d(1);
  const Tensor A = complex_normal(d, {3, 3});
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
    const Tensor G = matmul(f.U * row(f.S * f.S), transposed(f.U)) +
                     Tensor{{5.0, 1.0, 0.0, 0.0}, {1.0, 3.0, 0.0, 0.0}, {0.0, 0.0, 2.0, 0.0}, {0.0, 0.0, 0.0, 1.0}};
    const auto e = linalg::eigh(G);
    const Tensor back = matmul(e.eigenvectors * row(e.eigenvalues), transposed(e.eigenvectors));
    EXPECT_LT(relative(tape.gradient(sum(M * back), A), matmul(M + transposed(M), A)), 1e-9) << Tensor::from(s, {4});
  }
}
TEST(SvdGradient, OfFloatsIsRightToTwoThirdsOfTheirDigits) {
  Draw d(31);
  const Tensor M = astype(d.normal({5, 5}), f32);
  for (std::vector<double> s : spectra()) {
    s.resize(5);
    const Tensor A = astype(matmul(d.orthogonal(5, 5) * Tensor::from(s, {5}), d.orthogonal(5, 5)), f32);
    GradientTape tape;
    tape.watch(A);
    const auto f = linalg::svd(A);
    const Tensor g = tape.gradient(sum(M * matmul(f.U * row(f.S * f.S), transposed(f.U))), A);
    EXPECT_LT(relative(astype(g, f64), astype(matmul(M + transposed(M), A), f64)), 3e-4) << Tensor::from(s, {5});
  }
}
TEST(SvdGradient, OfALossThatDependsOnTheBasisOfATieIsRefused) {
  for (unsigned k = 0; k < 50; ++k) {
    Draw d(k);
    const Tensor A = matmul(d.orthogonal(4, 4) * Tensor{3.0, 2.0, 2.0, 1.0}, d.orthogonal(4, 4)),
                 M = d.normal({4, 4});
    GradientTape tape;
    tape.watch(A);
    const auto f = linalg::svd(A);
    EXPECT_THROW((void)tape.gradient(sum(M * f.U), A), GaugeError);
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
TEST(EighGradient, OfMatrixFunctionsIsRightAtRepeatedEigenvalues) {
  // √A with ⟨W, √A⟩: the gradient G solves √A G + G √A = sym W.
  double worst = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Draw d(seed);
    const double g = seed < 16 ? std::pow(10.0, -static_cast<double>(seed)) : 0;
    const Tensor Q = d.orthogonal(5, 5), W = d.normal({5, 5}), l{1.0, 1.0 + g, 2.0, 2.0, 4.0};
    const Tensor A = matmul(Q * l, transposed(Q)), S = (A + transposed(A)) * 0.5;
    GradientTape tape;
    tape.watch(S);
    const auto f = linalg::eigh(S);
    const Tensor root = matmul(f.eigenvectors * row(sqrt(f.eigenvalues)), transposed(f.eigenvectors));
    const Tensor G = tape.gradient(sum(W * root), S);
    const Tensor back = matmul(root, G) + matmul(G, root);
    worst = std::max(worst, relative(back, (W + transposed(W)) * 0.5));
    EXPECT_LT(relative(back, (W + transposed(W)) * 0.5), 3e-10) << g;
  }
  std::printf("worst relative error %.1e\n", worst);
}
TEST(ThroughSvd, KeepsNothingAndGivesTheSame) {
  Draw d(11);
  const Tensor A = matmul(d.orthogonal(4, 4) * Tensor{3.0, 3.0, 1.0, 0.0}, d.orthogonal(4, 4)), M = d.normal({4, 4});
  GradientTape outer, tape;
  outer.watch(A);
  tape.watch(A);
  const Tensor y = linalg::through_svd(A, [&](const Tensor& U, const Tensor& S, const Tensor&) {
    return sum(M * matmul(U * row(S * S), transposed(U)));
  });
  EXPECT_EQ(tape.recorded(), 1U);
  const Tensor g = tape.gradient(y, A);
  EXPECT_LT(relative(g, matmul(M + transposed(M), A)), 1e-10);
  const Tensor B = d.normal({4, 4});
  EXPECT_LT(relative(outer.gradient(sum(g * B), A), matmul(M + transposed(M), B)), 1e-7);
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
// A matrix whose first `size` singular values are 2, 2 + gap, 2 + 2 gap/3, …
Tensor clustered(Draw& d, std::int64_t m, std::int64_t n, std::int64_t size, double gap) {
  const std::int64_t k = std::min(m, n);
  std::vector<double> s(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < k; ++i)
    s[static_cast<std::size_t>(i)] =
        i < size ? 2 + gap * static_cast<double>(i) / static_cast<double>(size) : 1.5 / static_cast<double>(i + 1);
  return matmul(d.orthogonal(m, k) * Tensor::from(s, {k}), transposed(d.orthogonal(n, k)));
}
TEST(SvdGradient, KeepsNineAndAHalfDigitsForClustersOfTwoToSix) {
  double worst = 0;
  for (unsigned seed = 0; seed < 30; ++seed)
    for (std::int64_t size = 2; size <= 6; ++size) {
      Draw d(1000 + seed);
      const std::int64_t m = 6 + seed % 3, n = 6 + seed % 2;
      const double gap = seed % 16 == 15 ? 0 : std::pow(10.0, -static_cast<double>(seed % 16));
      const Tensor A = clustered(d, m, n, size, gap);
      for (const Loss& loss : losses(d, m, n)) {
        GradientTape tape;
        tape.watch(A);
        const auto f = linalg::svd(A, {.full_matrices = false});
        const double e = relative(tape.gradient(loss.of(f.U, f.S, f.Vh), A), loss.exact(A));
        EXPECT_LT(e, 3e-10) << loss.name << " cluster of " << size << ", gap " << gap;
        worst = std::max(worst, e);
      }
    }
  std::printf("worst relative error %.1e\n", worst);
}
TEST(SvdGradient, OfLossesThatHaveNoneIsRefusedOrFlaggedInAThousandTries) {
  const FindingHandler before = on_finding([](const Finding&) {});
  int missed = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Draw d(5000 + seed);
    const std::int64_t n = 3 + seed % 4, size = 2 + seed % static_cast<unsigned>(n - 1);
    const Tensor A = clustered(d, n, n, size, 0), W = d.normal({n, n}), first = astype(equal(arange(n), 0), f64);
    GradientTape tape;
    tape.watch(A);
    const auto f = linalg::svd(A);
    const Tensor whole = sum(W * matmul(f.U * row(f.S), f.Vh));
    const Tensor y = seed % 5 == 0   ? sum(W * f.U)
                     : seed % 5 == 1 ? sum(W * f.Vh) + whole
                     : seed % 5 == 2 ? sum(W * square(f.U))
                     : seed % 5 == 3 ? sum(f.S * first)
                                     : sum(f.S * first) + whole;
    try {
      (void)tape.gradient(y, A);
      missed += tape.findings().empty();
    } catch (const GaugeError&) {
    }
  }
  on_finding(before);
  EXPECT_EQ(missed, 0);
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
      return tape.gradient(sum(m * matmul(f.U * row(f.S * f.S), transposed(f.U))), at);
    };
    const Tensor turned = gradient(times(P, A, Q), times(P, M, transposed(P)));
    EXPECT_LT(relative(turned, times(P, gradient(A, M), Q)), 1e-11);
  }
}
}  // namespace
