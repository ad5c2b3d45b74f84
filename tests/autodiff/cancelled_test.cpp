// Second derivatives whose terms cancel: ‖A − T‖² written through factors of A has the Hessian 2, which is what is
// left of terms of size |T|/|A|.
#include <gtest/gtest.h>

#include "draws.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

enum class Kind { any, hermitian, positive };
struct Way {
  const char* op;
  Kind kind;
  Function product;  // the matrix, made of its factors
};
const std::vector<Way>& factorisations() {
  static const std::vector<Way> all{
      {"svd", Kind::any,
       [](const Tensor& a) {
         const auto f = la::svd(a, {.full_matrices = false});
         return matmul(f.U * row(f.S), f.Vh);
       }},
      {"eigh", Kind::hermitian,
       [](const Tensor& a) {
         const auto f = la::eigh(a);
         return matmul(f.eigenvectors * row(f.eigenvalues), adjoint(f.eigenvectors));
       }},
      {"qr", Kind::any,
       [](const Tensor& a) {
         const auto f = la::qr(a);
         return matmul(f.Q, f.R);
       }},
  };
  return all;
}
// What undoes itself without them.
const std::vector<Way>& compositions() {
  static const std::vector<Way> all{
      {"inv", Kind::positive, [](const Tensor& a) { return la::inv(la::inv(a)); }},
      {"cholesky", Kind::positive,
       [](const Tensor& a) {
         const Tensor l = la::cholesky(a);
         return matmul(l, adjoint(l));
       }},
      {"sqrtm", Kind::positive,
       [](const Tensor& a) {
         const Tensor r = la::sqrtm(a);
         return matmul(r, r);
       }},
      {"log", Kind::positive, [](const Tensor& a) { return where(a > 0, exp(log(where(a > 0, a, 1))), a); }},
  };
  return all;
}

struct Second {
  double off;
  std::vector<Finding> first, second;
};
Second second_derivative(const Way& way, Draw& d, const Dims& shape, double size, DType dtype,
                         std::optional<bool> verify = std::nullopt) {
  const auto matrix = [&] {
    const Tensor x = d.normal(shape, dtype);
    return way.kind == Kind::any ? x : hermitian(x);
  };
  Tensor a = matrix();
  if (way.kind == Kind::positive) a = matmul(a, adjoint(a)) + eye(shape[0], {.dtype = real_of(dtype)});
  a = a * size;
  const Tensor t = matrix(), v = matrix();
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor off = way.product(a) - t, g = inner.gradient(sum(real(conj(off) * off)), a);
  return {relative(outer.gradient(against(v, g), a, {.verify = verify}), 2 * v), inner.findings(), outer.findings()};
}

// Told where digits are missing, and as many as are; not told where terms of size |T|/|A| cannot cost that many.
// (Single answers are right by chance.)
void expect_told(const Second& s, const Way& way, DType dtype, double size, std::string_view op) {
  const double allowed = dtype == f32 ? 1e-3 : 1e-6, typical = finfo(real_of(dtype)).eps / size;
  const std::string where =
      std::string(way.op) + " " + std::string(name(dtype)) + " " + std::to_string(std::log10(size));
  if (s.off > 10 * allowed) {
    ASSERT_EQ(s.second.size(), 1U) << where << ": off by " << s.off;
  }
  if (typical < allowed / 1000) {
    EXPECT_TRUE(s.second.empty()) << where << ": off by " << s.off;
  }
  for (const Finding& f : s.second) {
    EXPECT_EQ(f.code, "WP-GRD-012");
    EXPECT_EQ(f.op, op);
    EXPECT_GT(f.measured, std::min(s.off / 30, 0.1)) << where;
    EXPECT_LT(f.measured, std::min(1e4 * typical, 1.001)) << where;
  }
}

constexpr double kSizes[] = {1.0, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-16, 1e-20, 1e-30};

TEST(CancelledTerms, AreToldWhereverTheyLeaveASecondDerivativeFewerThanSixDigits) {
  Draw d(11);
  for (const Way& way : factorisations())
    for (const DType dtype : {f64, c128, f32})
      for (const double size : kSizes)
        for (int k = 0; k < 8; ++k) {
          const std::int64_t n = 2 + k % 4, m = way.kind == Kind::any ? n + k % 3 : n;
          const Second s = second_derivative(way, d, {m, n}, size, dtype);
          expect_told(s, way, dtype, size, way.op);
          EXPECT_TRUE(s.first.empty()) << way.op << ": first derivatives lose nothing";
        }
}
TEST(CancelledTerms, OfAnyCompositionAreToldWhereVerifyAsksForIt) {
  Draw d(14);
  for (const Way& way : compositions())
    for (const double size : kSizes)
      for (int k = 0; k < 8; ++k) {
        const Second s = second_derivative(way, d, {2 + k % 4, 2 + k % 4}, size, f64, true);
        expect_told(s, way, f64, size, "gradient");
      }
}

// A gradient vanishes at every minimum: what is left of it there is rounding, and nobody misses its digits.
TEST(CancelledTerms, AreNotToldOfGradientsThatVanish) {
  Draw d(12);
  const Tensor a = d.normal({4, 4});
  for (const Way& way : factorisations()) {
    const Tensor x = way.kind == Kind::hermitian ? hermitian(a) : a;
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
