// Proved error bounds of least squares against exact rationals. WELLPOSED_LONG_TESTS=1: 10 000 draws instead of 400.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "long_tests.hpp"
#include "rationals.hpp"
#include "tensors.hpp"

namespace {
using namespace wp;
namespace la = wp::linalg;
using rationals::Rational;

template <class T>
struct Draw {
  std::int64_t m, n;
  std::vector<T> a, b;
  double condition;

  Draw(std::mt19937& g, double most) {
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<std::int64_t> size(1, 9);
    std::uniform_real_distribution<double> power(0, most);
    m = size(g);
    n = size(g);
    condition = std::pow(10, power(g));
    const std::int64_t k = std::min(m, n);
    std::vector<double> wide(static_cast<std::size_t>(m * n), 0);
    for (std::int64_t s = 0; s < k; ++s) {
      std::vector<double> u, v;
      for (std::int64_t i = 0; i < m; ++i) u.push_back(normal(g));
      for (std::int64_t j = 0; j < n; ++j) v.push_back(normal(g));
      const double sigma = k > 1 ? std::pow(condition, -static_cast<double>(s) / static_cast<double>(k - 1)) : 1;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          wide[static_cast<std::size_t>(i * n + j)] +=
              sigma * u[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)];
    }
    for (const double v : wide) a.push_back(static_cast<T>(v));
    for (std::int64_t i = 0; i < m; ++i) b.push_back(static_cast<T>(normal(g)));
  }
  Rational entry(std::int64_t i, std::int64_t j) const {
    return Rational(static_cast<double>(a[static_cast<std::size_t>(i * n + j)]));
  }
  // AᵀA x = Aᵀb, or x = Aᵀy with A Aᵀ y = b; λ: (AᵀA + λ) x = Aᵀb. Empty: of lesser rank.
  std::vector<Rational> exact(double ridge = 0) const {
    const bool wide = m < n && ridge == 0;
    const std::int64_t k = wide ? m : n, inner = wide ? n : m;
    const auto at = [&](std::int64_t i, std::int64_t j) { return wide ? entry(j, i) : entry(i, j); };
    rationals::Matrix normal(k, k), side(k, 1), y(k, 1);
    for (std::int64_t i = 0; i < k; ++i) {
      Rational right;
      for (std::int64_t r = 0; r < m && !wide; ++r)
        right += at(r, i) * Rational(static_cast<double>(b[static_cast<std::size_t>(r)]));
      side.set(i, 0, wide ? Rational(static_cast<double>(b[static_cast<std::size_t>(i)])) : right);
      for (std::int64_t j = 0; j < k; ++j) {
        Rational sum(i == j ? ridge : 0.0);
        for (std::int64_t r = 0; r < inner; ++r) sum += at(r, i) * at(r, j);
        normal.set(i, j, sum);
      }
    }
    std::vector<Rational> out;
    if (!y.solve(normal, side)) return out;
    for (std::int64_t j = 0; j < n; ++j) {
      Rational v;
      for (std::int64_t i = 0; i < m && wide; ++i) v += entry(i, j) * y.get(i, 0);
      out.push_back(wide ? v : y.get(j, 0));
    }
    return out;
  }
};

struct Outcome {
  int draws = 0, certified = 0, good = 0, good_certified = 0, wide_bounds = 0;
};

