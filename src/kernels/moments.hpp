// Mean and sum of squared deviations. Blocks take two passes in cache; blocks are joined by the formula of Chan,
// Golub and LeVeque (1983): M = Ma + Mb + δ² na nb / n. The mean is kept in two parts, so that data far from zero
// lose nothing.
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

// Deviations are taken from a value near the mean: x[0] + mean(x − x[0]), which is x[0] itself when all are equal.
template <class T>
WP_FN void block_moments(const T* a, T first, std::int64_t n, Moments& s) {
  constexpr std::int64_t lanes = 128 / sizeof(T);
  T sum[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::int64_t k = 0; k < lanes; ++k) sum[k] += a[i + k] - first;
  for (std::int64_t k = 0; i < n; ++i, ++k) sum[k] += a[i] - first;
  double total = 0;
  for (std::int64_t k = 0; k < lanes; ++k) total += static_cast<double>(sum[k]);
  const T shift = static_cast<T>(static_cast<double>(first) + total / static_cast<double>(n));
  double ds = 0, qs = 0;
  for (i = 0; i < n;) {
    T d[lanes] = {}, q[lanes] = {};
    const std::int64_t end = i + kChain * lanes < n ? i + kChain * lanes : n;
    for (; i + lanes <= end; i += lanes) {
      __builtin_prefetch(a + n + i);  // what the next block will read
      __builtin_prefetch(a + n + i + lanes / 2);
      for (std::int64_t k = 0; k < lanes; ++k) {
        const T v = a[i + k] - shift;
        d[k] += v;
        q[k] += v * v;
      }
    }
    if (end == n)
      for (std::int64_t k = 0; i < n; ++i, ++k) {
        const T v = a[i] - shift;
        d[k] += v;
        q[k] += v * v;
      }
    for (std::int64_t k = 0; k < lanes; ++k) {
      ds += static_cast<double>(d[k]);
      qs += static_cast<double>(q[k]);
    }
  }
  s = Moments::about(static_cast<double>(shift), ds, qs, static_cast<double>(n));
}

template <class T>
WP_FN void column_moments(const T* a, std::int64_t stride, std::int64_t rows, std::int64_t w, Moments* __restrict s) {
  T shift[kColumnWidth], d[kColumnWidth], q[kColumnWidth];
  for (std::int64_t k = 0; k < w; ++k) d[k] = 0;
  for (std::int64_t i = 1; i < rows; ++i)
    for (std::int64_t k = 0; k < w; ++k) d[k] += a[i * stride + k] - a[k];
  const T count = static_cast<T>(rows);
  for (std::int64_t k = 0; k < w; ++k) shift[k] = a[k] + d[k] / count;
  for (std::int64_t k = 0; k < w; ++k) d[k] = q[k] = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < w; ++k) {
      const T v = a[i * stride + k] - shift[k];
      d[k] += v;
      q[k] += v * v;
    }
  for (std::int64_t k = 0; k < w; ++k)
    s[k] = Moments::about(static_cast<double>(shift[k]), static_cast<double>(d[k]), static_cast<double>(q[k]),
                          static_cast<double>(rows));
}

// Variance (root: its square root); param is the correction c of N − c.
template <class T, bool root>
struct Variance {
  using In = T;
  using Out = T;
  using State = Moments;
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
  struct State {
    Moments re, im;
  };
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
      In column[kColumnRows];
      for (std::int64_t i = 0; i < rows; ++i) column[i] = a[i * stride + k];
      block(column, rows, s[k]);
    }
  }
  WP_FN Out finish(const State& s, std::int64_t n, double correction) {
    return static_cast<Out>(Variance<T, root>::ratio(s.re.m2 + s.im.m2, static_cast<double>(n) - correction));
  }
};

// The same where squares overflow or underflow: each block is scaled by a power of two to have its largest element
// near 1. State: moments of x · 2^−scale.
template <class T, bool root>
struct ScaledVariance {
  using In = T;
  using Out = T;
  struct State {
    Moments s;
    int scale;
  };
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
  struct State {
    typename Part::State re, im;
  };
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
    typename Part::State re = s.re, im = s.im;
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
