// Functions of singular values and eigenvalues alone (svdvals, eigvalsh, norms, cond, powers): second derivatives
// where values repeat, nearly repeat or nearly vanish, and kinks.
#include <gtest/gtest.h>

#include "spectra.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

struct Answer {
  Tensor value;
  std::vector<Finding> findings;
};
Answer slope(const Function& f, const Tensor& A) {
  GradientTape tape;
  tape.watch(A);
  const Tensor g = tape.gradient(f(A), A);
  return {g, tape.findings()};
}
Answer directed(const Function& f, const Tensor& A, const Tensor& B) {
  GradientTape outer, inner;
  outer.watch(A);
  inner.watch(A);
  const Tensor g = inner.gradient(f(A), A), h = outer.gradient(against(B, g), A);
  std::vector<Finding> found = inner.findings();
  for (const Finding& x : outer.findings()) found.push_back(x);
  return {h, found};
}

// Σσ² = ‖A‖², Σλ² and Σλ³ = tr A³, at every gap from 1 to 0.
TEST(ValueGradient, SecondDerivativesOfSmoothSumsOfValuesAreRightAtEveryGapWithoutAFinding) {
  for (const DType dtype : {f64, c128}) {
    Draw d(41);
    double worst = 0;
    const auto judge = [&](const char* what, const Function& f, const Tensor& A, const Tensor& B,
                           const Tensor& exact) {
      const auto [got, findings] = directed(f, A, B);
      EXPECT_TRUE(findings.empty()) << what << " " << findings[0].text() << A;
      EXPECT_LT(relative(got, exact), 1e-6) << what << A;
      worst = std::max(worst, relative(got, exact));
    };
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 6}, {7, 5}, {5, 7}})
      for (const std::vector<double>& s : spectra()) {
        const Tensor A = d.with_values(m, n, s, dtype), B = d.normal({m, n}, dtype);
        judge(
            "squares of svdvals", [](const Tensor& x) { return sum(square(la::svdvals(x))); }, A, B, 2 * B);
      }
    for (const std::vector<double>& l : spectra(true)) {
      const Tensor H = d.with_eigenvalues(l, dtype), B = hermitian(d.normal({6, 6}, dtype));
      judge(
          "squares of eigvalsh", [](const Tensor& x) { return sum(square(la::eigvalsh(x))); }, H, B, 2 * B);
      judge(
          "cubes of eigvalsh", [](const Tensor& x) { return sum(pow(la::eigvalsh(x), 3)); }, H, B,
          3 * (matmul(H, B) + matmul(B, H)));
    }
    std::printf("worst relative error of second derivatives of values, %s: %.1e\n", name(dtype).data(), worst);
  }
}
// What else depends on A beside the values is carried along.
TEST(ValueGradient, SecondDerivativesOfProductsWithOtherFunctionsOfTheMatrixAreRightAtATie) {
  Draw d(5);
  const Tensor K = d.normal({4, 4}), B = d.normal({4, 4});
  for (const std::vector<double>& s : {std::vector<double>{2, 2, 1, 0.5}, {2, 2 - 1e-7, 2 - 2e-7, 1}, {1, 0, 0, 0}}) {
    const Tensor A = d.with_values(4, 4, s);
    for (const bool before : {false, true}) {
      const Function f = [&](const Tensor& x) {
        const Tensor early = against(K, x), values = sum(square(la::svdvals(x)));
        return values * (before ? early : against(K, x));
      };
      const Tensor exact = 2 * B * against(K, A) + 2 * A * against(K, B) + K * (2 * against(A, B));  // of ‖A‖² ⟨K, A⟩
      EXPECT_LT(relative(directed(f, A, B).value, exact), 1e-7) << Tensor::from(s, {4});
    }
  }
}

