#include "kernels/complex_math.hpp"

#include <cmath>
#include <numbers>

namespace wp::kernels {
namespace {

bool finite(complex128 z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

// log|z| to another base: where |z| is far from 1, the base's own logarithm (exact for its powers).
double log_modulus(complex128 z, double per_e, double (*logarithm)(double)) {
  const double r = std::log(z).real(), modulus = std::hypot(z.real(), z.imag());
  return std::abs(r) > 0.5 && std::isfinite(modulus) ? logarithm(modulus) : r * per_e;
}

// x(2 + x) + y² = |1 + z|² − 1, with the roundings of all parts carried along.
double modulus_squared_less_one(double x, double y) {
  const double xx = x * x, yy = y * y, tail = std::fma(x, x, -xx) + std::fma(y, y, -yy);
  const auto add = [](double a, double b, double& rest) {
    const double s = a + b, t = s - a;
    rest += (a - (s - t)) + (b - t);
    return s;
  };
  double rest = tail;
  const double s = add(add(2 * x, yy, rest), xx, rest);
  return s + rest;
}

}  // namespace

complex128 complex_exp(complex128 z) {
  return std::exp(z);
}

// eˣ cos y − 1 = (eˣ − 1) cos y − 2 sin²(y/2).
complex128 complex_expm1(complex128 z) {
  const double x = z.real(), y = z.imag();
  if (!finite(z) || std::abs(x) > 40) return std::exp(z) - 1.0;
  const double half = std::sin(y / 2);
  return {std::fma(std::expm1(x), std::cos(y), -2 * half * half), std::exp(x) * std::sin(y)};
}

complex128 complex_log(complex128 z) {
  return std::log(z);
}

complex128 complex_log1p(complex128 z) {
  const double x = z.real(), y = z.imag();
  if (!(std::abs(x) < 0.5 && std::abs(y) < 0.5)) return std::log(complex128(1 + x, y));
  return {std::log1p(modulus_squared_less_one(x, y)) / 2, std::atan2(y, 1 + x)};
}

complex128 complex_log2(complex128 z) {
  return {log_modulus(z, std::numbers::log2e, [](double v) { return std::log2(v); }),
          std::atan2(z.imag(), z.real()) * std::numbers::log2e};
}
complex128 complex_log10(complex128 z) {
  return {log_modulus(z, std::numbers::log10e, [](double v) { return std::log10(v); }),
          std::atan2(z.imag(), z.real()) * std::numbers::log10e};
}

complex128 complex_sin(complex128 z) {
  return std::sin(z);
}
complex128 complex_cos(complex128 z) {
  return std::cos(z);
}
complex128 complex_tan(complex128 z) {
  return std::tan(z);
}
complex128 complex_asin(complex128 z) {
  return std::asin(z);
}
complex128 complex_acos(complex128 z) {
  return std::acos(z);
}
complex128 complex_atan(complex128 z) {  // the C library's differs in the last bit between the half planes
  return std::signbit(z.imag()) ? std::conj(std::atan(std::conj(z))) : std::atan(z);
}
complex128 complex_sinh(complex128 z) {
  return std::sinh(z);
}
complex128 complex_cosh(complex128 z) {
  return std::cosh(z);
}
complex128 complex_tanh(complex128 z) {
  return std::tanh(z);
}
complex128 complex_asinh(complex128 z) {
  return std::asinh(z);
}
complex128 complex_acosh(complex128 z) {
  return std::acosh(z);
}
complex128 complex_atanh(complex128 z) {
  return std::signbit(z.real()) ? -std::atanh(-z) : std::atanh(z);
}

}  // namespace wp::kernels
