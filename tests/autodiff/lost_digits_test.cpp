// What ill-conditioned matrices leave of gradients (WP-GRD-012), and gradients of the condition itself.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

Tensor nearly_singular(double gap) {
  return Tensor{{1.0, 1.0}, {1.0, 1.0 + gap}};
}
const Tensor kRight{1.0, 2.0};
const std::vector<std::pair<const char*, Function>>& functions() {
  static const std::vector<std::pair<const char*, Function>> all{
      {"solve", [](const Tensor& a) { return sum(la::solve(a, kRight)); }},
      {"inv",
       [](const Tensor& a) {
         return sum(la::inv(a) * Tensor{{1.0, 2.0}, {3.0, 5.0}});
       }},
      {"lstsq", [](const Tensor& a) { return sum(la::lstsq(a, kRight)); }},
      {"pinv",
       [](const Tensor& a) {
         return sum(la::pinv(a) * Tensor{{1.0, 2.0}, {3.0, 5.0}});
       }},
      {"slogdet", [](const Tensor& a) { return sum(la::slogdet(a).logabsdet); }},
      {"logdet", [](const Tensor& a) { return sum(la::logdet(a)); }},
  };
  return all;
}
std::vector<Finding> findings(const Function& f, const Tensor& a) {
  GradientTape tape;
  tape.watch(a);
  (void)tape.gradient(f(a), a);
  return tape.findings();
}

