// Mean and sum of squared deviations. Within a block, deviations are taken from the mean of its first eighth; blocks
// are joined by the formula of Chan, Golub and LeVeque (1983): M = Ma + Mb + δ² na nb / n. The mean is kept in two
// parts, so that data far from zero lose nothing. The mean of an eighth is off by δ with 7 n δ² / 64 ≤ M, so that Σ
// d² − (Σ d)² / n loses at most 3 bits, and nearly none on data without a trend. It costs one pass over memory and is
// exactly 0 for equal elements.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels/reduce.hpp"

namespace wp::kernels {

struct Moments {
  double mean, rest;  // the mean is their sum
  double m2;          // Σ (x − mean)²
  double n;

  WP_FN Moments none() { return {0, 0, 0, 0}; }
  // n elements of which x − shift sums to `sum` and to `squares` when squared.
  WP_FN Moments about(double shift, double sum, double squares, double n) {
    const double m2 = squares - sum * sum / n;
    return {shift, sum / n, m2 < 0 ? 0 : m2, n};
  }
  WP_FN void join(Moments& a, const Moments& b) {
    if (a.n == 0) {
      a = b;
      return;
    }
    const double n = a.n + b.n, delta = (b.mean - a.mean) + (b.rest - a.rest);
    a.m2 = a.m2 + b.m2 + delta * delta * (a.n * (b.n / n));
    const double rest = a.rest + delta * (b.n / n), mean = a.mean + rest;
    a.rest = rest - (mean - a.mean);
    a.mean = mean;
    a.n = n;
  }
};

struct ComplexMoments {
  Moments re, im;
};
struct ScaledMoments {  // of x · 2^−scale
  Moments s;
  int scale;
};
struct ScaledComplexMoments {
  ScaledMoments re, im;
};

template <class T, std::int64_t lanes>
WP_FN double lane_total(T (&v)[lanes]) {
  for (std::int64_t width = lanes / 2; width > 0; width /= 2)
    for (std::int64_t k = 0; k < width; ++k) v[k] += v[k + width];
  return static_cast<double>(v[0]);
}

// Σ (a − shift) and Σ (a − shift)² of `rows` ≥ 1 rows of lanes. (The first row is written, not added to zero: filling
// with zeros costs more than the row.)
template <class T, std::int64_t lanes>
WP_FN void deviations(const T* a, std::int64_t rows, T shift, T (&d)[lanes], T (&q)[lanes]) {
  for (std::int64_t k = 0; k < lanes; ++k) {
    const T v = a[k] - shift;
    d[k] = v;
    q[k] = v * v;
  }
  for (std::int64_t i = lanes; i < rows * lanes; i += lanes)
    for (std::int64_t k = 0; k < lanes; ++k) {
      const T v = a[i + k] - shift;
      d[k] += v;
      q[k] += v * v;
    }
}

// A value near the mean of n elements: x[0] + mean(x − x[0]), which is x[0] itself when all are equal.
template <class T>
WP_FN T near_mean(const T* a, T first, std::int64_t n) {
  constexpr std::int64_t lanes = 128 / sizeof(T);
  const std::int64_t rows = n / lanes;
  double total = 0;
  if (rows > 0) {
    T sum[lanes];
    for (std::int64_t k = 0; k < lanes; ++k) sum[k] = a[k] - first;
    for (std::int64_t i = lanes; i < rows * lanes; i += lanes)
      for (std::int64_t k = 0; k < lanes; ++k) sum[k] += a[i + k] - first;
    total = lane_total(sum);
  }
  for (std::int64_t i = rows * lanes; i < n; ++i) total += static_cast<double>(a[i] - first);
  return static_cast<T>(static_cast<double>(first) + total / static_cast<double>(n));
}

template <class T>
WP_FN void block_moments(const T* a, T first, std::int64_t n, Moments& s) {
  constexpr std::int64_t lanes = 128 / sizeof(T), sample = kReduceBlock / 8;
  const T shift = near_mean(a, first, n < sample ? n : sample);
  const std::int64_t rows = n / lanes;
  double ds = 0, qs = 0;
  if (rows > 0) {
    T dt[lanes], qt[lanes];
    deviations(a, rows < kChain ? rows : kChain, shift, dt, qt);
    for (std::int64_t row = kChain; row < rows; row += kChain) {
      T d[lanes], q[lanes];
      deviations(a + row * lanes, rows - row < kChain ? rows - row : kChain, shift, d, q);
      for (std::int64_t k = 0; k < lanes; ++k) dt[k] += d[k];
      for (std::int64_t k = 0; k < lanes; ++k) qt[k] += q[k];
    }
    ds = lane_total(dt);
    qs = lane_total(qt);
  }
  for (std::int64_t i = rows * lanes; i < n; ++i) {
    const double v = static_cast<double>(a[i] - shift);
    ds += v;
    qs += v * v;
  }
  s = Moments::about(static_cast<double>(shift), ds, qs, static_cast<double>(n));
}

inline constexpr std::int64_t kMomentRows = 256;

// The same for columns; four rows at a time, so that what is collected is loaded and stored a quarter as often.
template <class T>
WP_FN void column_moments(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t w, Moments* __restrict s) {
  T shift[kColumnWidth], ds[kColumnWidth], qs[kColumnWidth];
  for (std::int64_t k = 0; k < w; ++k) ds[k] = qs[k] = 0;
  const std::int64_t sample = rows < kMomentRows / 8 ? rows : kMomentRows / 8;
  for (std::int64_t i = 1; i < sample; ++i)
    for (std::int64_t k = 0; k < w; ++k) ds[k] += a[i * stride + k] - a[k];
  const T count = static_cast<T>(sample);
  for (std::int64_t k = 0; k < w; ++k) {
    shift[k] = a[k] + ds[k] / count;
    ds[k] = 0;
  }
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const T *b = a + i * stride, *c = b + stride, *d = c + stride, *e = d + stride;
    for (std::int64_t k = 0; k < w; ++k) {
      const T m = shift[k], t = b[k] - m, u = c[k] - m, v = d[k] - m, x = e[k] - m;
      ds[k] += (t + u) + (v + x);
      qs[k] += (t * t + u * u) + (v * v + x * x);
    }
  }
  for (; i < rows; ++i)
    for (std::int64_t k = 0; k < w; ++k) {
      const T v = a[i * stride + k] - shift[k];
      ds[k] += v;
      qs[k] += v * v;
    }
  for (std::int64_t k = 0; k < w; ++k)
    s[k] = Moments::about(static_cast<double>(shift[k]), static_cast<double>(ds[k]), static_cast<double>(qs[k]),
                          static_cast<double>(rows));
}