// At diag(s) the polar factor moves by (B − Bᵀ)_ij/(s_i + s_j), which is the second derivative of the nuclear norm.
TEST(ValueGradient, OfTheNuclearNormAndThePolarFactorIsRightBesideAVanishingValue) {
  Draw d(6);
  const Tensor B = d.normal({3, 3}), W = d.normal({3, 3}), Q = d.orthogonal(3, 3), P = d.orthogonal(3, 3);
  for (const double least : {1e-3, 1e-8, 1e-11, 1e-14}) {
    const Tensor s{2.0, 1.0, least}, A = times(Q, s * eye(3), P);
    const Tensor inner = times(adjoint(Q), B, adjoint(P)), sums = expand_dims(s, {.axis = 1}) + row(s);
    const Tensor exact = times(Q, (inner - adjoint(inner)) / sums, P);
    const auto [got, findings] = directed([](const Tensor& x) { return la::matrix_norm(x, {.ord = "nuc"}); }, A, B);
    EXPECT_LT(relative(got, exact), 1e-9 + 1e-15 / least * 0.1) << least;
    EXPECT_TRUE(findings.empty()) << least;
  }
}
// One vanishing value: the signs of its two vectors are free, and U Vᴴ sees them.
TEST(SvdGradient, OfThePolarFactorOfAMatrixThatLacksOneRankIsRefusedOrFlagged) {
  for (const Tensor& A : {Tensor{{0.0, 1.0}, {0.0, 1.0}}, Tensor{{1.0, 2.0}, {2.0, 4.0}},
                          Tensor{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}, {7.0, 8.0, 9.0}}}) {
    const Tensor W = Draw(3).normal(A.shape());
    try {
      const auto [g, findings] = slope(
          [&](const Tensor& x) {
            const auto f = la::svd(x);
            return against(W, matmul(f.U, f.Vh));
          },
          A);
      EXPECT_FALSE(findings.empty()) << A << g;
    } catch (const GaugeError&) {
    }
  }
}

