// gradcheck: that it finds what is wrong, and is not true where it could judge nothing.
#include <gtest/gtest.h>

#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;

// M x, whose way back takes M with one element moved.
Tensor wrongly_mapped(const Tensor& x) {
  const Tensor M{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, moved = M + Tensor{{0.0, 0.0}, {0.25, 0.0}, {0.0, 0.0}};
  return custom_gradient(
      [&](const Tensor& t) {
        return VjpResult{matmul(M, t), [moved](const Tensor& u) { return matmul(u, moved); }};
      },
      x);
}
// x³ with the right derivative 3x², whose own is 7x instead of 6x at element 1.
Tensor wrongly_bent(const Tensor& x) {
  const auto slope = [](const Tensor& t) {
    return custom_gradient(
        [](const Tensor& at) {
          return VjpResult{3 * at * at, [at](const Tensor& u) { return u * at * Tensor{6.0, 7.0}; }};
        },
        t);
  };
  return custom_gradient(
      [&](const Tensor& t) {
        return VjpResult{t * t * t, [t, slope](const Tensor& u) { return u * slope(t); }};
      },
      x);
}
TEST(Gradcheck, FindsNothingWrongWithASquare) {
  const auto f = [](const Tensor& x) { return x * x; };
  const GradcheckReport r = gradcheck(f, Tensor{1.0, -2.0}, 2);
  EXPECT_TRUE(r) << r;
  EXPECT_TRUE(r.wrong.empty());
  EXPECT_EQ(r.unjudged, 0);
  EXPECT_EQ(r.entries, 16);  // two orders, two modes
}
TEST(Gradcheck, NamesTheEntryThatIsWrongAndByHowMuch) {
  const GradcheckReport r = gradcheck(wrongly_mapped, Tensor{1.0, -2.0});
  EXPECT_FALSE(r);
  EXPECT_EQ(r.wrong_count, 2);  // by both modes: forward transposes the way back
  ASSERT_EQ(r.wrong.size(), 2U);
  EXPECT_NE(r.wrong[0].reverse, r.wrong[1].reverse);
  for (const GradcheckEntry& e : r.wrong) {
    EXPECT_EQ(e.name, "∂y[1]/∂x[0]");
    EXPECT_EQ(e.computed, 3.25);
    EXPECT_NEAR(e.expected, 3, 1e-10);
    EXPECT_LT(e.uncertainty, 1e-9);
  }
  const std::string text = r.to_string();
  EXPECT_NE(text.find("2 of 12 derivatives are wrong"), std::string::npos) << text;
  EXPECT_NE(text.find("∂y[1]/∂x[0]: reverse gives 3.25, differences give 3"), std::string::npos) << text;
}
TEST(Gradcheck, NamesTheSecondDerivativeThatIsWrongAndByHowMuch) {
  const Tensor x{1.0, 2.0};
  EXPECT_TRUE(gradcheck(wrongly_bent, x, 1)) << gradcheck(wrongly_bent, x, 1);
  const GradcheckReport r = gradcheck(wrongly_bent, x, 2);
  EXPECT_EQ(r.wrong_count, 2);
  ASSERT_EQ(r.wrong.size(), 2U);
  for (const GradcheckEntry& e : r.wrong) {
    EXPECT_EQ(e.name, "∂g[1]/∂x[1]");
    EXPECT_NEAR(e.computed / e.expected, 7.0 / 6.0, 1e-9);
  }
}
// A rule that is wrong by 1 %: differences in f32 do not tell.
Tensor steeper(const Tensor& x) {
  return custom_gradient(
      [](const Tensor& t) {
        return VjpResult{t * t, [t](const Tensor& u) { return u * t * 2.02; }};
      },
      x);
}
TEST(Gradcheck, IsNotTrueWhereNothingCouldBeJudged) {
  const auto square_of = [](const Tensor& x) { return x * x; };
  const GradcheckReport r = gradcheck(steeper, astype(Tensor{1.0, -2.0}, f32));
  EXPECT_EQ(r.wrong_count, 0);
  EXPECT_FALSE(r) << r;
  EXPECT_NE(r.to_string().find("nothing was judged"), std::string::npos) << r;
  EXPECT_FALSE(gradcheck(square_of, zeros({0})));
  EXPECT_FALSE(gradcheck([](const Tensor& x) { return log(x); }, Tensor{0.0}));
  EXPECT_THROW((void)gradcheck(square_of, Tensor{1, 2}), DtypeError);
  EXPECT_TRUE(gradcheck([](const Tensor& x) { return x * 0 + 1; }, Tensor{1.0, 2.0}));
  EXPECT_TRUE(gradcheck(square_of, astype(Tensor{1.0, -2.0}, f32), 1, {.rtol = 1e-3}));
}
// Of diag(2, 2, 1) in another basis.
Tensor tied() {
  const Tensor q = linalg::qr(Tensor{{1.0, 2.0, 0.5}, {-1.0, 1.0, 3.0}, {0.3, -2.0, 1.0}}).Q;
  return matmul(q * Tensor{2.0, 2.0, 1.0}, matrix_transpose(q));
}
TEST(Gradcheck, SaysThatNoDerivativeExistsAtAKink) {
  using F = std::function<Tensor(const Tensor&)>;
  const F largest = [](const Tensor& a) { return max(linalg::svd(a).S); };
  const F values = [](const Tensor& a) { return linalg::svdvals(a); };
  const F spectral = [](const Tensor& a) { return linalg::matrix_norm(a, {.ord = 2}); };
  for (const F& f : {largest, values, spectral})
    for (const int order : {1, 2}) {
      const GradcheckReport r = gradcheck(f, tied(), order);
      EXPECT_TRUE(r) << r;
      EXPECT_GT(r.kinks, 0);
      ASSERT_EQ(r.findings.size(), 1U) << r;
      EXPECT_EQ(r.findings[0].code, "WP-GRD-009");
      EXPECT_NE(r.to_string().find("at kinks, where no derivative exists"), std::string::npos) << r;
      EXPECT_NE(r.to_string().find(r.findings[0].message), std::string::npos) << r;
    }
  for (const auto& [f, x, kinks] : {std::tuple{F([](const Tensor& t) { return sum(abs(t)); }), Tensor{0.0, 1.0}, 2},
                                    {F([](const Tensor& t) { return max(t); }), Tensor{1.0, 1.0, 0.0}, 4},
                                    {F([](const Tensor& t) { return linalg::vector_norm(t); }), zeros({3}), 6},
                                    {F([](const Tensor& t) { return sum(t * t); }), Tensor{0.0, 1.0}, 0}}) {
    const GradcheckReport r = gradcheck(f, x);
    EXPECT_TRUE(r) << r;
    EXPECT_EQ(r.kinks, kinks) << r;
  }
}
// Eigenvalues that are equal come in any order: quotients of one number are those of several.
TEST(Gradcheck, CallsNothingWrongWhereValuesThatAreEqualChangePlaces) {
  const GradcheckReport r = gradcheck([](const Tensor& a) { return real(linalg::eigvals(a)); }, eye(2));
  EXPECT_EQ(r.wrong_count, 0) << r;
  EXPECT_FALSE(r) << r;
  EXPECT_NE(r.to_string().find("at kinks, where no derivative exists"), std::string::npos) << r;
}
TEST(Gradcheck, OfAWrongRuleAtAKinkOfItsOwnNamesBothSides) {
  const auto f = [](const Tensor& x) {
    return custom_gradient(
        [](const Tensor& t) {
          return VjpResult{abs(t), [](const Tensor& u) { return u * 3; }};
        },
        x);
  };
  const GradcheckReport r = gradcheck(f, Tensor{0.0});
  EXPECT_FALSE(r);
  EXPECT_NE(r.to_string().find("no derivative exists here: differences give -1 from the left and 1 from the right"),
            std::string::npos)
      << r;
}
TEST(Gradcheck, AgreesAtATieWhereTheLossIsSmoothInBothModes) {
  const Tensor w{{1.0, -2.0, 0.5}, {3.0, 1.0, -1.0}, {0.25, 2.0, 1.5}};
  const GradcheckReport r = gradcheck(
      [&](const Tensor& a) {
        const auto f = linalg::svd(a);
        return sum(w * matmul(f.U * square(f.S), f.Vh));
      },
      tied());
  EXPECT_TRUE(r) << r;
  EXPECT_EQ(r.entries, 18);
  EXPECT_EQ(r.unjudged + r.kinks, 0) << r;
}
}  // namespace
