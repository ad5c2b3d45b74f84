// Changes of basis and of units: the gradient of ⟨K, A Aᴴ A⟩ or ⟨K, A³⟩, written with factors of a matrix that has
// repeated and vanishing values, turns with the matrix and scales with it.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "draws.hpp"
#include "listening.hpp"

namespace wp {
namespace {

struct Route {
  const char* name;
  bool square;                       // of square matrices, which turn by A ↦ P A Pᴴ; else by A ↦ P A Qᴴ
  bool hermitian;                    // reads one triangle: gradients are compared by their Hermitian parts
  bool divides;                      // second derivatives divide by pivots, and say where that takes their digits
  std::size_t spectra;               // how many of `ties`: vectors of the last may be nearly dependent by eig
  Tensor (*power)(const Tensor& A);  // A Aᴴ A, or of square matrices A³
};
const Route routes[] = {
    {"svd", false, false, false, 5,
     [](const Tensor& A) {
       const auto f = linalg::svd(A, {.full_matrices = false});
       return matmul(f.U * row(f.S * f.S * f.S), f.Vh);
     }},
    {"qr", false, false, true, 5,
     [](const Tensor& A) {
       const auto f = linalg::qr(A);
       return matmul(f.Q, times(f.R, adjoint(f.R), f.R));
     }},
    {"eigh", true, true, false, 5,
     [](const Tensor& A) {
       const auto e = linalg::eigh(A);
       return matmul(e.eigenvectors * row(e.eigenvalues * e.eigenvalues * e.eigenvalues), adjoint(e.eigenvectors));
     }},
    {"eig", true, false, false, 4,
     [](const Tensor& A) {
       const auto e = linalg::eig(A);
       const Tensor l = e.eigenvalues;
       const Tensor y = times(e.eigenvectors * row(l * l * l), linalg::inv(e.eigenvectors), eye(A.shape(-1)));
       return is_complex(A.dtype()) ? y : real(y);
     }},
};

// ⟨K, ·⟩ of it, with derivatives in closed form.
Tensor gradient_of(const Route& r, const Tensor& A, const Tensor& K) {
  const Tensor B = adjoint(A);
  return r.square ? times(K, B, B) + times(B, K, B) + times(B, B, K)
                  : times(K, B, A) + times(A, adjoint(K), A) + times(A, B, K);
}
Tensor directed(const Route& r, const Tensor& A, const Tensor& K, const Tensor& V) {
  const Tensor B = adjoint(A), W = adjoint(V);
  if (r.square)
    return times(K, W, B) + times(K, B, W) + times(W, K, B) + times(B, K, W) + times(W, B, K) + times(B, W, K);
  const Tensor L = adjoint(K);
  return times(K, W, A) + times(K, B, V) + times(V, L, A) + times(A, L, V) + times(V, B, K) + times(A, W, K);
}

const std::vector<std::vector<double>> ties{
    {2, 2, 1, 0.5}, {2, 2, 2, 0}, {1, 1, 1, 1}, {2, 2 + 1e-9, 1, 1e-9}, {3, 3, 1e-5, 1e-5}};

struct Point {
  Tensor A, K, V;
};
Point point(const Route& r, const std::vector<double>& values, DType dtype, unsigned seed) {
  Draw d(seed);
  const std::int64_t n = 4, m = r.square ? n : 5;
  Point p{{}, d.normal({m, n}, dtype), d.normal({m, n}, dtype)};
  if (r.hermitian) {
    p.A = d.with_eigenvalues(values, dtype);
    p.V = hermitian(p.V);
  } else if (r.square) {  // vectors of condition about 3
    const Tensor X = d.with_values(n, n, {3, 2, 1.5, 1}, dtype);
    p.A = times(X * row(Tensor::from(values, {n})), linalg::inv(X), eye(n));
  } else {
    p.A = d.with_values(m, n, values, dtype);
  }
  return p;
}
Tensor part(const Route& r, const Tensor& g) {
  return r.hermitian ? hermitian(g) : g;
}
void expect_right(const Route& r, const Point& p, double first, double second, const std::string& where) {
  tests::Listening ears;
  const std::function<Tensor(const Tensor&)> f = [&](const Tensor& a) { return against(p.K, r.power(a)); };
  const auto wide = [](const Tensor& t) { return astype(t, is_complex(t.dtype()) ? c128 : f64); };
  const Tensor A = wide(p.A), K = wide(p.K), V = wide(p.V);
  EXPECT_LT(relative(part(r, wide(gradient_by(f, p.A))), part(r, gradient_of(r, A, K))), first) << r.name << where;
  ears.told.clear();
  const double off = relative(part(r, wide(hessian_product(f, p.A, p.V))), part(r, directed(r, A, K, V)));
  const bool told =
      std::any_of(ears.told.begin(), ears.told.end(), [](const Finding& x) { return x.code == "WP-GRD-012"; });
  EXPECT_TRUE(off < second || (r.divides && told)) << r.name << where << ": " << off;
}

class Invariance : public testing::TestWithParam<const Route*> {};

TEST_P(Invariance, GradientsTurnWithTheMatrixAtTies) {
  const Route& r = *GetParam();
  for (const DType dtype : {f64, c128})
    for (std::size_t k = 0; k < r.spectra; ++k)
      for (unsigned seed = 0; seed < 4; ++seed) {
        const Point p = point(r, ties[k], dtype, 10 * static_cast<unsigned>(k) + seed);
        Draw d(1000 + seed);
        const Tensor P = d.orthogonal(p.A.shape(0), p.A.shape(0), dtype),
                     Q = r.square ? P : d.orthogonal(p.A.shape(1), p.A.shape(1), dtype);
        const auto turned = [&](const Tensor& t) { return times(P, t, adjoint(Q)); };
        Point q{turned(p.A), turned(p.K), turned(p.V)};
        if (r.hermitian) q.A = hermitian(q.A);
        const std::string where = say(" of ", dtype, ", spectrum ", k, ", seed ", seed);
        expect_right(r, p, 3e-10, 1e-6, where);
        expect_right(r, q, 3e-10, 1e-6, where + ", turned");
      }
}
TEST_P(Invariance, GradientsScaleWithPowersOfTenAtTies) {
  const Route& r = *GetParam();
  for (const DType dtype : {f64, c128, f32, c64}) {
    const bool narrow = real_of(dtype) == f32;
    for (std::size_t k = 0; k < r.spectra; ++k)
      for (const int power : narrow ? std::vector<int>{-8, -3, 5, 8} : std::vector<int>{-60, -25, -7, 8, 33, 60}) {
        Point p = point(r, ties[k], is_complex(dtype) ? c128 : f64, 100 + static_cast<unsigned>(k));
        for (Tensor* const t : {&p.A, &p.K, &p.V}) *t = astype(t == &p.A ? *t * std::pow(10.0, power) : *t, dtype);
        expect_right(r, p, narrow ? 2e-4 : 3e-10, narrow ? 2e-2 : 1e-6,
                     say(" of ", dtype, ", spectrum ", k, ", scale 1e", power));
      }
  }
}
std::vector<const Route*> all_routes() {
  std::vector<const Route*> all;
  for (const Route& r : routes) all.push_back(&r);
  return all;
}
INSTANTIATE_TEST_SUITE_P(, Invariance, testing::ValuesIn(all_routes()),
                         [](const auto& p) { return std::string(p.param->name); });

}  // namespace
}  // namespace wp
