// Second derivatives whose terms cancel: ‖A − T‖² written through factors of A has the Hessian 2, which is what is
// left of terms of size |T|/|A|.
#include <gtest/gtest.h>

#include "draws.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

struct Way {
  const char* op;
  bool hermitian;
  Function product;  // the matrix, made of its factors
};
const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"svd", false,
       [](const Tensor& a) {
         const auto f = la::svd(a, {.full_matrices = false});
         return matmul(f.U * row(f.S), f.Vh);
       }},
      {"eigh", true,
       [](const Tensor& a) {
         const auto f = la::eigh(a);
         return matmul(f.eigenvectors * row(f.eigenvalues), adjoint(f.eigenvectors));
       }},
      {"qr", false,
       [](const Tensor& a) {
         const auto f = la::qr(a);
         return matmul(f.Q, f.R);
       }},
  };
  return all;
}

struct Second {
  double off;
  std::vector<Finding> first, second;
};
Second second_derivative(const Way& way, Draw& d, const Dims& shape, double size, DType dtype) {
  const auto matrix = [&] {
    const Tensor x = d.normal(shape, dtype);
    return way.hermitian ? hermitian(x) : x;
  };
  const Tensor a = matrix() * size, t = matrix(), v = matrix();
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor off = way.product(a) - t, g = inner.gradient(sum(real(conj(off) * off)), a);
  return {relative(outer.gradient(against(v, g), a), 2 * v), inner.findings(), outer.findings()};
}

TEST(CancelledTerms, AreToldWhereverTheyLeaveASecondDerivativeFewerThanSixDigits) {
  Draw d(11);
  for (const Way& way : ways())
    for (const DType dtype : {f64, c128, f32})
      for (const double size : {1.0, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-16, 1e-20, 1e-30})
        for (int k = 0; k < 8; ++k) {
          const std::int64_t n = 2 + k % 4, m = way.hermitian ? n : n + k % 3;
          const Second s = second_derivative(way, d, {m, n}, size, dtype);
          const double allowed = dtype == f32 ? 1e-3 : 1e-6;
          if (s.off > 10 * allowed) {
            ASSERT_EQ(s.second.size(), 1U) << way.op << " " << name(dtype) << " " << size << ": off by " << s.off;
            EXPECT_EQ(s.second[0].code, "WP-GRD-012");
            EXPECT_EQ(s.second[0].op, way.op);
            if (s.off < 0.01) {
              EXPECT_GT(s.second[0].measured, s.off / 30);
              EXPECT_LT(s.second[0].measured, s.off * 30);
            }
          }
          if (s.off < allowed / 300) {
            EXPECT_TRUE(s.second.empty()) << way.op << " " << name(dtype) << " " << size << ": off by " << s.off;
          }
          EXPECT_TRUE(s.first.empty()) << way.op << ": first derivatives lose nothing";
        }
}

// A gradient vanishes at every minimum: what is left of it there is rounding, and nobody misses its digits.
TEST(CancelledTerms, AreNotToldOfGradientsThatVanish) {
  Draw d(12);
  const Tensor a = d.normal({4, 4});
  for (const Way& way : ways()) {
    const Tensor x = way.hermitian ? hermitian(a) : a;
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(square(way.product(x) - x));
    EXPECT_LT(max(abs(tape.gradient(y, x))).item<double>(), 1e-13);
    EXPECT_TRUE(tape.findings().empty()) << way.op;
  }
}

// A checkpoint computes its function again inside of a rule, and its gradients are still first ones.
TEST(CancelledTerms, AreNotToldOfVanishingGradientsInsideOfACheckpoint) {
  Draw d(13);
  const Tensor x = d.normal({4, 4}), w = d.normal({4, 4});
  const auto square_basis = [&](const Tensor& a) {
    const auto f = la::svd(a);
    return against(w, matmul(f.U, adjoint(f.U)));  // does not vary
  };
  GradientTape tape;
  tape.watch(x);
  (void)tape.gradient(checkpoint(square_basis, x), x);
  EXPECT_TRUE(tape.findings().empty());
}
}  // namespace
