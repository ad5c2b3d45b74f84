// The references of small matrices are themselves right to some 28 digits.
#include <gtest/gtest.h>

#include <random>

#include "double_double.hpp"
#include "small_twins.hpp"

namespace {

using namespace double_double;

double apart(const Matrix& a, const Matrix& b) {
  double worst = 0;
  for (std::size_t e = 0; e < a.size(); ++e) worst = std::max(worst, std::fabs(static_cast<double>(a[e] - b[e])));
  return worst;
}
std::vector<double> rounded(const Matrix& a) {
  std::vector<double> out;
  for (const DD& v : a) out.push_back(v.high);
  return out;
}
Matrix random(int m, int n, std::mt19937_64& g) {
  std::normal_distribution<double> normal;
  Matrix a = zeros(m, n);
  for (DD& v : a) v = normal(g);
  return a;
}

TEST(DoubleDouble, QuotientsAndRootsAreRightTo31Digits) {
  std::mt19937_64 g(1);
  std::uniform_real_distribution<double> uniform(0.5, 2);
  for (int i = 0; i < 10000; ++i) {
    const DD a = DD(uniform(g)) + DD(uniform(g) * 0x1p-54), b = DD(uniform(g)) + DD(uniform(g) * 0x1p-54);
    EXPECT_LT(std::fabs(static_cast<double>(a / b * b - a)), 1e-31);
    EXPECT_LT(std::fabs(static_cast<double>(sqrt(a) * sqrt(a) - a)), 1e-31);
  }
}

TEST(DoubleDouble, InversesDeterminantsAndExponentialsSatisfyTheirEquations) {
  std::mt19937_64 g(2);
  for (const int n : {1, 2, 4, 8, 32}) {
    const Matrix a = random(n, n, g);
    const auto [x, det] = eliminate(n, a);
    EXPECT_LT(apart(product(n, n, n, a, x), identity(n)), 1e-26) << n;
    EXPECT_LT(std::fabs(static_cast<double>(eliminate(n, product(n, n, n, a, a)).det / (det * det) - 1.0)), 1e-25);
    const Matrix spd = product(n, n, n, a, transpose(n, n, a)), l = cholesky(n, spd);
    EXPECT_LT(apart(product(n, n, n, l, transpose(n, n, l)), spd), 1e-28 * largest(spd)) << n;
    Matrix minus = a;
    for (DD& v : minus) v = -v;
    const Matrix up = exponential(n, a), down = exponential(n, minus);
    EXPECT_LT(apart(product(n, n, n, up, down), identity(n)), 1e-30 * largest(up) * largest(down) * n) << n;
  }
}

TEST(DoubleDouble, SpectraAreThoseOfMatricesMadeFromThem) {
  std::mt19937_64 g(3);
  for (const int n : {1, 2, 4, 8, 32})
    for (const bool repeated : {false, true}) {
      const Matrix q = orthogonalized(n, [&] {
        const Matrix r = random(n, n, g);
        const auto f = small_twins::Qr::of(small_twins::Given<double>{n, n, 0, rounded(r), {}});
        return Matrix(f[0].begin(), f[0].end());
      }());
      EXPECT_LT(apart(product(n, n, n, transpose(n, n, q), q), identity(n)), 1e-29);
      Matrix values;
      for (int i = 0; i < n; ++i) values.emplace_back(repeated ? 1.0 + i / 2 : 1.0 + i);
      Matrix scaled = q;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) scaled[at(i, j, n)] = q[at(i, j, n)] * values[static_cast<std::size_t>(j)];
      const Matrix a = product(n, n, n, scaled, transpose(n, n, q));
      const auto near = small_twins::Eigh<true>::of(small_twins::Given<double>{n, n, 0, rounded(a), {}});
      const Matrix vectors(near[1].begin(), near[1].end());
      EXPECT_LT(apart(eigenvalues(n, a, vectors), values), 1e-27 * n) << n;
      const Svd f = svd(n, n, a, vectors);
      std::reverse(values.begin(), values.end());
      EXPECT_LT(apart(f.values, values), 1e-27 * n) << n;
      EXPECT_LT(apart(product(n, n, n, transpose(n, n, f.left), f.left), identity(n)), 1e-27 * n) << n;
    }
}

}  // namespace
