// Decompositions that follow each other at ties, forward mode there, choices between tied values, and hooks.
#include <gtest/gtest.h>

#include "draws.hpp"

namespace {
using namespace wp;
using Function = std::function<Tensor(const Tensor&)>;

double largest_of(const Tensor& x) {
  return wp::max(wp::abs(x)).item<double>();
}

Tensor squared(const Tensor& x) {  // A Aᵀ by svd
  const auto f = linalg::svd(x);
  return matmul(f.U * row(f.S * f.S), adjoint(f.U));
}
Tensor by_svd(const Tensor& x) {
  const auto f = linalg::svd(x);
  return matmul(f.U * row(f.S), f.Vh);
}
Tensor by_eigh(const Tensor& x) {
  const auto e = linalg::eigh(x);
  return matmul(e.eigenvectors * row(e.eigenvalues), adjoint(e.eigenvectors));
}
Tensor by_eig(const Tensor& x) {
  const auto e = linalg::eig(x);
  return real(matmul(e.eigenvectors * row(e.eigenvalues), linalg::inv(e.eigenvectors)));
}
const std::vector<std::vector<double>> kSpectra{{2, 2, 1, .5},        {2, 2, 2, 2},          {2, 1, 0, 0},
                                                {2, 2 + 1e-9, 1, .5}, {2, 2 + 1e-13, 1, .5}, {2, 2 + 1e-5, 1, .5},
                                                {4, 3, 2, 1}};

// <M, A A'> in many ways, each with two decompositions whose values repeat together.
std::vector<std::pair<const char*, Function>> ways(const Tensor& M) {
  return {{"svd, eigh", [=](const Tensor& x) { return sum(M * by_eigh(squared(x))); }},
          {"svd, svd", [=](const Tensor& x) { return sum(M * by_svd(squared(x))); }},
          {"svd of U S V", [=](const Tensor& x) { return sum(M * squared(by_svd(x))); }},
          {"svd, eig", [=](const Tensor& x) { return sum(M * by_eig(squared(x))); }},
          {"svd twice", [=](const Tensor& x) { return sum(M * squared(x)) / 2 + sum(M * squared(x)) / 2; }},
          // A itself is used again, in the basis of its vectors.
          {"diag(U' A V)", [=](const Tensor& x) {
             const auto f = linalg::svd(x);
             const Tensor s = linalg::diagonal(times(adjoint(f.U), x, adjoint(f.Vh)));
             return sum(M * matmul(f.U * row(s * f.S), adjoint(f.U)));
           }}};
}
TEST(Chains, OfDecompositionsHaveTheGradientOfTheirProductAtEveryGap) {
  Draw d(11);
  for (const std::vector<double>& s : kSpectra) {
    const Tensor A = d.with_values(4, 4, s), M = d.normal({4, 4}), exact = matmul(M + adjoint(M), A);
    for (const auto& [name, f] : ways(M)) {
      GradientTape tape;
      tape.watch(A);
      EXPECT_LT(relative(tape.gradient(f(A), A), exact), 3e-10) << name << Tensor::from(s, {4});
      EXPECT_TRUE(tape.findings().empty()) << name << Tensor::from(s, {4});
    }
  }
}
TEST(Chains, AreRightToSecondOrderAndInForwardModeAtEveryGap) {
  Draw d(12);
  for (const std::vector<double>& s : kSpectra) {
    const Tensor A = d.with_values(4, 4, s), M = d.normal({4, 4}), B = d.normal({4, 4});
    const double exact = sum(matmul(M + adjoint(M), A) * B).item<double>();
    for (const auto& [name, f] : ways(M)) {
      const std::string where = std::string(name) + " " + Tensor::from(s, {4}).to_string();
      EXPECT_LT(relative(hessian_product(f, A, B), matmul(M + adjoint(M), B)), 1e-8) << where;
      EXPECT_LT(std::fabs(jvp(f, A, B).tangent.item<double>() / exact - 1), 1e-8) << where;
      EXPECT_LT(std::fabs(linearize(f, A).map(B).item<double>() / exact - 1), 1e-8) << where;
    }
  }
}
TEST(Chains, SayNothingWhereOnlyAPartOfTheirSecondDerivativeCancels) {
  Draw d(18);
  for (const std::vector<double>& s : kSpectra) {  // eigh and svd of A A' give it again: their second derivative is 0
    const Tensor A = d.with_values(4, 4, s), M = d.normal({4, 4}), B = d.normal({4, 4});
    for (const auto& [name, f] : ways(M)) {
      GradientTape outer, inner;
      outer.watch(A);
      inner.watch(A);
      (void)outer.gradient(sum(inner.gradient(f(A), A) * B), A);
      for (const Finding& found : outer.findings()) ADD_FAILURE() << name << Tensor::from(s, {4}) << found.text();
    }
  }
}
// In f32 half of the digits are left to second order; a refusal says so (WP-GRD-011).
TEST(Chains, AreRightInEveryDtypeToSecondOrder) {
  int right = 0, refused = 0;
  for (const DType dtype : {c128, f32, c64}) {
    const bool narrow = finfo(real_of(dtype)).eps > 1e-10;
    const DType wide = is_complex(dtype) ? c128 : f64;
    Draw d(21);
    for (const std::vector<double>& s : {kSpectra[0], kSpectra[1], kSpectra[2], kSpectra[4]}) {
      const Tensor A = d.with_values(4, 4, s, dtype), M = d.normal({4, 4}, dtype), B = d.normal({4, 4}, dtype);
      const Tensor H = 2 * hermitian(astype(M, wide));
      const Function f = [&](const Tensor& x) {
        const auto t = linalg::svd(x);
        const auto e = linalg::eigh(matmul(t.U * row(t.S * t.S), adjoint(t.U)));
        return against(M, matmul(e.eigenvectors * row(e.eigenvalues), adjoint(e.eigenvectors)));
      };
      const std::string where = std::string(name(dtype)) + Tensor::from(s, {4}).to_string();
      EXPECT_LT(relative(astype(gradient_by(f, A), wide), matmul(H, astype(A, wide))), narrow ? 3e-4 : 3e-10)
          << where;
      try {
        const Tensor bent = astype(hessian_product(f, A, B), wide);
        EXPECT_LT(relative(bent, matmul(H, astype(B, wide))), narrow ? 1e-2 : 1e-8) << where;
        ++right;
      } catch (const GradientError& e) {
        EXPECT_TRUE(narrow && e.finding().code == "WP-GRD-011") << where << e.what();
        ++refused;
      }
    }
  }
  EXPECT_GE(right, 5 * refused);
}
TEST(Chains, OfThreeDecompositionsAreRightOrRefused) {
  Draw d(19);
  for (const std::vector<double>& s : kSpectra) {
    const Tensor A = d.with_values(4, 4, s), M = d.normal({4, 4}), B = d.normal({4, 4});
    const Function f = [&](const Tensor& x) { return sum(M * by_eigh(by_svd(squared(x)))); };
    EXPECT_LT(relative(gradient_by(f, A), matmul(M + adjoint(M), A)), 3e-10) << Tensor::from(s, {4});
    if (&s != &kSpectra.front() && &s != &kSpectra.back()) continue;  // a refusal takes many seconds
    try {
      EXPECT_LT(relative(hessian_product(f, A, B), matmul(M + adjoint(M), B)), 1e-8) << Tensor::from(s, {4});
    } catch (const GradientError& e) {
      EXPECT_EQ(e.finding().code, "WP-GRD-011");
      EXPECT_NE(s, kSpectra.back()) << "values that are apart have second derivatives";
    }
  }
}
Tensor of_values(const Tensor& x, const Function& h) {
  const auto e = linalg::eigh(x);
  return matmul(e.eigenvectors * row(h(e.eigenvalues)), adjoint(e.eigenvectors));
}
// Beside 1, the values of a small matrix are equal to the second decomposition, up to rounding.
TEST(Chains, AreRightAtEveryScaleAndEachMemberByItsOwn) {
  Draw d(20);
  const std::pair<const char*, Function> ways[] = {
      {"log exp",
       [](const Tensor& x) {
         return of_values(of_values(x, [](const Tensor& l) { return exp(l); }),
                          [](const Tensor& l) { return log(l); });
       }},
      {"1 + x − 1", [](const Tensor& x) {
         return of_values(of_values(x, [](const Tensor& l) { return l + 1; }), [](const Tensor& l) { return l - 1; });
       }}};
  std::vector<Tensor> members;
  for (const double scale : {1.0, 1e-4, 1e-8, 1e-11, 1e-14, 1e-20, 1e-40})
    members.push_back(hermitian(d.normal({4, 4})) * scale);
  const Tensor M = hermitian(d.normal({4, 4})), all = stack(Tensors(members.begin(), members.end()));
  for (const auto& [name, f] : ways) {
    const Tensor together = gradient_by([&, &f = f](const Tensor& x) { return sum(M * f(x)); }, all);
    for (std::int64_t k = 0; k < all.shape(0); ++k) {
      EXPECT_LT(relative(together[{k}], M), 3e-9) << name << " " << k << " in the stack";
      EXPECT_LT(relative(gradient_by([&, &f = f](const Tensor& x) { return sum(M * f(x)); }, all[{k}]), M), 3e-9)
          << name << " " << k;
    }
  }
}
TEST(ForwardMode, AtTiesIsThatOfTheWayBackForManyTangents) {
  Draw d(13);
  for (const DType dtype : {f64, c128})
    for (const std::vector<double>& s : kSpectra) {
      const Tensor A = d.with_values(4, 4, s, dtype), M = d.normal({4, 4}, dtype);
      const Function f = [&](const Tensor& x) { return matmul(M, squared(x)); };
      const Linearized map = linearize(f, A);
      for (int k = 0; k < 3; ++k) {
        const Tensor B = d.normal({4, 4}, dtype);
        const Tensor exact = matmul(M, matmul(A, adjoint(B)) + matmul(B, adjoint(A)));
        EXPECT_LT(relative(map.map(B), exact), 1e-8) << Tensor::from(s, {4});
        EXPECT_LT(relative(jvp(f, A, B).tangent, exact), 1e-8) << Tensor::from(s, {4});
      }
    }
}
TEST(ForwardMode, RefusesWhatDependsOnAChoice) {
  Draw d(14);
  const Tensor C = d.normal({3, 3}, c128), B = d.normal({3, 3}, c128), tied = d.with_values(3, 3, {2, 2, 1});
  const Function phase = [](const Tensor& x) { return sum(real(linalg::svd(x).U)); };
  const Function largest = [](const Tensor& x) { return wp::max(linalg::svdvals(x)); };
  EXPECT_THROW(jvp(phase, C, B), GaugeError);
  EXPECT_THROW(linearize(phase, C), GaugeError);
  EXPECT_THROW(jvp([](const Tensor& x) { return sum(linalg::svd(x).U); }, tied, d.normal({3, 3})), GaugeError);
  EXPECT_THROW(linearize([](const Tensor& x) { return sum(linalg::svd(x).U); }, tied), GaugeError);
  EXPECT_THROW(jvp(largest, tied, d.normal({3, 3})), GradientError);
  EXPECT_THROW(linearize(largest, tied), GradientError);
  EXPECT_NO_THROW(jvp(largest, d.with_values(3, 3, {3, 2, 1}), d.normal({3, 3})));
}
TEST(Kinks, OfChoicesBetweenTiedValuesAreFound) {
  Draw d(15);
  for (int k = 0; k < 20; ++k) {
    const Tensor A = d.with_values(4, 4, {3, 2, 2, 1}), H = d.with_eigenvalues({3, 2, 2, 1}), K = d.normal({4, 4});
    const Tensor middle{0.0, 1.0, 1.0, 0.0};
    const auto found = [](const Function& f, const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      (void)tape.gradient(f(x), x);
      return !tape.findings().empty() && tape.findings()[0].code == "WP-GRD-009";
    };
    EXPECT_TRUE(found([&](const Tensor& x) { return wp::max(linalg::svdvals(x) * middle); }, A));
    EXPECT_TRUE(found([&](const Tensor& x) { return wp::max(linalg::svd(x).S * middle); }, A));
    EXPECT_TRUE(found([&](const Tensor& x) { return wp::max(linalg::eigvalsh(x) * middle); }, H));
    EXPECT_TRUE(found([&](const Tensor& x) { return wp::max(linalg::eigh(x).eigenvalues * middle); }, H));
    EXPECT_TRUE(found(
        [&](const Tensor& x) {
          const auto f = linalg::svd(x);
          return wp::max(f.S * middle) + sum(K * matmul(f.U * row(f.S), f.Vh));
        },
        A));
    EXPECT_FALSE(found([](const Tensor& x) { return sum(exp(linalg::svdvals(x))); }, A));
    EXPECT_FALSE(found([](const Tensor& x) { return wp::max(linalg::svdvals(x)); }, A));
  }
}
TEST(Constants, OfVectorsHaveNoDerivativeOfAnyOrder) {
  Draw d(16);
  for (const std::vector<double>& s : kSpectra) {
    if (s[2] == 0) continue;
    const Tensor A = d.with_values(4, 4, s), W = d.normal({4, 4}), B = d.normal({4, 4});
    const Function f = [&](const Tensor& x) {
      const Tensor U = linalg::svd(x).U;
      return sum(W * matmul(U, adjoint(U)));
    };
    EXPECT_LT(largest_of(gradient_by(f, A)), 1e-10);  // u/gap at 1e-5
    EXPECT_LT(largest_of(hessian_product(f, A, B)), 1e-9) << Tensor::from(s, {4});
  }
}
TEST(Hooks, CountWhereWhatFollowsADecompositionIsComputedAgain) {
  Draw d(17);
  const Tensor A = d.with_values(4, 4, {2, 2, 1, .5}), M = d.normal({4, 4});
  GradientTape tape;
  tape.watch(A);
  const Tensor P = squared(A);
  tape.hook(P, [](const Tensor& g) { return 3 * g; });
  EXPECT_LT(relative(tape.gradient(sum(M * P), A), 3 * matmul(M + adjoint(M), A)), 1e-13);
  GradientTape watching;
  watching.watch(A);
  int calls = 0;
  const Tensor Q = squared(A);
  watching.hook(Q, [&](const Tensor&) {
    ++calls;
    return Tensor();
  });
  (void)watching.gradient(sum(M * Q) + sum(Q * Q), A);
  EXPECT_EQ(calls, 1);
}
TEST(Hooks, SeeATensorThatIsNamedTwiceOnce) {
  const Tensor x{1.0, 2.0};
  GradientTape tape;
  tape.watch(x);
  int calls = 0;
  tape.hook(x, [&](const Tensor& g) {
    ++calls;
    return 2 * g;
  });
  const auto g = tape.gradient(sum(x * x), std::vector<Tensor>{x, x});
  EXPECT_EQ(calls, 1);
  for (const Tensor& each : g) EXPECT_EQ(each.to_vector<double>(), (std::vector<double>{4, 8}));
}
TEST(Hooks, ThatChangeAGradientAreDifferentiatedAgain) {
  const Tensor x{1.0, 2.0};
  GradientTape outer, inner;
  outer.watch(x);
  inner.watch(x);
  const Tensor z = x * x;
  inner.hook(z, [&](const Tensor& g) { return g * x; });
  const Tensor g = inner.gradient(sum(z * z), x);  // 2 x² · x · 2 x
  EXPECT_EQ(outer.gradient(sum(g), x).to_vector<double>(), (std::vector<double>{16, 128}));
}
}  // namespace
