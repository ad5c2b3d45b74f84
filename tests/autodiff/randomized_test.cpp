// Gradients of randomized_svd: of the computation that ran, with its draws.
#include <gtest/gtest.h>

#include "draws.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
namespace la = linalg;

struct Sketching {
  std::int64_t rank, more, iterations;
};
la::RandomizedSvdResult decomposed(const Tensor& a, const Sketching& s) {
  return la::randomized_svd(a, s.rank, 42, 0, {.oversampling = s.more, .power_iterations = s.iterations});
}
Tensor recombined(const la::RandomizedSvdResult& f) {
  return matmul(f.U * expand_dims(f.S, {.axis = -2}), f.Vh);
}

TEST(RandomizedSvdGradient, AgreesWithDifferencesWhereSomeOfTheRangeIsSeen) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{6, 5}, {4, 6}})
    for (const bool complex : {false, true})
      for (const std::int64_t iterations : {0, 1, 2}) {
        Tensor a = normal({m, n}, static_cast<unsigned>(m));
        if (complex) a = astype(a, c128) + normal({m, n}, 9) * complex128(0, 1);
        const auto f = [&](const std::vector<Tensor>& x) {
          const auto r = decomposed(x[0], {2, 1, iterations});
          return std::vector<Tensor>{recombined(r), r.S};
        };
        const GradcheckReport r = gradcheck(f, {a}, complex ? 1 : 2);
        EXPECT_TRUE(r) << iterations << "\n" << r;
        EXPECT_LT(r.unjudged, r.entries / 4) << r;
      }
}
TEST(RandomizedSvdGradient, OfWhatIsSeenWholeIsThatOfTheBestApproximation) {
  const Tensor w = normal({6, 5}, 3);
  const auto gradient = [&](const auto& f, const Tensor& a) {
    GradientTape tape;
    tape.watch(a);
    return tape.gradient(sum(w * f(a)), a);
  };
  // Of all vectors; of rank 2, and three vectors see all of it.
  const Tensor full = normal({6, 5}, 1), thin = matmul(normal({6, 2}, 1), normal({2, 5}, 2));
  const auto best = [](const Tensor& x) { return la::low_rank(x, 2); };
  const auto with = [](std::int64_t more) {
    return [more](const Tensor& x) { return recombined(decomposed(x, {2, more, 2})); };
  };
  EXPECT_LT(relative(gradient(with(10), full), gradient(best, full)), 1e-12);
  EXPECT_LT(relative(gradient(with(1), thin), gradient(best, thin)), 1e-12);
  const Tensor got = gradient(with(1), stack({full, thin}));
  EXPECT_LT(relative(got[{1}], gradient(best, thin)), 1e-12);
  EXPECT_LT(relative(got[{0}], gradient(with(1), full)), 1e-12);
}
TEST(RandomizedSvdGradient, IsRightAtATieAndRefusedWhereItCutsOne) {
  const Tensor q = la::qr(normal({4, 4}, 1)).Q, p = la::qr(normal({4, 4}, 2)).Q, w = normal({4, 4}, 3);
  const Tensor tied = matmul(q * Tensor{3.0, 3.0, 1.0, 0.5}, p), cut = matmul(q * Tensor{3.0, 2.0, 2.0, 0.5}, p);
  GradientTape tape, exact, refused;
  for (GradientTape* t : {&tape, &exact}) t->watch(tied);
  const Tensor y = sum(w * recombined(decomposed(tied, {2, 10, 2}))), z = sum(w * la::low_rank(tied, 2));
  EXPECT_LT(relative(tape.gradient(y, tied), exact.gradient(z, tied)), 1e-9);
  EXPECT_EQ(tape.findings().size(), 0U);
  refused.watch(cut);
  const Tensor bad = sum(w * recombined(decomposed(cut, {2, 10, 2})));
  EXPECT_THROW((void)refused.gradient(bad, cut), GaugeError);
}
TEST(RandomizedSvdGradient, WithoutPowerIterationsSeesValuesButNotHowUTurnsWhereVectorsAreToSpare) {
  const Tensor a = matmul(normal({6, 2}, 1), normal({2, 5}, 2)), w = normal({6, 5}, 3);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const auto f = decomposed(a, {2, 1, 0});
  const Tensor values = sum(f.S), whole = sum(w * recombined(f));
  GradientTape exact;
  exact.watch(a);
  const auto s = la::svd(a, {.full_matrices = false});
  const Tensor leading = sum(s.S * Tensor{1.0, 1.0, 0.0, 0.0, 0.0});
  EXPECT_LT(relative(tape.gradient(values, a), exact.gradient(leading, a)), 1e-12);
  EXPECT_THROW((void)tape.gradient(whole, a), GradientError);
}
// The part beyond the rank is seen in directions that depend on how the matrix moves.
TEST(RandomizedSvdGradient, OfVectorsHasNoDerivativeWhereTheRankIsNoMoreThanTheVectors) {
  const Tensor w = normal({8, 6}, 3), v = normal({8, 6}, 4);
  for (const std::int64_t rank : {2, 3, 4}) {
    const Tensor a = matmul(normal({8, rank}, 1), normal({rank, 6}, 2));
    const auto product_of = [&](const std::function<Tensor(const Tensor&)>& f) { return hessian_product(f, a, v); };
    EXPECT_THROW(product_of([&](const Tensor& x) {
                   return sum(w * recombined(decomposed(x, {2, 2, 1})));
                 }),
                 GradientError);
    const auto cubes = [&](const Tensor& x) { return sum(pow(decomposed(x, {2, 2, 1}).S, 3)); };
    const auto exact = [](const Tensor& x) { return sum(pow(la::svdvals(x)[{slice(0, 2)}], 3)); };
    EXPECT_LT(relative(product_of(cubes), product_of(exact)), 1e-7) << rank;
  }
}
}  // namespace
