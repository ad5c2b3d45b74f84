// Branch cuts, symmetries and special values of the complex functions (C99 Annex G).
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/complex_math.hpp"

namespace wp::kernels {
namespace {

constexpr double pi = std::numbers::pi, inf = HUGE_VAL;
using Function = complex128 (*)(complex128);
struct Named {
  const char* name;
  Function f;
  bool odd = false;
};

const Named functions[] = {
    {"exp", complex_exp},           {"expm1", complex_expm1}, {"log", complex_log},
    {"log1p", complex_log1p},       {"log2", complex_log2},   {"log10", complex_log10},
    {"sin", complex_sin, true},     {"cos", complex_cos},     {"tan", complex_tan, true},
    {"asin", complex_asin, true},   {"acos", complex_acos},   {"atan", complex_atan, true},
    {"sinh", complex_sinh, true},   {"cosh", complex_cosh},   {"tanh", complex_tanh, true},
    {"asinh", complex_asinh, true}, {"acosh", complex_acosh}, {"atanh", complex_atanh, true},
};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// Beside a NaN, Annex G leaves the sign of the other part open.
bool mirrored(complex128 a, complex128 b, double re, double im) {
  if (std::isnan(a.real()) || std::isnan(a.imag())) return std::isnan(b.real()) || std::isnan(b.imag());
  return same(a.real(), re * b.real()) && same(a.imag(), im * b.imag());
}

TEST(ComplexMath, KeepsTheSymmetriesOfEachFunctionOnBothSidesOfEveryCut) {
  const double values[] = {0.0, 0.5, 1.0, 2.0, 1e-300, 1e300, inf};
  for (const Named& n : functions)
    for (const double a : values)
      for (const double b : values)
        for (const double x : {a, -a}) {
          const complex128 above = n.f({x, b}), below = n.f({x, -b}), across = n.f({-x, -b});
          EXPECT_TRUE(mirrored(above, below, 1, -1))
              << n.name << " at " << x << " ± " << b << "i: " << above << ", " << below;
          EXPECT_TRUE(!n.odd || mirrored(above, across, -1, -1))
              << n.name << " at ±(" << x << " + " << b << "i): " << above << ", " << across;
        }
}

void expect_near(complex128 got, double re, double im, const char* what) {
  EXPECT_NEAR(got.real(), re, 1e-15 * (1 + std::abs(re))) << what;
  EXPECT_NEAR(got.imag(), im, 1e-15 * (1 + std::abs(im))) << what;
}

TEST(ComplexMath, IsContinuousToTheCutFromTheSideOfTheSignedZero) {
  const double a2 = std::acosh(2.0), l3 = std::log(3.0) / 2;
  for (const double s : {0.0, -0.0}) {
    const double side = std::copysign(1.0, s);
    expect_near(complex_log({-2, s}), std::log(2.0), side * pi, "log");
    expect_near(complex_log2({-2, s}), 1, side * pi / std::log(2.0), "log2");
    expect_near(complex_log10({-10, s}), 1, side * pi / std::log(10.0), "log10");
    expect_near(complex_log1p({-3, s}), std::log(2.0), side * pi, "log1p");
    expect_near(complex_asin({2, s}), pi / 2, side * a2, "asin");
    expect_near(complex_asin({-2, s}), -pi / 2, side * a2, "asin");
    expect_near(complex_acos({2, s}), 0, -side * a2, "acos");
    expect_near(complex_acos({-2, s}), pi, -side * a2, "acos");
    expect_near(complex_atan({s, 2}), side * pi / 2, l3, "atan");
    expect_near(complex_asinh({s, 2}), side * a2, pi / 2, "asinh");
    expect_near(complex_acosh({-2, s}), a2, side * pi, "acosh");
    expect_near(complex_acosh({0.5, s}), 0, side * pi / 3, "acosh");
    expect_near(complex_atanh({2, s}), l3, side * pi / 2, "atanh");
    expect_near(complex_atanh({-2, s}), -l3, side * pi / 2, "atanh");
  }
}

TEST(ComplexMath, FollowsTheStandardAtInfinitiesAndZeros) {
  struct Row {
    const char* what;
    complex128 got;
    double re, im;
  };
  const Row rows[] = {
      {"exp(-inf + i inf)", complex_exp({-inf, inf}), 0, 0},
      {"exp(inf + 0i)", complex_exp({inf, 0}), inf, 0},
      {"exp(nan + 0i)", complex_exp({NAN, 0}), NAN, 0},
      {"expm1(0 - 0i)", complex_expm1({0, -0.0}), 0, -0.0},
      {"expm1(inf + 0i)", complex_expm1({inf, 0}), inf, 0},
      {"expm1(-inf + 1i)", complex_expm1({-inf, 1}), -1, 0},
      {"log(-0 + 0i)", complex_log({-0.0, 0}), -inf, pi},
      {"log(0 + 0i)", complex_log({0, 0}), -inf, 0},
      {"log(-inf + i inf)", complex_log({-inf, inf}), inf, 3 * pi / 4},
      {"log2(0 + 0i)", complex_log2({0, 0}), -inf, 0},
      {"log10(1000 + 0i)", complex_log10({1000, 0}), 3, 0},
      {"log2(inf - i inf)", complex_log2({inf, -inf}), inf, -pi / 4 * std::numbers::log2e},
      {"log1p(-1 + 0i)", complex_log1p({-1, 0}), -inf, 0},
      {"log1p(1e-320 + 0i)", complex_log1p({1e-320, 0}), 1e-320, 0},
      {"log1p(1 + i inf)", complex_log1p({1, inf}), inf, pi / 2},
      {"tanh(inf + 1i)", complex_tanh({inf, 1}), 1, 0},
      {"cosh(0 + i inf)", complex_cosh({0, inf}), NAN, 0},
      {"sinh(inf + 0i)", complex_sinh({inf, 0}), inf, 0},
      {"atanh(1 + 0i)", complex_atanh({1, 0}), inf, 0},
      {"acosh(-inf + i inf)", complex_acosh({-inf, inf}), inf, 3 * pi / 4},
      {"asinh(inf + i inf)", complex_asinh({inf, inf}), inf, pi / 4},
      {"acos(-inf + i inf)", complex_acos({-inf, inf}), 3 * pi / 4, -inf},
  };
  for (const Row& r : rows) {
    const auto fits = [](double got, double want) {
      return same(got, want) || (want != 0 && std::abs(got - want) <= 1e-15 * std::abs(want));
    };
    // Annex G leaves the sign of the zero beside a NaN open.
    EXPECT_TRUE(fits(r.got.real(), r.re) && (fits(r.got.imag(), r.im) || (std::isnan(r.re) && r.got.imag() == 0)))
        << r.what << " = " << r.got;
  }
}

}  // namespace
}  // namespace wp::kernels
