// Hessian-vector products of losses of degree k: those of 2ˢ A are 2^(s(k−2)) times those of A, to the bit, as long
// as what is computed on the way is in range. Where it is not, a finding or an error says so.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "listening.hpp"
#include "spectra.hpp"
#include "table.hpp"

namespace {
using namespace wp;
namespace la = linalg;
using Function = std::function<Tensor(const Tensor&)>;

struct Twice {
  Tensor slope, along;
  std::vector<Finding> found;
  bool told(std::string_view code) const {
    return std::any_of(found.begin(), found.end(), [&](const Finding& f) { return f.code == code; });
  }
};
Twice twice(const Function& f, const Tensor& a, const Tensor& v) {
  const tests::Listening quiet;
  GradientTape outer, inner;
  outer.watch(a);
  inner.watch(a);
  const Tensor g = inner.gradient(f(a), a);
  Twice t{g, outer.gradient(against(v, g), a, {.unconnected = "zero"}), inner.findings()};
  for (const Finding& each : outer.findings()) t.found.push_back(each);
  return t;
}

// ⟨K, f_k(A)⟩, of degree k in A, by way of factors.
struct Loss {
  const char* name;
  int degree;
  bool hermitian;
  std::function<Tensor(const Tensor& A, const Tensor& K)> of;
};
Tensor powered(const Tensor& s, int k) {
  Tensor y = s;
  for (int i = 1; i < k; ++i) y = y * s;
  return y;
}
std::vector<Loss> losses(int degree) {
  return {
      {"svd", degree, false,
       [=](const Tensor& A, const Tensor& K) {
         const auto f = la::svd(A, {.full_matrices = false});
         return against(K, matmul(f.U * row(powered(f.S, degree)), f.Vh));
       }},
      {"eigh", degree, true,
       [=](const Tensor& A, const Tensor& K) {
         const auto e = la::eigh(A);
         return against(K, matmul(e.eigenvectors * row(powered(e.eigenvalues, degree)), adjoint(e.eigenvectors)));
       }},
      {"eig", degree, false,
       [=](const Tensor& A, const Tensor& K) {
         const auto e = la::eig(A);
         const Tensor y = matmul(e.eigenvectors * row(powered(e.eigenvalues, degree)), la::inv(e.eigenvectors));
         return against(K, is_complex(A.dtype()) ? y : real(y));
       }},
      {"qr", degree, false,
       [=](const Tensor& A, const Tensor& K) {
         const auto f = la::qr(A);
         Tensor y = f.R;
         for (int i = 1; i < degree; ++i) y = matmul(y, i % 2 ? adjoint(f.R) : f.R);
         return against(K, y);
       }},
      {"svdvals", degree, false,
       [=](const Tensor& A, const Tensor& K) { return sum(powered(la::svdvals(A), degree) * real(K[{0}])); }},
      {"matmul", degree, false,
       [=](const Tensor& A, const Tensor& K) {
         Tensor y = A;
         for (int i = 1; i < degree; ++i) y = matmul(y, A);
         return against(K, y);
       }},
  };
}

Tensor point(bool hermitian_one, const std::vector<double>& s, DType dtype) {
  Draw d(31);
  const DType wide = is_complex(dtype) ? c128 : f64;
  const auto n = static_cast<std::int64_t>(s.size());
  const Tensor A = hermitian_one ? d.with_eigenvalues(s, wide) : d.with_values(n, n, s, wide);
  return astype(A, dtype);
}

TEST(Scales, OfHessianProductsAreThoseOfTheirDegrees) {
  const std::vector<std::vector<double>> spectra{{3, 2, 0.5}, {2, 2, 1}, {2, 2 - 1e-9, 1}, {1.5, 1e-4, 5e-5}};
  for (const DType dtype : {f64, c128, f32})
    for (const int degree : {1, 2, 3})
      for (const Loss& l : losses(degree))
        for (const std::vector<double>& s : spectra) {
          const Tensor a = point(l.hermitian, s, dtype);
          Draw d(32);
          const Tensor k = astype(d.normal(a.shape(), is_complex(dtype) ? c128 : f64), dtype),
                       v = astype(hermitian(d.normal(a.shape(), is_complex(dtype) ? c128 : f64)), dtype);
          const Function f = [&](const Tensor& x) { return l.of(x, k); };
          const Twice plain = twice(f, a, v);
          for (const int e : dtype == f32 ? std::array{-30, 30} : std::array{-300, 300}) {
            const Twice scaled = twice(f, a * std::ldexp(1.0, e), v);
            const std::string where =
                say(l.name, " of ", dtype, ", degree ", degree, ", values ", s[0], " ", s[1], " ", s[2], ", 2^", e);
            EXPECT_TRUE(table::same_bits(scaled.slope, plain.slope * std::ldexp(1.0, e * (degree - 1)))) << where;
            EXPECT_TRUE(table::same_bits(scaled.along, plain.along * std::ldexp(1.0, e * (degree - 2))))
                << where << "\n"
                << scaled.along * std::ldexp(1.0, -e * (degree - 2)) << "\n"
                << plain.along;
            EXPECT_EQ(scaled.told("WP-GRD-012"), plain.told("WP-GRD-012")) << where;
          }
        }
}

// The gradient of a loss of degree 4 at 2^-300 is 2^-900, but what the loss makes of the vectors, 2^-1200, is 0 in
// f64. Right, or told.
TEST(Scales, OfCotangentsThatUnderflowAreTold) {
  int told = 0;
  for (const int degree : {3, 4, 5})
    for (const Loss& l : losses(degree))
      for (const int e : {-150, -200, -230, -250, -270, -300, -340}) {
        const Tensor a = point(l.hermitian, {3, 2, 0.5}, f64);
        Draw d(32);
        const Tensor k = d.normal(a.shape()), v = hermitian(d.normal(a.shape()));
        const Function f = [&](const Tensor& x) { return l.of(x, k); };
        const Twice plain = twice(f, a, v), scaled = twice(f, a * std::ldexp(1.0, e), v);
        const auto off = [&](const Tensor& found, const Tensor& right, int power) {
          if ((degree - 1) * e < -960) return 0.0;  // the gradient itself is not in range
          return relative(found * std::ldexp(1.0, -power * e / 2) * std::ldexp(1.0, -power * e / 2), right);
        };
        const bool silent = !scaled.told("WP-GRD-012");
        const std::string where = say(l.name, ", degree ", degree, ", 2^", e);
        EXPECT_TRUE(!silent || off(scaled.slope, plain.slope, degree - 1) < 1e-6)
            << where << ": gradient off by " << off(scaled.slope, plain.slope, degree - 1);
        EXPECT_TRUE(!silent || off(scaled.along, plain.along, degree - 2) < 1e-6)
            << where << ": product off by " << off(scaled.along, plain.along, degree - 2);
        told += !silent;
        EXPECT_TRUE(silent || degree > 3 || e < -300) << where;
      }
  EXPECT_GT(told, 0);
}
}  // namespace