TEST(LostDigits, AreFoundOnTheWayBackThroughIllConditionedMatrices) {
  for (const auto& [name, f] : functions()) {
    const std::vector<Finding> found = findings(f, nearly_singular(1e-10));
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_EQ(found[0].code, "WP-GRD-012") << name;
    EXPECT_EQ(found[0].op, name);
    EXPECT_GT(found[0].measured, 1e10);
    EXPECT_LT(found[0].measured, 1e11);
    EXPECT_NE(found[0].message.find("about 5 of 15"), std::string::npos) << found[0].message;
  }
}
TEST(LostDigits, AreAsManyAsAChangeInTheLastDigitMoves) {
  // The gradient at A and at A with one element moved by u agree to the digits that the finding names.
  const Function& f = functions()[0].second;
  const auto gradient_at = [&](const Tensor& a) {
    GradientTape tape;
    tape.watch(a);
    return tape.gradient(f(a), a);
  };
  const Tensor a = nearly_singular(1e-10), moved = a + Tensor{{0.0, 0.0}, {0.0, 0x1p-52}};
  const Tensor g = gradient_at(a), h = gradient_at(moved);
  const double off = (max(abs(g - h)) / max(abs(g))).item<double>();
  EXPECT_LT(off, 1e-4);
  EXPECT_GT(off, 1e-7);
}
TEST(LostDigits, AreNotFoundForHealthyOrBadlyScaledMatrices) {
  const Tensor far{{1e150, 2e150}, {3e-150, 4e-150}}, wide{{1e12, 2.0}, {3e12, 4.0}},
      diagonal{{1e9, 0.0}, {0.0, 1.0}};
  for (const auto& [name, f] : functions()) {
    EXPECT_TRUE(findings(f, nearly_singular(1.0)).empty()) << name;
    EXPECT_TRUE(findings(f, diagonal).empty()) << name;
    if (std::string_view(name) == "solve" || std::string_view(name) == "inv" || std::string_view(name) == "slogdet") {
      EXPECT_TRUE(findings(f, far).empty()) << name;
      EXPECT_TRUE(findings(f, wide).empty()) << name;
    }
  }
}
// Solutions from factors, and of Sylvester's equation.
TEST(LostDigits, AreFoundOnTheWayBackThroughFactorsAndSylvestersEquation) {
  const Tensor near{{1.0, 0.0}, {1.0, 1e-5}}, far{{2.0, 0.0}, {1.0, 3.0}}, units{{1e-9, 0.0}, {1e-9, 1e12}};
  const Function cho = [](const Tensor& l) { return sum(la::cho_solve(l, kRight)); };
  const Function lu = [](const Tensor& u) {
    return sum(la::lu_solve(arange(2), Tensor{{1.0, 0.0}, {1.0, 1.0}}, u, kRight));
  };
  const Function sylvester = [](const Tensor& a) {
    return sum(la::solve_sylvester(a, Tensor{{-1.0, 0.0}, {0.0, 5.0}}, Tensor{{1.0, 2.0}, {3.0, 4.0}}));
  };
  const auto expect_one = [](const std::vector<Finding>& found, const char* op) {
    ASSERT_EQ(found.size(), 1U) << op;
    EXPECT_EQ(found[0].code, "WP-GRD-012");
    EXPECT_EQ(found[0].op, op);
    EXPECT_GT(found[0].measured, 1e9);
    EXPECT_LT(found[0].measured, 1e12);
  };
  expect_one(findings(cho, near), "cho_solve");
  expect_one(findings(lu, Tensor{{1.0, 1.0}, {0.0, 1e-10}}), "lu_solve");
  expect_one(findings(sylvester, Tensor{{1.0 + 1e-10, 0.0}, {0.5, 3.0}}), "solve_sylvester");
  for (const Tensor& l : {far, units}) EXPECT_TRUE(findings(cho, l).empty()) << l;
  EXPECT_TRUE(findings(lu, matrix_transpose(far)).empty());
  EXPECT_TRUE(findings(sylvester, far).empty());
  EXPECT_TRUE(findings(sylvester, Tensor{{1e12, 1e6}, {0.0, 3.0}}).empty());  // units
}
TEST(LostDigits, NameTheMembersOfABatch) {
  const Tensor a =
      stack({nearly_singular(1.0), nearly_singular(1e-10), nearly_singular(0.5), nearly_singular(1e-12)});
  const std::vector<Finding> found = findings([](const Tensor& x) { return sum(la::inv(x)); }, a);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].members, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(found[0].worst_member, 3);
  EXPECT_EQ(found[0].count, 2);
}
TEST(LostDigits, AreFoundOnceHoweverManyWaysBackThereAre) {
  const Tensor a = nearly_singular(1e-10);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor x = la::solve(a, kRight);
  (void)tape.jacobian(x, a);
  (void)tape.gradient(sum(x), a);
  EXPECT_EQ(tape.findings().size(), 1U);
}
// Functions that are steep where the matrix V diag(2, 1, ε) Vᴴ is nearly singular, and V of thirds.
Tensor with_least(double least) {
  const Tensor v = Tensor{{1.0, 2.0, 2.0}, {2.0, 1.0, -2.0}, {2.0, -2.0, 1.0}} / 3;
  const Tensor a = matmul(v * Tensor{2.0, 1.0, least}, matrix_transpose(v));
  return (a + matrix_transpose(a)) * 0.5;
}
const Tensor kWeight{{1.0, 2.0, 0.5}, {2.0, 3.0, -1.0}, {0.5, -1.0, 4.0}};
const std::vector<std::pair<const char*, Function>>& steep() {
  static const std::vector<std::pair<const char*, Function>> all{
      {"sqrtm", [](const Tensor& a) { return sum(la::sqrtm(a) * kWeight); }},
      {"matrix_power", [](const Tensor& a) { return sum(la::matrix_power(a, 0.25) * kWeight); }},
      {"logm", [](const Tensor& a) { return sum(la::logm(a) * kWeight); }},
      {"cholesky", [](const Tensor& a) { return sum(log(la::diagonal(la::cholesky(a)))); }},
      {"polar",
       [](const Tensor& a) {
         return sum(la::polar(a[{slice(), slice(1, none)}]).U * kWeight[{slice(), slice(1, none)}]);
       }},
      {"qr", [](const Tensor& a) { return sum(log(abs(la::diagonal(la::qr(a).R)))); }},
  };
  return all;
}
TEST(LostDigits, AreFoundWhereFunctionsOfTheMatrixAreSteep) {
  const Tensor tall = concat({Tensor{{1.0, 1.0, 1.0}}, Tensor{{1.0, 1.0, 1.0 + 1e-13}}, Tensor{{0.5, 0.5, 0.5}}});
  for (const auto& [name, f] : steep()) {
    const std::vector<Finding> found = findings(f, std::string(name) == "polar" ? tall : with_least(1e-13));
    ASSERT_FALSE(found.empty()) << name;
    for (const Finding& one : found) EXPECT_EQ(one.code, "WP-GRD-012") << name;
  }
}
TEST(LostDigits, AreNotFoundWhereTheConditionLeavesFive) {
  const Tensor tall = concat({Tensor{{1.0, 1.0, 1.0}}, Tensor{{1.0, 1.0, 1.0 + 1e-7}}, Tensor{{0.5, 0.5, 0.5}}});
  for (const auto& [name, f] : steep()) {
    EXPECT_TRUE(findings(f, std::string(name) == "polar" ? tall : with_least(1e-7)).empty()) << name;
    // Values far apart that every digit determines.
    if (std::string(name) != "polar") {
      EXPECT_TRUE(findings(f, eye(3) * Tensor{2.0, 1.0, 1e-13}).empty()) << name;
    }
  }
}
// ΣR² = ‖A‖² and ⟨W, Q R⟩ = ⟨W, A⟩ are smooth, however small the pivots are.
TEST(LostDigits, AreNotFoundWhereSmallPivotsCancel) {
  for (const double least : {1e-9, 1e-11, 1e-13}) {
    const Tensor a = with_least(least);
    GradientTape tape;
    tape.watch(a);
    const auto f = la::qr(a);
    const Tensor g = tape.gradient(sum(square(f.R)) + sum(matmul(f.Q, f.R) * kWeight), a);
    EXPECT_TRUE(tape.findings().empty()) << tape.findings()[0].text();
    EXPECT_LT(max(abs(g - 2 * a - kWeight)).item<double>(), 1e-13);
  }
}
TEST(QrGradient, OfLogarithmsOfPivotsThatVanishUpToRoundingIsRefused) {
  const Tensor a{{1.0, 1.0}, {1.0, 1.0 + 0x1p-51}, {1.0, 1.0}};
  GradientTape tape;
  tape.watch(a);
  const Tensor y = sum(log(abs(la::diagonal(la::qr(a).R))));
  EXPECT_THROW((void)tape.gradient(y, a), GradientError);
}
TEST(RcondGradient, AgreesWithDifferencesAndWithTheInverseItself) {
  const Tensor a{{4.0, 1.0, -2.0}, {0.5, 3.0, 1.0}, {1.5, -1.0, 5.0}};
  const Function f = [](const Tensor& x) { return la::rcond(x); };
  const GradcheckReport r = gradcheck(f, a, 2);
  EXPECT_TRUE(r) << r;
  GradientTape tape, other;
  tape.watch(a);
  other.watch(a);
  const Tensor g = tape.gradient(f(a), a);
  const Tensor y = 1.0 / (la::matrix_norm(a, {.ord = 1}) * la::matrix_norm(la::inv(a), {.ord = 1}));
  EXPECT_LT(max(abs(g - other.gradient(y, a))).item<double>(), 1e-15);
}
TEST(RcondGradient, ScalesExactlyWithTheMatrixAndIsASubgradientWhereItIsSingular) {
  const Tensor a{{4.0, 1.0}, {2.0, 3.0}}, singular{{1.0, 2.0}, {2.0, 4.0}};
  const auto gradient_at = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(la::rcond(x), x).to_vector<double>();
  };
  const std::vector<double> plain = gradient_at(a);
  for (const int s : {-300, 300}) {
    const std::vector<double> scaled = gradient_at(a * std::ldexp(1.0, s));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(scaled[i], std::ldexp(plain[i], -s));
  }
  GradientTape tape;
  tape.watch(singular);
  const Tensor g = tape.gradient(la::rcond(singular), singular);
  EXPECT_EQ(max(abs(g)).item<double>(), 0);
  ASSERT_EQ(tape.findings().size(), 1U);
  EXPECT_EQ(tape.findings()[0].code, "WP-GRD-009");
}
}  // namespace