TEST(ValueGradient, KinksOfNormsAndConditionsAreFound) {
  const Tensor tied{{2.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}},
      low{{2.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}, flat{{1.0, 2.0, 0.0}, {2.0, 4.0, 0.0}, {0.0, 0.0, 1.0}},
      apart{{3.0, 0.0, 0.0}, {0.0, 2.0, 0.0}, {0.0, 0.0, 1.0}};
  const auto norm = [](const Setting& ord) {
    return [ord](const Tensor& x) { return la::matrix_norm(x, {.ord = ord}); };
  };
  const Function cond = [](const Tensor& x) { return la::cond(x); };
  const auto codes = [](const Function& f, const Tensor& A) {
    std::string all;
    for (const Finding& x : slope(f, A).findings) all += x.code;
    return all;
  };
  EXPECT_EQ(codes(norm(2), tied), "WP-GRD-009");
  EXPECT_EQ(codes(norm(2), low), "");
  EXPECT_EQ(codes(norm(-2), low), "WP-GRD-009");
  EXPECT_EQ(codes(norm(-2), tied), "");
  EXPECT_EQ(codes(norm("nuc"), flat), "WP-GRD-009");
  EXPECT_EQ(codes(norm("nuc"), tied), "");
  EXPECT_EQ(codes(cond, tied), "WP-GRD-009");
  EXPECT_EQ(codes(cond, low), "WP-GRD-009");
  EXPECT_EQ(codes(cond, apart), "");
  const Tensor mean = slope(norm(2), tied).value;  // the mean over the tie
  EXPECT_LT(relative(mean, Tensor{{0.5, 0.0, 0.0}, {0.0, 0.5, 0.0}, {0.0, 0.0, 0.0}}), 1e-15);
}

// 1/σ at 1e-5 and 1.1e-5 beside 1: the gap is small beside the largest value, but not beside the values.
TEST(SvdGradient, OfAFunctionOfSmallValuesThatAreApartRaisesNoAlarm) {
  const Tensor A{{1.0, 0.0, 0.0}, {0.0, 1e-5, 0.0}, {0.0, 0.0, 1.1e-5}}, W = Draw(2).normal({3, 3});
  const auto [g, findings] = slope(
      [&](const Tensor& x) {
        const auto f = la::svd(x);
        return against(W, matmul(adjoint(f.Vh) / row(f.S), adjoint(f.U)));
      },
      A);
  const Tensor inverse = la::inv(A);
  EXPECT_LT(relative(g, negative(times(adjoint(inverse), W, adjoint(inverse)))), 1e-12);
  EXPECT_TRUE(findings.empty()) << findings[0].text();
}

// A⁻² as a power and as a product of inverses.
TEST(PowerGradient, SecondDerivativesOfNegativePowersAreThoseOfProductsOfInverses) {
  Draw d(8);
  const Tensor W = d.normal({3, 3}), B = d.normal({3, 3});
  for (const double least : {1.0, 1e-5, 1e-7}) {
    const Tensor A = d.with_values(3, 3, {2, 1, least});
    for (const int p : {-1, -2, -3}) {
      const Function power = [&](const Tensor& x) { return against(W, la::matrix_power(x, p)); };
      const Function product = [&](const Tensor& x) {
        const Tensor inverse = la::inv(x);
        Tensor all = inverse;
        for (int i = 1; i < -p; ++i) all = matmul(all, inverse);
        return against(W, all);
      };
      EXPECT_LT(relative(slope(power, A).value, slope(product, A).value), 1e-9) << p << " " << least;
      EXPECT_LT(relative(directed(power, A, B).value, directed(product, A, B).value), 1e-9) << p << " " << least;
    }
  }
}

// Few digits are left of single values beside close ones, of logarithms and reciprocals of small ones, and of what
// divides by a small pivot twice.
TEST(ValueGradient, SaysWhatIsLost) {
  Draw d(9);
  const auto codes = [](const Answer& a) {
    std::string all;
    for (const Finding& x : a.findings) all += x.code;
    return all;
  };
  const Function largest = [](const Tensor&x) { return la::svd(x).S.at(0); },
                 largest_value = [](const Tensor&x) { return la::eigvalsh(x).at(2); },
                 norm = [](const Tensor&x) { return la::matrix_norm(x, {.ord = 2}); },
                 condition = [](const Tensor&x) { return log(la::cond(x)); },
                 logs = [](const Tensor&x) { return sum(log(la::svd(x).S)); },
                 log_values = [](const Tensor&x) { return sum(log(la::eigvalsh(x))); },
                 part = [](const Tensor&x) { return sum(la::low_rank(x, 1)); };
  for (const double gap : {1e-3, 1e-6, 1e-8, 1e-11}) {
    const std::string told = gap < 1e-10 ? "WP-GRD-008" : "";
    const Tensor A = d.with_values(3, 3, {2 + gap, 2, 1}), H = d.with_eigenvalues({1, 2, 2 + gap});
    EXPECT_EQ(codes(slope(largest, A)), told) << gap;
    EXPECT_EQ(codes(slope(largest_value, H)), told) << gap;
    EXPECT_EQ(codes(slope(norm, A)), told) << gap;
    EXPECT_EQ(codes(slope(part, A)), told) << gap;
  }
  for (const double least : {1e-3, 1e-6, 1e-8, 1e-11}) {
    const std::string told = least < 1e-10 ? "WP-GRD-012" : "";
    const Tensor A = d.with_values(3, 3, {2, 1, least}), H = d.with_eigenvalues({least, 1, 2});
    EXPECT_EQ(codes(slope(logs, A)), told) << least;
    EXPECT_EQ(codes(slope(log_values, H)), told) << least;
    EXPECT_EQ(codes(slope(condition, A)), told) << least;
    const Function squares = [](const Tensor& x) { return sum(square(la::qr(x).R)); };
    EXPECT_EQ(codes(slope(squares, A)), "") << least;
    const std::string twice = codes(directed(squares, A, d.normal({3, 3})));  // of R, and of what its terms leave
    EXPECT_TRUE(least < 1e-7 ? twice.starts_with("WP-GRD-012") : twice.empty()) << least << twice;
  }
}
}  // namespace