// Whether bounds contain the exact answers, in exact arithmetic.
template <class T>
Outcome judge(int draws, double most, double ridge, unsigned seed, double good_condition) {
  std::mt19937 g(seed);
  Outcome out;
  for (int t = 0; t < draws; ++t) {
    const Draw<T> p(g, most);
    const Tensor a = Tensor::from(p.a, {p.m, p.n}), b = Tensor::from(p.b, {p.m});
    const auto [x, d] = ridge > 0 ? la::diagnosed::lstsq(a, b, {.ridge = ridge, .certify = true})
                                  : la::diagnosed::lstsq(a, b, {.certify = true});
    ++out.draws;
    const bool good = p.condition <= good_condition;
    out.good += good;
    if (!d[0].certified) continue;
    ++out.certified;
    out.good_certified += good;
    const std::vector<Rational> exact = p.exact(ridge);
    EXPECT_FALSE(exact.empty());
    if (exact.empty()) return out;
    Rational largest, wrong;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const Rational v(static_cast<double>(x.at(static_cast<std::int64_t>(i)).item<T>()));
      if (largest < v.size()) largest = v.size();
      const Rational off = (v - exact[i]).size();
      if (wrong < off) wrong = off;
    }
    EXPECT_TRUE(wrong <= Rational(d[0].forward_error) * largest) << p.m << " × " << p.n << " " << a << b;
    const double u = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53, true_error = (wrong / largest).value();
    out.wide_bounds += good && d[0].forward_error > 100 * std::max(true_error, u);
  }
  return out;
}

TEST(CertifiedLeastSquares, BoundsContainTheExactAnswer) {
  const int draws = long_tests() ? 10000 : 400;
  // Beyond a condition of 1e4, f32 drops singular values by the default rtol: then nothing can be proved.
  const Outcome f64_ = judge<double>(draws, 14, 0, 1, 1e10), f32_ = judge<float>(draws / 4, 6, 0, 2, 1e4),
                ridged = judge<double>(draws / 2, 14, 1e-5, 3, 1e10);
  for (const Outcome& o : {f64_, f32_, ridged}) {
    EXPECT_GE(o.good_certified, 0.95 * o.good) << o.draws;
    EXPECT_LE(o.wide_bounds, 0.05 * o.good) << o.good;
  }
  EXPECT_GE(f64_.certified, 0.6 * f64_.draws);
}

TEST(CertifiedLeastSquares, IsSaidToBeImpossibleWhereTheRankIsNotFull) {
  const Tensor a{{1.0, 1.0}, {2.0, 2.0}, {3.0, 3.0}}, b{1.0, 2.0, 4.0}, full{{1.0, 1.0}, {2.0, 2.5}, {3.0, 3.0}};
  EXPECT_FALSE(la::diagnosed::lstsq(a, b, {.certify = true}).diagnosis[0].certified);
  const auto findings = matrices::told([&] { la::lstsq(a, b, {.certify = true}); });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "WP-LIN-009");
  EXPECT_NE(findings[0].message.find("full rank"), std::string::npos) << findings[0].message;
  EXPECT_TRUE(matrices::told([&] { la::lstsq(full, b, {.certify = true}); }).empty());
  const la::Diagnosis d = la::diagnosed::lstsq(full, b, {.certify = true}).diagnosis;
  EXPECT_TRUE(d[0].certified);
  EXPECT_NE(d.text().find("Error proved below"), std::string::npos) << d;
}

TEST(CertifiedLeastSquares, TakesComplexMatricesStacksAndManyRightHandSides) {
  std::mt19937 g(8);
  std::normal_distribution<double> normal;
  std::vector<complex128> a, b;
  for (int e = 0; e < 3 * 7 * 4; ++e) a.push_back({normal(g), normal(g)});
  for (int e = 0; e < 3 * 7 * 2; ++e) b.push_back({normal(g), normal(g)});
  const Tensor x = Tensor::from(a, {3, 7, 4}), y = Tensor::from(b, {3, 7, 2});
  const auto [got, d] = la::diagnosed::lstsq(x, y, {.certify = true});
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(d[i].certified);
    EXPECT_LT(d[i].forward_error, 1e-14);
  }
  const auto wide = la::diagnosed::lstsq(matrix_transpose(x), y[{slice(), slice(0, 4), slice()}], {.certify = true});
  EXPECT_TRUE(wide.diagnosis[2].certified);
  EXPECT_TRUE(la::diagnosed::lstsq(zeros({3, 0}), ones({3}), {.certify = true}).diagnosis.ok());
}

}  // namespace
