// Eigenvalues and singular values of matrices whose elements lie far apart, against exact rationals.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rationals.hpp"
#include "tensors.hpp"

namespace {

using namespace wp;
namespace la = wp::linalg;
using la::Status;
using rationals::below;
using rationals::Rational;

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}
Tensor diagonal(const std::vector<double>& d) {
  const auto n = static_cast<std::int64_t>(d.size());
  std::vector<double> a(at(n * n));
  for (std::int64_t i = 0; i < n; ++i) a[at(i * (n + 1))] = d[at(i)];
  return Tensor::from(a, {n, n});
}

// Rising values w of a symmetric matrix are within their errors of its eigenvalues.
void expect_within(const std::vector<Rational>& exact, std::int64_t n, const std::vector<Rational>& low,
                   const std::vector<Rational>& high) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto count = [&](Rational x, double push) {
      for (;; push *= 2) {  // the neighbouring x if a pivot vanishes
        if (const auto c = below(exact, n, x); c >= 0) return c;
        x += Rational(push);
      }
    };
    EXPECT_LE(count(low[at(i)], -4.9e-324), i) << i;
    EXPECT_GE(count(high[at(i)], 4.9e-324), i + 1) << i;
  }
}
// The worst error of an eigenvalue that is told, relative to it.
double check_eigvalsh(const std::vector<double>& a, std::int64_t n, const char* accuracy = "normal") {
  const auto [value, d] = la::diagnosed::eigvalsh(Tensor::from(a, {n, n}), {.accuracy = accuracy});
  EXPECT_EQ(d.status(), Status::ok) << d;
  const auto w = value.to_vector<double>(), e = d[0].value_error.to_vector<double>();
  std::vector<Rational> exact, low, high;
  for (const double v : a) exact.push_back(v == 0 ? Rational() : Rational(v));
  double worst = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    low.push_back(Rational(w[i]) - Rational(e[i] * (1 + 1e-9)));
    high.push_back(Rational(w[i]) + Rational(e[i] * (1 + 1e-9)));
    worst = std::max(worst, e[i] / std::fabs(w[i]));
  }
  expect_within(exact, n, low, high);
  return worst;
}

TEST(RangeOfValues, EigenvaluesOfSymmetricMatricesKeepTheirDigits) {
  for (const double e : {150.0, 200.0, 300.0}) {
    const double large = std::pow(10, e), small = std::pow(10, -e);
    EXPECT_LE(check_eigvalsh({large, 0, 0, small}, 2), 1e-13) << e;
    EXPECT_LE(check_eigvalsh({small, 0, 0, large}, 2), 1e-13) << e;
    EXPECT_LE(check_eigvalsh({large, 0.5, 0.5, 3 * small}, 2), 1e-13) << e;
    EXPECT_LE(check_eigvalsh({large, 0, 0, 0, -1, 0, 0, 0, small}, 3), 1e-12) << e;
    EXPECT_LE(check_eigvalsh({2 * large, std::sqrt(large), 0.25, std::sqrt(large), 3, std::sqrt(small), 0.25,
                              std::sqrt(small), 5 * small},
                             3),
              1e-12)
        << e;
    EXPECT_LE(check_eigvalsh({2 * large, std::sqrt(large), 0.25, std::sqrt(large), -3, std::sqrt(small), 0.25,
                              std::sqrt(small), 5 * small},
                             3, "high"),
              1e-12)
        << e;
  }
}

// σ² are the eigenvalues of AᵀA.
double check_svdvals(const std::vector<double>& a, std::int64_t n) {
  const auto [value, d] = la::diagnosed::svdvals(Tensor::from(a, {n, n}), {.accuracy = "high"});
  EXPECT_EQ(d.status(), Status::ok) << d;
  const auto s = value.to_vector<double>(), e = d[0].value_error.to_vector<double>();
  std::vector<Rational> product(at(n * n)), low, high;
  const auto element = [&](std::int64_t i, std::int64_t j) {
    const double v = a[at(i * n + j)];
    return v == 0 ? Rational() : Rational(v);
  };
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < n; ++k) product[at(i * n + j)] += element(k, i) * element(k, j);
  double worst = 0;
  for (std::size_t i = s.size(); i-- > 0;) {  // falling
    const Rational off(e[i] * (1 + 1e-9)), x(s[i]);
    const Rational least = x - off, most = x + off;
    low.push_back(least < Rational() ? Rational() - Rational(1e-300) : least * least);
    high.push_back(most * most);
    worst = std::max(worst, e[i] / s[i]);
  }
  expect_within(product, n, low, high);
  return worst;
}
TEST(RangeOfValues, SingularValuesOfHighAccuracyKeepTheirDigits) {
  for (const double e : {150.0, 200.0, 300.0}) {
    const double large = std::pow(10, e), small = std::pow(10, -e);
    EXPECT_LE(check_svdvals({large, 0, 0, small}, 2), 1e-13) << e;
    EXPECT_LE(check_svdvals({0, small, large, 0}, 2), 1e-13) << e;
    EXPECT_LE(check_svdvals({large, 2 * large, small, -small}, 2), 1e-12) << e;
    EXPECT_LE(check_svdvals({large, 2 * large, large, 3, 1, -1, 5 * small, small, 2 * small}, 3), 1e-12) << e;
  }
  for (const Tensor& a : {Tensor{{1.0, 2.0}, {5e-322, -3e-322}}, Tensor{{1.0f, 2.0f}, {5e-44f, -3e-44f}}}) {
    const auto [few, d] = la::diagnosed::svdvals(a, {.accuracy = "high"});
    EXPECT_EQ(d.status(), Status::overflow) << few << d;
    EXPECT_NE(d[0].message.find("which leaves 2 digits"), std::string::npos) << d[0].message;
    EXPECT_TRUE(la::diagnosed::svdvals(a).diagnosis.ok());  // beside σ₁ that is nothing
  }
  const auto [zero, d] = la::diagnosed::svdvals(Tensor{{1.0, 1e-200}, {1e-200, 0.0}}, {.accuracy = "high"});
  EXPECT_GE(d[0].value_error.at(1).item<double>(), 1e-17) << zero;  // of 1e-400: nothing is known of it
}
TEST(RangeOfValues, SingularValuesOfNormalAccuracyPromiseOnlyWhatTheyKeep) {
  for (const Tensor& a :
       {Tensor{{1.0, 1e-200}, {1e-200, 0.0}}, diagonal({1e200, 1e-200}), diagonal({1e300, 1.0, 1e-300})}) {
    const auto [s, d] = la::diagnosed::svdvals(a);
    EXPECT_EQ(d.status(), Status::ok) << d;
    EXPECT_GE(d[0].value_error.at(s.size() - 1).item<double>(), 1e-16 * s.at(0).item<double>());
  }
}

