// Tikhonov's solutions against exact rationals: the error that is reported is at least the true one, and not much
// more. WELLPOSED_LONG_TESTS=1: ten times as many draws.
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

struct Problem {
  std::int64_t m, n;
  std::vector<double> a, b;
  double& at(std::int64_t i, std::int64_t j) { return a[static_cast<std::size_t>(i * n + j)]; }
  Tensor matrix() const { return Tensor::from(a, {m, n}); }
  Tensor right() const { return Tensor::from(b, {m}); }

  // (AᵀA + λ) x = Aᵀb, exactly. λ > 0.
  std::vector<double> exact(double ridge) const {
    rationals::Matrix normal(n, n), side(n, 1), x(n, 1);
    const auto entry = [&](std::int64_t i, std::int64_t j) {
      return Rational(a[static_cast<std::size_t>(i * n + j)]);
    };
    for (std::int64_t i = 0; i < n; ++i) {
      Rational right;
      for (std::int64_t k = 0; k < m; ++k) right += entry(k, i) * Rational(b[static_cast<std::size_t>(k)]);
      side.set(i, 0, right);
      for (std::int64_t j = 0; j < n; ++j) {
        Rational sum(i == j ? ridge : 0.0);
        for (std::int64_t k = 0; k < m; ++k) sum += entry(k, i) * entry(k, j);
        normal.set(i, j, sum);
      }
    }
    EXPECT_TRUE(x.solve(normal, side));
    std::vector<double> out;
    for (std::int64_t i = 0; i < n; ++i) out.push_back(x.get(i, 0).value());
    return out;
  }
};
double largest_error(const Tensor& x, const std::vector<double>& exact) {
  double most = 0, wrong = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double v = x.at(static_cast<std::int64_t>(i)).item<double>();
    most = std::max(most, std::fabs(v));
    wrong = std::max(wrong, std::fabs(v - exact[i]));
  }
  return wrong / most;
}

// Singular values from 1 to 1/condition along random directions; b in its range, or anywhere.
Problem drawn(std::mt19937& g) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<std::int64_t> size(1, 8);
  std::uniform_real_distribution<double> power(0, 14);
  Problem p{size(g), size(g), {}, {}};
  const std::int64_t k = std::min(p.m, p.n);
  const double condition = std::pow(10, power(g));
  p.a.assign(static_cast<std::size_t>(p.m * p.n), 0);
  for (std::int64_t s = 0; s < k; ++s) {
    std::vector<double> u, v;
    for (std::int64_t i = 0; i < p.m; ++i) u.push_back(normal(g));
    for (std::int64_t j = 0; j < p.n; ++j) v.push_back(normal(g));
    const double sigma = k > 1 ? std::pow(condition, -static_cast<double>(s) / static_cast<double>(k - 1)) : 1;
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j)
        p.at(i, j) += sigma * u[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)];
  }
  const bool consistent = g() % 2 == 0;
  std::vector<double> x;
  for (std::int64_t j = 0; j < p.n; ++j) x.push_back(normal(g));
  for (std::int64_t i = 0; i < p.m; ++i) {
    double sum = consistent ? 0 : normal(g);
    for (std::int64_t j = 0; j < p.n && consistent; ++j) sum += p.at(i, j) * x[static_cast<std::size_t>(j)];
    p.b.push_back(sum);
  }
  return p;
}
std::vector<Problem> hard() {
  std::vector<Problem> out;
  const auto add = [&](std::int64_t m, std::int64_t n, auto entry) {
    Problem p{m, n, {}, {}};
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) p.a.push_back(entry(static_cast<double>(i), static_cast<double>(j)));
    for (std::int64_t i = 0; i < m; ++i) p.b.push_back(i % 3 == 0 ? 1.0 : -0.5 * static_cast<double>(i));
    out.push_back(p);
  };
  for (const std::int64_t n : {3, 6, 10}) {
    add(n, n, [](double i, double j) { return 1 / (i + j + 1); });                       // Hilbert
    add(n + 3, n, [](double i, double j) { return std::pow((i + 1) / 4, j); });          // Vandermonde
    add(n, n, [](double i, double j) { return i == j ? 1 : j == i + 1 ? 1e6 : 0.0; });   // Jordan
    add(n, n, [](double i, double j) { return std::pow(10, -i) / (i + j + 1); });        // graded
    add(n, n, [](double i, double j) { return (i + 1) * (j + 1); });                     // rank 1
    add(n, n + 2, [](double i, double j) { return std::cos(3 * i * j + i) * 1e-150; });  // small
    add(n + 2, n, [](double i, double j) { return std::sin(i * i + 5 * j) * 1e100; });   // large
    add(n, n, [n](double i, double j) {                                                  // Kahan
      return j < i ? 0 : std::pow(0.9, i) * (i == j ? 1 : -std::sqrt(1 - 0.81));
    });
  }
  return out;
}

