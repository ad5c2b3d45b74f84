// cg, gmres and lsmr are differentiated by what they solve, not by their steps.
#include <gtest/gtest.h>

#include "draws.hpp"
#include "listening.hpp"

namespace {
using namespace wp;

const Tensor spd{{4.0, 1.0, 0.5}, {1.0, 3.0, 0.2}, {0.5, 0.2, 2.0}},
    general{{4.0, 1.0, 0.0}, {-1.0, 3.0, 2.0}, {0.5, 0.0, 2.0}};
const Tensor b{1.0, -2.0, 0.5};
constexpr double kTight = 1e-14;

void same_as_inverse(const std::function<Tensor(const Tensor&, const Tensor&)>& solve, const Tensor& a,
                     const Tensor& inverse) {
  // x = A⁻¹ b: gb = A⁻ᵀ g, gA = −gb xᵀ.
  const Tensor w{0.3, 1.0, -2.0};
  GradientTape tape;
  tape.watch({a, b});
  const Tensor x = solve(a, b);
  const std::vector<Tensor> g = tape.gradient(sum(w * x), {a, b});
  const Tensor gb = matmul(matrix_transpose(inverse), w), exact = matmul(inverse, b);
  EXPECT_LT(wp::max(wp::abs(g[1] - gb)).item<double>(), 1e-12);
  const Tensor ga = -(expand_dims(gb, {.axis = 1}) * expand_dims(exact, {.axis = 0}));
  EXPECT_LT(wp::max(wp::abs(g[0] - ga)).item<double>(), 1e-12);
}

TEST(Iterative, GradientsOfCgAreThoseOfTheInverse) {
  same_as_inverse([](const Tensor& a, const Tensor& v) { return linalg::cg(a, v, {.rtol = kTight}).x; }, spd,
                  linalg::inv(spd));
}
TEST(Iterative, GradientsOfGmresAreThoseOfTheInverse) {
  linalg::GmresOptions o;
  o.rtol = kTight;
  same_as_inverse([&](const Tensor& a, const Tensor& v) { return linalg::gmres(a, v, o).x; }, general,
                  linalg::inv(general));
}
TEST(Iterative, GradientsOfLsmrAreThoseOfThePseudoinverse) {
  linalg::LsmrOptions o;
  o.rtol = 1e-13;
  for (const Tensor& a : {Tensor{{1.0, 2.0}, {0.5, -1.0}, {2.0, 1.0}}, Tensor{{1.0, 2.0, 0.5}, {0.5, -1.0, 2.0}}}) {
    const Tensor v = a.shape(0) == 3 ? b : Tensor{1.0, 2.0};
    const auto gradient = [&](const std::function<Tensor()>& x) {
      GradientTape tape;
      tape.watch({a, v});
      return tape.gradient(sum(square(x())), std::vector<Tensor>{a, v});
    };
    const auto found = gradient([&] { return linalg::lsmr(a, v, o).x; });
    const auto wanted = gradient([&] {
      const Tensor t = matrix_transpose(a);
      return a.shape(0) == 3 ? linalg::solve(matmul(t, a), matmul(t, v)) : matmul(t, linalg::solve(matmul(a, t), v));
    });
    for (std::size_t k = 0; k < 2; ++k) EXPECT_LT(wp::max(wp::abs(found[k] - wanted[k])).item<double>(), 1e-9);
  }
}
// Second derivatives against those of direct solutions: of matrices, through nested tapes and a tape's own recording.
void same_second_derivatives(const std::function<Tensor(const Tensor&, const Tensor&)>& iterated,
                             const std::function<Tensor(const Tensor&, const Tensor&)>& direct, const Tensor& a,
                             const Tensor& v) {
  Draw d(3);
  const Tensor da = d.normal(a.shape(), a.dtype()), dv = d.normal(v.shape(), v.dtype());
  const auto products = [&](const std::function<Tensor(const Tensor&, const Tensor&)>& x) {
    const auto loss = [&] { return sum(square(wp::abs(x(a, v)))) + square(sum(real(x(a, v)))); };
    GradientTape outer, inner;
    for (GradientTape* t : {&outer, &inner}) t->watch({a, v});
    const std::vector<Tensor> g = inner.gradient(loss(), {a, v});
    std::vector<Tensor> all = outer.gradient(against(da, g[0]) + against(dv, g[1]), {a, v});
    GradientTape own({.persistent = true});
    own.watch(a);
    const Tensor first = own.gradient(loss(), a);
    all.push_back(own.gradient(against(da, first), a));
    return all;
  };
  const std::vector<Tensor> found = products(iterated), wanted = products(direct);
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_LT(relative(found[k], wanted[k]), 1e-10) << k;
}
TEST(Iterative, SecondDerivativesAreThoseOfWhatIsSolved) {
  linalg::GmresOptions o;
  linalg::LsmrOptions least, damped;
  o.rtol = least.rtol = damped.rtol = kTight;
  damped.damp = 0.5;
  for (const DType dtype : {f64, c128}) {
    Draw d(11);
    const Tensor M = d.normal({3, 3}, dtype), positive = matmul(M, adjoint(M)) + 2 * eye(3), v = d.normal({3}, dtype);
    const Tensor tall = d.normal({5, 3}, dtype), w = d.normal({5}, dtype), wide = adjoint(tall);
    const auto solved = [](const Tensor& a, const Tensor& r) { return linalg::solve(a, r); };
    const auto normal = [](const Tensor& a, const Tensor& r, double square) {
      return linalg::solve(matmul(adjoint(a), a) + square * eye(3), matmul(adjoint(a), r));
    };
    same_second_derivatives([](const Tensor& a, const Tensor& r) { return linalg::cg(a, r, {.rtol = kTight}).x; },
                            solved, positive, v);
    same_second_derivatives([&](const Tensor& a, const Tensor& r) { return linalg::gmres(a, r, o).x; }, solved,
                            M + 3 * eye(3), v);
    same_second_derivatives([&](const Tensor& a, const Tensor& r) { return linalg::lsmr(a, r, least).x; },
                            [&](const Tensor& a, const Tensor& r) { return normal(a, r, 0); }, tall, w);
    same_second_derivatives([&](const Tensor& a, const Tensor& r) { return linalg::lsmr(a, r, damped).x; },
                            [&](const Tensor& a, const Tensor& r) { return normal(a, r, 0.25); }, tall, w);
    same_second_derivatives(
        [&](const Tensor& a, const Tensor& r) { return linalg::lsmr(a, r, least).x; },
        [](const Tensor& a, const Tensor& r) { return matmul(adjoint(a), linalg::solve(matmul(a, adjoint(a)), r)); },
        wide, v);
  }
}
TEST(Iterative, SecondDerivativesPassSparseDataAndPreconditioners) {
  const Tensor data{4.0, 1.0, 1.0, 3.0}, v{1.0, -2.0}, t{0.3, -0.7, 0.2, 0.9};
  const auto products = [&](bool iterated) {
    GradientTape outer, inner;
    for (GradientTape* g : {&outer, &inner}) g->watch(data);
    const auto a = linalg::LinearOperator::csr(Tensor{0, 2, 4}, Tensor{0, 1, 0, 1}, data, 2, 2);
    linalg::GmresOptions o;
    o.rtol = kTight;
    o.preconditioner = linalg::LinearOperator(Tensor{{0.25, 0.0}, {0.0, 0.3}});
    const Tensor x = iterated ? linalg::gmres(a, v, o).x : linalg::solve(reshape(data, {2, 2}), v);
    return outer.gradient(sum(t * inner.gradient(sum(x * x * x), data)), data);
  };
  EXPECT_LT(relative(products(true), products(false)), 1e-12);
}
TEST(Iterative, AWideSystemWithAPreconditionerHasTheSameSolutionOnATape) {
  const Tensor a{{1.0, 2.0, 0.5}, {0.5, -1.0, 2.0}}, v{1.0, 2.0};
  linalg::LsmrOptions o;
  o.rtol = 1e-13;
  o.preconditioner = linalg::LinearOperator(Tensor{{1.0, 0.0, 0.0}, {0.0, 0.5, 0.0}, {0.0, 0.0, 2.0}});
  const Tensor plain = linalg::lsmr(a, v, o).x;
  GradientTape tape;
  tape.watch(a);
  EXPECT_LT(relative(linalg::lsmr(a, v, o).x, plain), 1e-10);
}
// Of rank 2.
Tensor deficient(std::int64_t m, std::int64_t n) {
  return matmul(random::normal({m, 2}, 1, 0), random::normal({2, n}, 1, 1000));
}
TEST(Iterative, LsmrWithoutFullRankIsRightOnATapeAndItsDerivativeIsRefusedAtItsLine) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{3, 5}, {5, 3}, {4, 4}}) {
    const Tensor a = deficient(m, n), v = random::normal({m}, 2, 0), w = random::normal({n}, 3, 0);
    const Tensor plain = linalg::lsmr(a, v).x;
    GradientTape tape;
    tape.watch(a);
    const std::uint32_t line = __LINE__ + 1;
    const Tensor x = linalg::lsmr(a, v).x;
    EXPECT_LT(relative(x, plain), 1e-12);
    try {
      (void)tape.gradient(sum(w * x), a);
      ADD_FAILURE() << m << " × " << n;
    } catch (const GradientError& e) {
      EXPECT_EQ(e.finding().code, "WP-GRD-011");
      EXPECT_EQ(e.finding().op, "lsmr");
      EXPECT_EQ(e.finding().place.line, line) << e.what();
      EXPECT_NE(std::string(e.what()).find("rank"), std::string::npos) << e.what();
    }
  }
}
// What is found on the way back is told of the line that asked for the solution.
TEST(Iterative, FindingsOfTheWayBackHaveTheLineOfTheCall) {
  const Tensor a = deficient(5, 3), v = random::normal({5}, 2, 0);
  tests::Listening ears;
  GradientTape tape;
  tape.watch(a);
  const std::uint32_t line = __LINE__ + 1;
  const Tensor x = linalg::lsmr(a, v).x;
  ears.told.clear();
  (void)tape.gradient(sum(x * x), a);
  ASSERT_EQ(ears.told.size(), 1U);
  EXPECT_EQ(ears.told[0].op, "cg in the derivative of lsmr");
  EXPECT_EQ(ears.told[0].place.line, line) << ears.told[0].text();
}
TEST(Iterative, WhatFollowsADecompositionAtATieMustNotBeIterated) {
  const Tensor a{{2.0, 0.0}, {0.0, 2.0}}, v{1.0, 2.0};
  const auto loss = [&](bool iterated) {
    return [&, iterated](const Tensor& x) {
      const auto f = linalg::svd(x);
      const Tensor G = matmul(f.U * row(f.S * f.S), adjoint(f.U));
      return sum(square(iterated ? linalg::cg(G, v).x : linalg::solve(G, v)));
    };
  };
  EXPECT_NO_THROW(gradient_by(loss(false), a));
  try {
    (void)gradient_by(loss(true), a);
    FAIL();
  } catch (const GradientError& e) {
    EXPECT_EQ(e.finding().code, "WP-GRD-011");
  }
}
TEST(Iterative, SparseDataHaveGradients) {
  // [[2, 0], [1, 3]] by rows.
  const Tensor data{2.0, 1.0, 3.0}, x{1.0, 2.0};
  GradientTape tape;
  tape.watch({data, x});
  const auto a = linalg::LinearOperator::csr(Tensor{0, 1, 3}, Tensor{0, 0, 1}, data, 2, 2);
  const auto g = tape.gradient(sum(a(x) * Tensor{1.0, 10.0}), {data, x});
  EXPECT_EQ(g[0].to_vector<double>(), (std::vector<double>{1, 10, 20}));
  EXPECT_EQ(g[1].to_vector<double>(), (std::vector<double>{12, 30}));
}
}  // namespace
