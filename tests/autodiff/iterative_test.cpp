// cg, gmres and lsmr are differentiated by what they solve, not by their steps.
#include <gtest/gtest.h>

#include "wellposed/wellposed.hpp"

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