TEST(Ridge, ErrorsOfAnswersAreAtLeastTheTrueOnesAndNotMuchMore) {
  std::mt19937 g(5);
  std::vector<Problem> all = hard();
  for (int i = 0; i < (long_tests() ? 4000 : 400); ++i) all.push_back(drawn(g));
  std::uniform_real_distribution<double> power(-18, 2);
  std::vector<double> times;
  int judged = 0;
  for (const Problem& p : all) {
    const double size = la::matrix_norm(p.matrix()).item<double>();
    const double ridge = std::pow(10, power(g)) * size * size;
    if (!(ridge > 1e-290) || std::isinf(ridge)) continue;
    const auto [x, d] = la::diagnosed::lstsq(p.matrix(), p.right(), {.ridge = ridge});
    const double wrong = largest_error(x, p.exact(ridge)), told = d[0].forward_error;
    ASSERT_LE(wrong, told) << p.m << " × " << p.n << " λ " << ridge << " " << p.matrix();
    EXPECT_EQ(d[0].ridge, ridge);
    EXPECT_EQ(d[0].status == la::Status::ok, d[0].digits >= 6) << d;
    if (told < 0.1) times.push_back(told / std::max(wrong, 0x1p-53));
    ++judged;
  }
  EXPECT_GE(judged, 400);
  std::sort(times.begin(), times.end());
  EXPECT_LE(times[times.size() / 2], 1e3);
  RecordProperty("median", std::to_string(times[times.size() / 2]));
  RecordProperty("worst", std::to_string(times.back()));
}

TEST(Ridge, RulesAndPoliciesGiveAnswersWithErrorsToo) {
  const Tensor a{{1.0, 1.0}, {1.00001, 1.00001}}, b{1.0, 2.0};
  for (const char* rule : {"auto", "gcv", "l-curve"}) {
    const la::Member m = la::diagnosed::lstsq(a, b, {.ridge = rule}).diagnosis[0];
    EXPECT_TRUE(m.forward_error > 0) << rule;
    EXPECT_TRUE(m.digits >= 1) << rule;
  }
  EXPECT_GE(la::diagnosed::lstsq(a, b, {.ridge = "discrepancy", .noise = 0.8}).diagnosis[0].digits, 1);
  const la::Member bent = la::diagnosed::solve(a, b, {.if_ill = "ridge"}).diagnosis[0];
  EXPECT_EQ(bent.status, la::Status::singular);  // of the matrix; digits are those of the answer
  EXPECT_GE(bent.digits, 6);
  EXPECT_LT(bent.forward_error, 1e-6);
  EXPECT_GE(la::diagnosed::solve(a, b, {.ridge = 1e-6}).diagnosis[0].digits, 6);
  EXPECT_GE(la::diagnosed::inv(a, {.ridge = "auto"}).diagnosis[0].digits, 6);
  EXPECT_GE(la::diagnosed::solve(a, b, {.if_ill = "pinv"}).diagnosis[0].digits, 6);
}

TEST(Ridge, OfTheMatrixThatIsMeant) {
  const Tensor a{{1.0, 7.0}, {1.0, 3.0}}, b{1.0, 2.0};
  const Tensor shifted = a + eye(2) * 0.5;
  const auto same = [](const Tensor& x, const Tensor& y) { return max(abs(x - y)).item<double>() < 1e-14; };
  EXPECT_TRUE(same(la::solve(a, b, {.ridge = 0.1, .shift = 0.5}), la::solve(shifted, b, {.ridge = 0.1})));
  EXPECT_TRUE(same(la::solve(a, b, {.ridge = 0.1, .assume = "lower"}), la::solve(tril(a), b, {.ridge = 0.1})));
  EXPECT_TRUE(same(la::solve(a, b, {.ridge = 0.1, .assume = "symmetric"}),
                   la::solve((a + matrix_transpose(a)) * 0.5, b, {.ridge = 0.1})));
  EXPECT_FALSE(same(la::solve(a, b, {.ridge = 0.1, .shift = 0.5}), la::solve(a, b, {.ridge = 0.1})));
}

// Too little of a ridge for an answer that hangs on the last digits.
TEST(Ridge, AnAnswerOfFewDigitsIsToldAndItsNeighbourIsNot) {
  const Tensor a{{1.0, 1.0}, {1.0, 1.0 + 1e-9}}, b{1.0, 2.0};
  EXPECT_EQ(la::diagnosed::lstsq(a, b, {.ridge = 1e-24}).diagnosis.status(), la::Status::ill_conditioned);
  EXPECT_EQ(la::diagnosed::lstsq(a, b, {.ridge = 1e-6}).diagnosis.status(), la::Status::ok);
}

TEST(Ridge, DiscrepancyMeetsSmallNoiseToo) {
  const Tensor a{{2.0, 1.0}, {1.0, 3.0}}, b{1.0, 4.0};
  for (const double noise : {1.0, 1e-2, 1e-4, 1e-8, 1e-12}) {
    const auto [x, d] = la::diagnosed::lstsq(a, b, {.ridge = "discrepancy", .noise = noise});
    const double lambda = d[0].ridge;  // |A x − b| = λ |(A Aᵀ + λ)⁻¹ b|
    const double p = 5 + lambda, q = 5, r = 10 + lambda, det = p * r - q * q;
    const double rest = lambda * std::hypot((r * 1 - q * 4) / det, (p * 4 - q * 1) / det);
    EXPECT_NEAR(rest / noise, 1, 1e-9) << noise;
  }
}

}  // namespace
