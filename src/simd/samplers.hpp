// Rejection samplers, one attempt each: what an attempt gives and whether it is accepted. Shared by the vector loops
// and the scalar repetition. words: low() and high() of the attempt's blocks.
#pragma once
#include "simd/draw_math.hpp"

namespace wp::simd::draw {

struct Attempt {
  double value;
  std::uint64_t accepted;  // 0 or 1
};

// 3 (log(1 + t) − t + t²/2 − t³/3); a series where the terms cancel.
WP_FN double fourth_order(double t) {
  double series = -1.0 / 12;
  series = series * t + 1.0 / 11;
  series = series * t - 1.0 / 10;
  series = series * t + 1.0 / 9;
  series = series * t - 1.0 / 8;
  series = series * t + 1.0 / 7;
  series = series * t - 1.0 / 6;
  series = series * t + 1.0 / 5;
  series = series * t - 1.0 / 4;
  const double square = t * t, direct = log(1.0 + t) - t + square * (0.5 - t * (1.0 / 3));
  return 3.0 * ((t < 0 ? -t : t) < 0.05 ? series * square * square : direct);
}

// Marsaglia & Tsang (2000): d v with v = (1 + t)³, t = c z, z normal, d = α − ⅓, c = 1/(3√d); accepted when
// log u < z²/2 + d − d v + d log v = d · fourth_order(t). For α < 1: Gamma(α + 1) · U^(1/α).
template <bool boosted, bool logarithm>
struct Gamma {
  static constexpr int blocks = 2;
  WP_FN Attempt attempt(const std::uint64_t (&w)[4], const double* p) {
    const double t = p[1] * normal_pair<double>(w[0], w[1]).cos, root = 1.0 + t;
    const std::uint64_t accepted = (root > 0 ? 1U : 0U) & (log(open_unit(w[2])) < p[0] * fourth_order(t) ? 1U : 0U);
    double value = logarithm ? 3.0 * log(root) : p[0] * (root * root * root);
    if constexpr (boosted) {
      const double boost = log(open_unit(w[3])) * p[2];
      value = logarithm ? value + boost : value * exp(boost);
    }
    return {value, accepted};
  }
};

// The normal distribution between two bounds (Robert 1995): by normal, uniform or exponential proposals.
struct NormalBetween {
  static constexpr int blocks = 1;
  WP_FN Attempt attempt(const std::uint64_t (&w)[4], const double* p) {
    const double z = normal_pair<double>(w[0], w[1]).cos;
    return {z, (z >= p[0] ? 1U : 0U) & (z <= p[1] ? 1U : 0U)};
  }
};
struct UniformBetween {
  static constexpr int blocks = 1;
  WP_FN Attempt attempt(const std::uint64_t (&w)[4], const double* p) {
    const double x = p[0] + (p[1] - p[0]) * unit<53>(w[0]), inside = x < p[1] ? x : p[1];
    return {inside, 2.0 * log(open_unit(w[1])) <= p[2] - inside * inside ? 1U : 0U};
  }
};
struct ExponentialBeyond {
  static constexpr int blocks = 1;
  WP_FN Attempt attempt(const std::uint64_t (&w)[4], const double* p) {
    const double step = -log(open_unit(w[0])) / p[2], x = p[0] + step, away = step - p[3];
    return {x, (x <= p[1] ? 1U : 0U) & (2.0 * log(open_unit(w[1])) <= -(away * away) ? 1U : 0U)};
  }
};

// log k! − ((k + ½) log k − k + ½ log 2π): the error of Stirling's formula.
WP_FN double stirling_error(double k) {
  constexpr double exact[16] = {0x0p0,
                                0x1.4c071bcda0a5bp-4,
                                0x1.52a9b923ea649p-5,
                                0x1.c579a268d80b3p-6,
                                0x1.54a2662fd78a9p-6,
                                0x1.10b4e513fcbedp-6,
                                0x1.c6b167bebdf36p-7,
                                0x1.85d4d612e4a86p-7,
                                0x1.552805e7b3076p-7,
                                0x1.2f4871b12ab64p-7,
                                0x1.10f9d4c0743a7p-7,
                                0x1.f0593088014f8p-8,
                                0x1.c7018733aa9c6p-8,
                                0x1.a40514700f36cp-8,
                                0x1.86076c002d4a7p-8,
                                0x1.6c08f6f194a1p-8};
  if (k < 16) return exact[static_cast<int>(k)];
  const double r = 1.0 / k, s = r * r;
  return r * (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680))));
}
// λ ((1 + x) log(1 + x) − x), x = (k − λ)/λ: k log(k/λ) + λ − k without cancellation (Loader 2000).
WP_FN double deviance(double k, double rate) {
  const double x = (k - rate) / rate;
  if (x > 0.1 || x < -0.1) return k * log(k / rate) - (k - rate);
  double sum = 1.0 / (17 * 16);
  for (int n = 16; n >= 2; --n) sum = 1.0 / (n * (n - 1)) - x * sum;  // Σ (−x)ⁿ / (n (n − 1)) over n ≥ 2
  return rate * x * x * sum;
}

// Hörmann's PTRS (1993), for rates ≥ 10. The test log(v α / (a/us² + b)) ≤ log pmf(k) has pmf in Loader's form:
// log pmf = −deviance − stirling_error − ½ log(2πk); −λ for k = 0. ⌊λ⌋ is added last: it may be far larger than the
// rest. p: λ, a, b, 1/α, the squeeze of v, ⌊λ⌋, λ − ⌊λ⌋ + 0.43.
struct Poisson {
  static constexpr int blocks = 1;
  WP_FN Attempt attempt(const std::uint64_t (&w)[4], const double* p) {
    const double rate = p[0], a = p[1], b = p[2];
    const double u = unit<53>(w[0]) - 0.5, v = open_unit(w[1]), us = 0.5 - (u < 0 ? -u : u);
    if (us < 0.013 && v > us) return {0, 0};
    const double k = p[5] + std::floor((2.0 * a / us + b) * u + p[6]);
    if (us >= 0.07 && v <= p[4]) return {k, 1};
    if (k < 0) return {0, 0};
    const double left = log(v * p[3] / (a / (us * us) + b));
    const double right = k == 0 ? -rate : -deviance(k, rate) - stirling_error(k) - 0.5 * log(0x1.921fb54442d18p2 * k);
    return {k, left <= right ? 1U : 0U};
  }
};

}  // namespace wp::simd::draw
