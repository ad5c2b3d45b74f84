// Gradients through null_space and orth: what does not depend on which basis the columns are has one, and it is that
// of the projector.
#include <gtest/gtest.h>

#include "draws.hpp"
#include "wellposed/gradcheck.hpp"
#include "wellposed/wellposed.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

Tensor complex_normal(const Dims& shape, unsigned seed) {
  return Draw(seed).normal(shape, c128);
}
// Of rank r.
Tensor of_rank(std::int64_t m, std::int64_t n, std::int64_t r, unsigned seed) {
  return matmul(normal({m, r}, seed), normal({r, n}, seed + 1));
}

// Of a projector P: smooth, and seen through the basis only as B Bᴴ.
Function of_projector(const Tensor& w) {
  return [w](const Tensor& p) { return sum(real(conj(w) * p)) + square(sum(real(w * matmul(p, p)))); };
}
Function through_range(const Function& f) {
  return [f](const Tensor& a) {
    const Tensor q = la::orth(a);
    return f(matmul(q, adjoint(q)));
  };
}
Function through_kernel(const Function& f) {
  return [f](const Tensor& a) {
    const Tensor n = la::null_space(a);
    return f(matmul(n, adjoint(n)));
  };
}

TEST(Bases, GiveTheGradientOfTheProjectorToSecondOrder) {
  for (const auto& [m, n, r] : {std::array<std::int64_t, 3>{5, 3, 3}, {3, 5, 3}, {4, 4, 2}, {5, 4, 2}, {4, 6, 3}}) {
    const Tensor a = of_rank(m, n, r, static_cast<unsigned>(100 * m + 10 * n + r)), v = normal({m, n}, 7);
    const Function f = of_projector(normal({m, m}, 3)), h = of_projector(normal({n, n}, 4));
    const Function range = [&](const Tensor& x) { return f(la::projector(x)); };
    const Function kernel = [&](const Tensor& x) { return h(eye(n) - la::projector(matrix_transpose(x))); };
    if (r < m) {
      EXPECT_LT(relative(gradient_by(through_range(f), a), gradient_by(range, a)), 1e-13) << a;
      EXPECT_LT(relative(hessian_product(through_range(f), a, v), hessian_product(range, a, v)), 1e-12) << a;
    }
    if (r < n) {
      EXPECT_LT(relative(gradient_by(through_kernel(h), a), gradient_by(kernel, a)), 1e-13) << a;
      EXPECT_LT(relative(hessian_product(through_kernel(h), a, v), hessian_product(kernel, a, v)), 1e-12) << a;
    }
  }
}
TEST(Bases, AgreeWithDifferencesInBothModes) {
  const Function f = of_projector(normal({5, 5}, 3));
  const Function bent = through_range(f), kernel = through_kernel(f);
  for (const Tensor& a : {normal({5, 3}, 1), complex_normal({5, 2}, 2)}) {
    const Function g = is_complex(a.dtype()) ? through_range(of_projector(complex_normal({5, 5}, 4))) : bent;
    const GradcheckReport r = gradcheck(g, a, 2);
    EXPECT_TRUE(r) << r;
    EXPECT_LT(r.unjudged, r.entries / 4) << r;
  }
  for (const Tensor& a : {normal({3, 5}, 1), complex_normal({2, 5}, 2)}) {
    const Function g = is_complex(a.dtype()) ? through_kernel(of_projector(complex_normal({5, 5}, 4))) : kernel;
    const GradcheckReport r = gradcheck(g, a, 2);
    EXPECT_TRUE(r) << r;
    EXPECT_LT(r.unjudged, r.entries / 4) << r;
  }
}
// X Y has one rank wherever X and Y move: what single elements of A cannot show. Its projectors are
// X (XᴴX)⁻¹ Xᴴ and Yᴴ (Y Yᴴ)⁻¹ Y.
TEST(Bases, OfMatricesOfOneRankAreRightThroughTheirFactorsToSecondOrder) {
  for (const DType dtype : {f64, c128})
    for (const auto& [m, n, r] : {std::array<std::int64_t, 3>{4, 4, 2}, {4, 3, 1}, {3, 4, 2}, {3, 3, 1}}) {
      Draw d(static_cast<unsigned>(100 * m + 10 * n + r));
      const Tensor X = d.normal({m, r}, dtype), Y = d.normal({r, n}, dtype), B = d.normal({m, r}, dtype),
                   C = d.normal({r, n}, dtype);
      const Function range = of_projector(d.normal({m, m}, dtype)), kernel = of_projector(d.normal({n, n}, dtype));
      const auto spanned = [](const Tensor& x) { return times(x, la::inv(matmul(adjoint(x), x)), adjoint(x)); };
      const Function exact = [&](const Tensor& x) { return range(spanned(x)); };
      const Function of_kernel = [&](const Tensor& y) { return kernel(eye(n) - spanned(adjoint(y))); };
      for (const Function& f : {Function([&](const Tensor& x) { return range(la::projector(matmul(x, Y))); }),
                                Function([&](const Tensor& x) { return through_range(range)(matmul(x, Y)); })}) {
        EXPECT_LT(relative(gradient_by(f, X), gradient_by(exact, X)), 1e-12) << name(dtype) << m << n << r;
        EXPECT_LT(relative(hessian_product(f, X, B), hessian_product(exact, X, B)), 1e-11)
            << name(dtype) << m << n << r;
      }
      const Function f = [&](const Tensor& y) { return through_kernel(kernel)(matmul(X, y)); };
      EXPECT_LT(relative(gradient_by(f, Y), gradient_by(of_kernel, Y)), 1e-12) << name(dtype) << m << n << r;
      EXPECT_LT(relative(hessian_product(f, Y, C), hessian_product(of_kernel, Y, C)), 1e-11)
          << name(dtype) << m << n << r;
    }
}
TEST(Bases, OfMatricesWhoseThresholdDropsValuesAgreeWithDifferences) {
  const Tensor a{{1.0, 0.2, 0.1}, {0.1, 0.9, -0.2}, {0.02, 0.01, 0.01}};
  const Tensor w = normal({3, 3}, 9);
  for (const bool null : {false, true}) {
    const Function f = [&](const Tensor& x) {
      const Tensor b = null ? la::null_space(x, {.rtol = 0.3}) : la::orth(x, {.rtol = 0.3});
      return sum(w * matmul(b, matrix_transpose(b)));
    };
    const GradcheckReport r = gradcheck(f, a, 2);
    EXPECT_TRUE(r) << r;
    EXPECT_LT(r.unjudged, r.entries / 4) << r;
  }
}
TEST(Bases, OfABatchAreThoseOfItsMembers) {
  const Tensor a = normal({5, 3}, 1), b = normal({5, 3}, 2);
  const Function each = [&](const Tensor& x) {
    const Tensor q = la::orth(x);
    return sum(normal({5, 5}, 3) * matmul(q, matrix_transpose(q)));
  };
  const Tensor g = gradient_by(each, stack({a, b}));
  EXPECT_LT(relative(g[{0}], gradient_by(each, a)), 1e-14);
  EXPECT_LT(relative(g[{1}], gradient_by(each, b)), 1e-14);
}
TEST(Bases, OfALossThatDependsOnThemAreRefused) {
  const Tensor a = normal({5, 3}, 1), w = normal({5, 3}, 2), h = normal({5, 2}, 3), c = complex_normal({3, 1}, 5);
  const auto refused = [](const Function& f, const Tensor& x) {
    try {
      (void)gradient_by(f, x);
      return std::string("nothing");
    } catch (const GaugeError& e) {
      return e.finding().code;
    }
  };
  EXPECT_EQ(refused([&](const Tensor& x) { return sum(w * la::orth(x)); }, a), "WP-GRD-007");
  EXPECT_EQ(refused([&](const Tensor& x) { return sum(h * la::null_space(matrix_transpose(x))); }, a), "WP-GRD-007");
  EXPECT_EQ(refused([](const Tensor& x) { return sum(real(la::orth(x))); }, c), "WP-GRD-007");  // a phase
  EXPECT_EQ(refused([&](const Tensor& x) { return sum(w * square(la::orth(x))); }, a), "WP-GRD-007");
}
TEST(Bases, OfOneColumnHaveTheGradientOfTheirElements) {
  const Tensor a = normal({4, 1}, 1);  // q = ± a/|a|
  const Tensor w = normal({4, 1}, 2), q = la::orth(a), size = sqrt(sum(a * a)), sign = sum(q * a) / size;
  const Tensor exact = sign * (w - q * sum(q * w)) / size;
  EXPECT_LT(relative(gradient_by([&](const Tensor& x) { return sum(w * la::orth(x)); }, a), exact), 1e-14);
}
}  // namespace
