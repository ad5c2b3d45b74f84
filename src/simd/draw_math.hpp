// What random draws are made with: random words to numbers, and the functions that shape them. Everything is written
// in +, −, ×, ÷, √ and integers, which IEEE 754 and -ffp-contract=off make the same bits on every instruction set:
// a key and a counter give the same draws on every machine. Branch-free, so that loops over them vectorise.
// Polynomial coefficients are minimax fits (Remez).
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "simd/loop.hpp"

namespace wp::simd::draw {

template <class T>
struct Words;
template <>
struct Words<float> {
  using type = std::uint32_t;
};
template <>
struct Words<double> {
  using type = std::uint64_t;
};
template <class T>
using Word = typename Words<T>::type;

// k < 2^52 as a double: there is no such instruction for 64-bit integers before AVX-512.
WP_FN double small(std::uint64_t k) {
  return std::bit_cast<double>(k | 0x4330000000000000U) - 0x1p52;
}
WP_FN float small(std::uint32_t k) {
  return static_cast<float>(static_cast<std::int32_t>(k));
}
WP_FN double with_sign(double v, std::uint64_t minus) {  // minus: 0 or 1
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) ^ minus << 63);
}
WP_FN float with_sign(float v, std::uint32_t minus) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) ^ minus << 31);
}

// k 2^−p, where k is the upper p bits of the word: exact, in [0, 1).
template <int p>
WP_FN float unit(std::uint32_t w) {
  return small(w >> (32 - p)) * (1.0F / static_cast<float>(std::uint32_t{1} << p));
}
template <int p>
WP_FN double unit(std::uint64_t w) {
  static_assert(p == 53);
  const std::uint64_t last = ~(((w >> 11) & 1U) - 1) & std::bit_cast<std::uint64_t>(0x1p-53);
  return (std::bit_cast<double>(w >> 12 | 0x3ff0000000000000U) - 1.0) + std::bit_cast<double>(last);
}
// (w + ½) 2^−32 or 2^−64, rounded once: in (0, 1], with full relative precision near 0.
WP_FN float open_unit(std::uint32_t w) {
  return small(w >> 16) * 0x1p-16F + (small(w & 0xffffU) + 0.5F) * 0x1p-32F;
}
WP_FN double open_unit(std::uint64_t w) {
  return small(w >> 32) * 0x1p-32 + (small(w & 0xffffffffU) + 0.5) * 0x1p-64;
}

// x = 2^e m with √½ ≤ m < √2; s = (m − 1)/(m + 1); log m = f − (f²/2 − s (f²/2 + R(s²))), f = m − 1. Within 1 ulp for
// normal x > 0.
WP_FN double log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t biased = bits - 0x3fe6a09e667f3bcdU + 0x3ff0000000000000U;
  const double e = std::bit_cast<double>(biased >> 52 | 0x4330000000000000U) - (0x1p52 + 1023);
  const double f = std::bit_cast<double>(bits - (biased & 0xfff0000000000000U) + 0x3ff0000000000000U) - 1.0;
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double r = 0x1.2b5fcc46709e6p-3;
  r = r * z + 0x1.39fdb821d8835p-3;
  r = r * z + 0x1.7462ba3129dc3p-3;
  r = r * z + 0x1.c71c62d01e6a8p-3;
  r = r * z + 0x1.2492492e03f8ep-2;
  r = r * z + 0x1.9999999995223p-2;
  r = r * z + 0x1.5555555555558p-1;
  return e * 0x1.62e42fefa3p-1 - ((half - (s * (half + r * z) + e * 0x1.3de6af278ece6p-42)) - f);
}
WP_FN float log(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t biased = bits - 0x3f3504f3U + 0x3f800000U;
  const float e = small(biased >> 23) - 127.0F;
  const float f = std::bit_cast<float>(bits - (biased & 0xff800000U) + 0x3f800000U) - 1.0F;
  const float s = f / (2.0F + f), z = s * s, half = 0.5F * f * f;
  float r = 0x1.2eebd6p-2F;
  r = r * z + 0x1.997c06p-2F;
  r = r * z + 0x1.55555cp-1F;
  return e * 0x1.62e4p-1F - ((half - (s * (half + r * z) + e * 0x1.7f7d1cp-20F)) - f);
}

