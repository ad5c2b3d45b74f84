// Derivatives at points where a formula that is right elsewhere fails: zeros, ties, saturation, cancellation.
#include <gtest/gtest.h>

#include <cmath>

#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
using Values = std::vector<double>;
using Map = std::function<Tensor(const Tensor&)>;

Values slopes(const Map& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(f(x)), x).to_vector<double>();
}
Values second(const Map& f, const Tensor& x) {
  GradientTape outer, inner;
  outer.watch(x);
  inner.watch(x);
  const Tensor g = inner.gradient(sum(f(x)), x);
  return outer.gradient(sum(g), x, {.unconnected = "zero"}).to_vector<double>();
}
void expect_close(const Values& got, const Values& expected, double relative) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], relative * std::fabs(expected[i])) << "element " << i;
}

TEST(Rules, PowersOfZeroHaveTheSlopesOfTheirPolynomials) {
  const Tensor x{0.0, 0.0, 0.0, 0.0};
  const Map power = [](const Tensor& t) { return pow(t, Tensor{0.0, 1.0, 2.0, 3.0}); };
  EXPECT_EQ(slopes(power, x), (Values{0, 1, 0, 0}));
  EXPECT_EQ(second(power, x), (Values{0, 0, 2, 0}));
}
TEST(Rules, ZeroToAPowerDoesNotVaryWithThePower) {
  EXPECT_EQ(slopes([](const Tensor& p) { return pow(Tensor{0.0, 0.0}, p); }, Tensor{2.0, 0.0}), (Values{0, 0}));
}
TEST(Rules, NegativeNumbersToWholePowersHaveSlopes) {
  const Tensor x{-2.0};
  EXPECT_EQ(slopes([](const Tensor& t) { return pow(t, 3); }, x), (Values{12}));
  EXPECT_EQ(second([](const Tensor& t) { return pow(t, 3); }, x), (Values{-12}));
  EXPECT_EQ(slopes([](const Tensor& t) { return pow(t, -2.0); }, x), (Values{0.25}));
}
TEST(Rules, NormsHaveTheSubgradientZeroAtZero) {
  EXPECT_EQ(slopes([](const Tensor& t) { return hypot(t, 0.0); }, Tensor{0.0}), (Values{0}));
  EXPECT_EQ(slopes([](const Tensor& t) { return abs(t); }, Tensor{0.0, -2.0}), (Values{0, -1}));
  EXPECT_EQ(slopes([](const Tensor& t) { return abs(multiply(t, complex128(1, 1))); }, Tensor{0.0}), (Values{0}));
  EXPECT_EQ(slopes([](const Tensor& t) { return wp::std(t); }, Tensor{0.1, 0.1, 0.1}), (Values{0, 0, 0}));
}
TEST(Rules, ARootBehindAMaskIsNotSeen) {
  const Tensor x{0.0, 4.0};
  EXPECT_EQ(slopes([](const Tensor& t) { return where(greater(t, 0), sqrt(t), 0); }, x), (Values{0, 0.25}));
}
TEST(Rules, ProductsWithZerosAreRightToSecondOrder) {
  EXPECT_EQ(slopes([](const Tensor& t) { return prod(t); }, Tensor{0.0, 4.0, -3.0}), (Values{-12, 0, 0}));
  EXPECT_EQ(slopes([](const Tensor& t) { return prod(t); }, Tensor{0.0, 0.0, -3.0}), (Values{0, 0, 0}));
  // Σ_j ∂²/∂x_i ∂x_j: with two zeros only the pair of them is left.
  EXPECT_EQ(second([](const Tensor& t) { return prod(t); }, Tensor{0.0, 0.0, -3.0}), (Values{-3, -3, 0}));
  EXPECT_EQ(slopes([](const Tensor& t) { return cumulative_prod(t); }, Tensor{2.0, 0.0, 3.0, 5.0}),
            (Values{1, 38, 0, 0}));
  EXPECT_EQ(second([](const Tensor& t) { return cumulative_prod(t); }, Tensor{2.0, 0.0, 3.0, 5.0}),
            (Values{19, 37, 12, 6}));
}
TEST(Rules, ExtremesAreSharedByTheirTies) {
  EXPECT_EQ(slopes([](const Tensor& t) { return max(t); }, Tensor{3.0, 1.0, 3.0}), (Values{0.5, 0, 0.5}));
  EXPECT_EQ(slopes([](const Tensor& t) { return maximum(t, 2.0); }, Tensor{2.0, 3.0}), (Values{0.5, 1}));
  EXPECT_EQ(slopes([](const Tensor& t) { return logaddexp(t, -INFINITY); }, Tensor{-INFINITY, 1.0}),
            (Values{0.5, 1}));
  EXPECT_EQ(slopes([](const Tensor& t) { return logsumexp(t); }, Tensor{-INFINITY, -INFINITY}), (Values{0.5, 0.5}));
}
TEST(Rules, EqualElementsKeepTheirOrderInASort) {
  const Map f = [](const Tensor& t) { return multiply(sort(t), Tensor{1.0, 10.0, 100.0, 1000.0}); };
  EXPECT_EQ(slopes(f, Tensor{2.0, 1.0, 2.0, 2.0}), (Values{10, 1, 100, 1000}));
}
TEST(Rules, SaturatedFunctionsKeepTheDigitsOfTheirSlopes) {
  const double e = std::exp(-40.0);
  expect_close(slopes([](const Tensor& t) { return tanh(t); }, Tensor{20.0}), {4 * e / ((1 + e) * (1 + e))}, 1e-15);
  expect_close(slopes([](const Tensor& t) { return sigmoid(t); }, Tensor{40.0}), {e / ((1 + e) * (1 + e))}, 1e-15);
  expect_close(second([](const Tensor& t) { return sigmoid(t); }, Tensor{40.0}), {-e}, 1e-14);
  expect_close(slopes([](const Tensor& t) { return expm1(t); }, Tensor{-40.0}), {e}, 1e-15);
  expect_close(slopes([](const Tensor& t) -> Tensor { return log_softmax(t)[{0}]; }, Tensor{40.0, 0.0}), {e, -e},
               1e-14);
  expect_close(slopes([](const Tensor& t) -> Tensor { return softmax(t)[{0}]; }, Tensor{40.0, 0.0}), {e, -e}, 1e-14);
}
TEST(Rules, VariancesFarFromZeroKeepTheirDigits) {
  const Tensor x = add(Tensor{0.25, 0.5, 1.0}, 1e9);  // exact
  const double m = 1.75 / 3;
  expect_close(slopes([](const Tensor& t) { return var(t); }, x),
               {2 * (0.25 - m) / 3, 2 * (0.5 - m) / 3, 2 * (1 - m) / 3}, 1e-14);
}
TEST(Rules, OfEntriesThatNameOneElementTheLastIsWritten) {
  const Tensor x = zeros({3});
  EXPECT_EQ(slopes(
                [&](const Tensor& v) {
                  return x.at({Tensor{1, 1, 0}}).set(v);
                },
                Tensor{1.0, 2.0, 3.0}),
            (Values{0, 1, 1}));
  EXPECT_EQ(slopes(
                [&](const Tensor& v) {
                  return scatter(x, Tensor{1, 1, 0}, v, {.axis = 0, .mode = "multiply"});
                },
                Tensor{1.0, 2.0, 3.0}),
            (Values{0, 0, 0}));
}
TEST(Rules, ScatteredProductsWithZerosAreRightToSecondOrder) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{scatter(in[0], Tensor{1, 1, 0, -1}, in[1], {.axis = 0, .mode = "multiply"})};
  };
  const GradcheckReport r = gradcheck(f, {Tensor{2.0, 0.0, 1.5}, Tensor{0.0, 3.0, -1.0, 0.5}}, 2);
  EXPECT_TRUE(r) << r;
  EXPECT_EQ(r.unjudged, 0);
}
TEST(Rules, IntegersBesideTensorsAreConstantsInForwardMode) {
  EXPECT_TRUE(gradcheck([](const Tensor& x) { return subtract(1, x) * add(x, 3); }, Tensor{0.5, 2.0}, 2));
}
}  // namespace