// Variance (root: its square root); param is the correction c of N − c.
template <class T, bool root>
struct Variance {
  using In = T;
  using Out = T;
  using State = Moments;
  static constexpr std::int64_t column_rows = kMomentRows;
  WP_FN void start(State& s) { s = Moments::none(); }
  WP_FN void join(State& a, const State& b) { Moments::join(a, b); }
  WP_FN void block(const T* a, std::int64_t n, State& s) { block_moments(a, a[0], n, s); }
  WP_FN void columns(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t w, State* s) {
    column_moments(a, stride, rows, w, s);
  }
  WP_FN double ratio(double m2, double freedom) {
    const double v = freedom > 0 ? m2 / freedom : std::numeric_limits<double>::quiet_NaN();
    return root ? std::sqrt(v) : v;
  }
  WP_FN Out finish(const State& s, std::int64_t n, double correction) {
    return static_cast<Out>(ratio(s.m2, static_cast<double>(n) - correction));
  }
};

// Var z = Var Re z + Var Im z.
template <class T, bool root>
struct Variance<std::complex<T>, root> {
  using In = std::complex<T>;
  using Out = T;
  using State = ComplexMoments;
  static constexpr std::int64_t column_rows = kMomentRows;
  WP_FN void start(State& s) { s = {Moments::none(), Moments::none()}; }
  WP_FN void join(State& a, const State& b) {
    Moments::join(a.re, b.re);
    Moments::join(a.im, b.im);
  }
  WP_FN void block(const In* a, std::int64_t n, State& s) {
    T re[kReduceBlock], im[kReduceBlock];
    for (std::int64_t i = 0; i < n; ++i) {
      re[i] = a[i].real();
      im[i] = a[i].imag();
    }
    block_moments(re, a[0].real(), n, s.re);
    block_moments(im, a[0].imag(), n, s.im);
  }
  WP_FN void columns(const In* a, std::int64_t stride, std::int64_t rows, std::int64_t w, State* s) {
    for (std::int64_t k = 0; k < w; ++k) {
      In column[kMomentRows];
      for (std::int64_t i = 0; i < rows; ++i) column[i] = a[i * stride + k];
      block(column, rows, s[k]);
    }
  }
  WP_FN Out finish(const State& s, std::int64_t n, double correction) {
    return static_cast<Out>(Variance<T, root>::ratio(s.re.m2 + s.im.m2, static_cast<double>(n) - correction));
  }
};