// Eigenvalues in the order of their sizes.
std::vector<complex128> values_of(const Tensor& w) {
  std::vector<complex128> out = w.to_vector<complex128>();
  std::sort(out.begin(), out.end(), [](complex128 x, complex128 y) {
    return std::abs(x) != std::abs(y) ? std::abs(x) > std::abs(y) : x.real() > y.real();
  });
  return out;
}
TEST(RangeOfValues, EigenvaluesThatStandOnADiagonalAreExact) {
  for (const double e : {150.0, 200.0, 300.0}) {
    const double large = std::pow(10, e), small = std::pow(10, -e);
    for (const Tensor& a : {diagonal({large, small}), diagonal({small, large}), Tensor{{small, 0.0}, {1.0, large}},
                            Tensor{{large, 1.0}, {0.0, small}}}) {
      const auto [f, d] = la::diagnosed::eig(a);
      EXPECT_EQ(d.status(), Status::ok) << d;
      const auto w = values_of(f.eigenvalues);
      EXPECT_EQ(w[0], complex128(large)) << a;
      EXPECT_EQ(w[1], complex128(small)) << a;
      EXPECT_EQ(values_of(la::eigvals(a)), w);
      for (std::int64_t i = 0; i < 2; ++i) EXPECT_EQ(d[0].value_error.at(i).item<double>(), 0) << a;
    }
    const auto w = values_of(la::eigvals(diagonal({large, 1, small, -1, 0})));
    EXPECT_EQ(w, (std::vector<complex128>{large, 1, -1, small, 0}));
  }
}
TEST(RangeOfValues, EigenvaluesThatScalingBringsTogetherAreRight) {
  for (const double e : {150.0, 200.0, 300.0})
    for (const bool turned : {false, true}) {
      const double large = std::pow(10, e), small = std::pow(10, -e);
      const Tensor a = turned ? Tensor{{0.0, small}, {large, 0.0}} : Tensor{{0.0, large}, {small, 0.0}};
      const auto [f, d] = la::diagnosed::eig(a);
      EXPECT_EQ(d.status(), Status::ok) << d;
      const double root = std::sqrt((Rational(large) * Rational(small)).value());
      for (std::int64_t i = 0; i < 2; ++i) {
        const complex128 w = f.eigenvalues.at(i).item<complex128>();
        EXPECT_NEAR(std::abs(w.real()), root, 1e-14) << w;
        EXPECT_EQ(w.imag(), 0);
        EXPECT_LE(d[0].value_error.at(i).item<double>(), 1e-13);
        // A v = λ v, each row in its own units
        for (std::int64_t r = 0; r < 2; ++r) {
          const complex128 v = f.eigenvectors[{r, i}].item<complex128>(),
                           u = f.eigenvectors[{1 - r, i}].item<complex128>();
          const double beside = r == (turned ? 1 : 0) ? large : small;
          if (std::abs(v) > 1e-290 && std::abs(u) > 1e-290) {
            EXPECT_NEAR(std::abs(beside * u / (w * v) - 1.0), 0, 1e-13);
          }
        }
      }
    }
  // With a third row that is tied to both.
  const auto [w, d] = la::diagnosed::eigvals(Tensor{{0.0, 1e300, 1.0}, {1e-300, 0.0, 0.0}, {0.0, 0.0, 5.0}});
  const auto values = values_of(w);
  EXPECT_EQ(values[0], complex128(5));
  EXPECT_NEAR(values[1].real(), 1, 1e-14);
  EXPECT_NEAR(values[2].real(), -1, 1e-14);
}
TEST(RangeOfValues, AValueThatTheNormHidesIsNotGivenAsSure) {
  // [[1e300, 1], [1, 1e-300]]: the product of the values is 0 exactly, but for rounding of 1e±300.
  const Tensor a{{1e300, 1.0}, {1.0, 1e-300}};
  const auto [w, d] = la::diagnosed::eigvals(a);
  const auto e = d[0].value_error;
  const auto values = w.to_vector<complex128>();
  for (std::int64_t i = 0; i < 2; ++i)
    if (std::abs(values[at(i)]) < 1) {
      EXPECT_GE(e.at(i).item<double>(), 1e-301);
    }
}

}  // namespace