// x = k log 2 + r; exp r = 1 + (r + r² P(r)). Within 1 ulp; 0 below −745.2, +Inf above 709.8.
WP_FN double exp(double x) {
  const double clamped = x < -746.0 ? -746.0 : x > 710.0 ? 710.0 : x;
  const double shifted = clamped * 0x1.71547652b82fep0 + 0x1.8p52, k = shifted - 0x1.8p52;
  const double high = clamped - k * 0x1.62e42fefa3p-1, low = k * 0x1.3de6af278ece6p-42, r = high - low;
  double p = 0x1.ad7ec7a9ed355p-26;
  p = p * r + 0x1.28adce84f3e12p-22;
  p = p * r + 0x1.71df26530bb6fp-19;
  p = p * r + 0x1.a01999adcca9ep-16;
  p = p * r + 0x1.a01a0129a2825p-13;
  p = p * r + 0x1.6c16c1844af6dp-10;
  p = p * r + 0x1.1111111127eb9p-7;
  p = p * r + 0x1.55555555507f1p-5;
  p = p * r + 0x1.55555555554f9p-3;
  p = p * r + 0x1.000000000000ap-1;
  const double y = 1.0 + (high + (r * r * p - low));
  // 2^k in two factors, each a normal number: k + 2048 is even or odd, but positive.
  const std::uint64_t whole = (std::bit_cast<std::uint64_t>(shifted) & 0xfffU) ^ 0x800U;  // k + 2048
  const std::uint64_t first = whole >> 1, second = whole - first;
  return y * std::bit_cast<double>((first - 1) << 52) * std::bit_cast<double>((second - 1) << 52);
}

// The direction 2π w / 2^32 (or 2^64): the nearest quarter turn, and the rest |x| ≤ ½ in quarter turns.
// sin(πx/2) = x S(x²), cos(πx/2) = C(x²); within 2.5 ulp of the exact direction.
template <class T>
struct Turn {
  T cos, sin;
};
WP_FN double quarter_rest(std::uint64_t shifted) {
  const std::uint64_t t = shifted & 0x3fffffffffffffffU;
  return (small(t >> 32) - 0x1p29) * 0x1p-30 + small(t & 0xffffffffU) * 0x1p-62;
}
WP_FN float quarter_rest(std::uint32_t shifted) {
  return static_cast<float>(static_cast<std::int32_t>(shifted & 0x3fffffffU) - 0x20000000) * 0x1p-30F;
}
WP_FN double quarter_cos(double y) {
  double c = -0x1.b263c3d61ca8ap-28;
  c = c * y + 0x1.f9cc40af6617bp-22;
  c = c * y - 0x1.a6d1ec7e109ep-16;
  c = c * y + 0x1.e1f5068367bb1p-11;
  c = c * y - 0x1.55d3c7e3c928p-6;
  c = c * y + 0x1.03c1f081b5aaep-2;
  c = c * y - 0x1.3bd3cc9be45dep0;
  return c * y + 1.0;
}
WP_FN double quarter_sin(double x, double y) {
  double s = 0x1.e3ff25f2c0e1p-25;
  s = s * y - 0x1.e300989230a97p-19;
  s = s * y + 0x1.5078300c3c9abp-13;
  s = s * y - 0x1.32d2cce3240e2p-8;
  s = s * y + 0x1.466bc67758cb2p-4;
  s = s * y - 0x1.4abbce625be46p-1;
  return x * (s * y + 0x1.921fb54442d18p0);
}
WP_FN float quarter_cos(float y) {
  float c = 0x1.d9d57cp-11F;
  c = c * y - 0x1.55c5e0p-6F;
  c = c * y + 0x1.03c1dep-2F;
  c = c * y - 0x1.3bd3ccp0F;
  return c * y + 1.0F;
}
WP_FN float quarter_sin(float x, float y) {
  float s = -0x1.2dc84cp-8F;
  s = s * y + 0x1.466004p-4F;
  s = s * y - 0x1.4abbbep-1F;
  return x * (s * y + 0x1.921fb6p0F);
}
template <class T>
WP_FN Turn<T> turn(Word<T> w) {
  constexpr int top = sizeof(T) * 8 - 2;
  const Word<T> shifted = w + (Word<T>{1} << (top - 1)), quarter = shifted >> top;
  const T x = quarter_rest(shifted), y = x * x;
  const T c = quarter_cos(y), s = quarter_sin(x, y);
  const bool swap = (quarter & 1U) != 0;
  return {with_sign(swap ? s : c, (quarter ^ quarter >> 1) & 1U), with_sign(swap ? c : s, quarter >> 1)};
}

// Two independent standard normal numbers (Box & Muller 1958). The radius √(−2 log u) reaches 6.7 (f32), 9.4 (f64).
template <class T>
WP_FN Turn<T> normal_pair(Word<T> radius, Word<T> angle) {
  const T r = std::sqrt(T(-2) * log(open_unit(radius)));
  const Turn<T> t = turn<T>(angle);
  return {r * t.cos, r * t.sin};
}

}  // namespace wp::simd::draw