// The same where squares overflow or underflow: each block is scaled by a power of two to have its largest element
// near 1.
template <class T, bool root>
struct ScaledVariance {
  using In = T;
  using Out = T;
  using State = ScaledMoments;
  WP_FN void start(State& s) { s = {Moments::none(), 0}; }
  WP_FN void rescale(State& s, int scale) {
    const int shift = std::max(s.scale - scale, -2000);
    s.s.mean = std::ldexp(s.s.mean, shift);
    s.s.rest = std::ldexp(s.s.rest, shift);
    s.s.m2 = std::ldexp(s.s.m2, 2 * shift);
    s.scale = scale;
  }
  WP_FN void join(State& a, const State& b) {
    State other = b;
    if (a.s.n != 0) {
      rescale(a, std::max(a.scale, b.scale));
      rescale(other, std::max(a.scale, b.scale));
    } else {
      a.scale = b.scale;
    }
    Moments::join(a.s, other.s);
  }
  [[gnu::noinline]] static void block(const T* a, std::int64_t n, State& s) {
    double most = 0, x[kReduceBlock];
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = std::fabs(static_cast<double>(a[i]));
      most = v > most ? v : most;
    }
    s.scale = most > 0 && std::isfinite(most) ? std::ilogb(most) : 0;
    for (std::int64_t i = 0; i < n; ++i) x[i] = std::ldexp(static_cast<double>(a[i]), -s.scale);
    block_moments(x, std::ldexp(static_cast<double>(a[0]), -s.scale), n, s.s);
  }
  WP_FN Out finish(const State& s, std::int64_t n, double correction) {
    const double v = Variance<double, root>::ratio(s.s.m2, static_cast<double>(n) - correction);
    return static_cast<Out>(std::ldexp(v, root ? s.scale : 2 * s.scale));
  }
};
template <class T, bool root>
struct ScaledVariance<std::complex<T>, root> {
  using In = std::complex<T>;
  using Out = T;
  using Part = ScaledVariance<T, root>;
  using State = ScaledComplexMoments;
  WP_FN void start(State& s) {
    Part::start(s.re);
    Part::start(s.im);
  }
  WP_FN void join(State& a, const State& b) {
    Part::join(a.re, b.re);
    Part::join(a.im, b.im);
  }
  [[gnu::noinline]] static void block(const In* a, std::int64_t n, State& s) {
    T re[kReduceBlock], im[kReduceBlock];
    for (std::int64_t i = 0; i < n; ++i) {
      re[i] = a[i].real();
      im[i] = a[i].imag();
    }
    Part::block(re, n, s.re);
    Part::block(im, n, s.im);
  }
  WP_FN Out finish(const State& s, std::int64_t n, double correction) {
    ScaledMoments re = s.re, im = s.im;
    Part::rescale(re, std::max(re.scale, im.scale));
    Part::rescale(im, re.scale);
    re.s.m2 += im.s.m2;
    return Part::finish(re, n, correction);
  }
};

template <class T>
using Var = Variance<T, false>;
template <class T>
using Std = Variance<T, true>;
template <class T>
using CarefulVar = ScaledVariance<T, false>;
template <class T>
using CarefulStd = ScaledVariance<T, true>;

}  // namespace wp::kernels
