// Accumulators of vector norms.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/reduce.hpp"

namespace wp::kernels {

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};

// |v| in double, without overflow for complex numbers.
template <class T>
WP_FN double magnitude(T v) {
  if constexpr (simd::is_complex_v<T>)
    return std::hypot(static_cast<double>(v.real()), static_cast<double>(v.imag()));
  else
    return std::fabs(static_cast<double>(v));
}

// √Σ|x|². Squares of f32 fit f64; those of f64 may not: see ScaledNorm.
template <class T>
struct Norm2 {
  using In = T;
  using Out = typename RealPart<T>::type;
  using State = double;
  WP_FN void start(State& s) { s = 0; }
  WP_FN void push(State& s, In v) {
    if constexpr (simd::is_complex_v<T>) {
      const auto re = static_cast<double>(v.real()), im = static_cast<double>(v.imag());
      s += re * re + im * im;
    } else {
      s += static_cast<double>(v) * static_cast<double>(v);
    }
  }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN Out finish(const State& s, std::int64_t, double) { return static_cast<Out>(std::sqrt(s)); }
};

// Σ|x|.
template <class T>
struct Norm1 {
  using In = T;
  using Out = typename RealPart<T>::type;
  using State = double;
  WP_FN void start(State& s) { s = 0; }
  WP_FN void push(State& s, In v) { s += magnitude(v); }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN Out finish(const State& s, std::int64_t, double) { return static_cast<Out>(s); }
};

// The largest or smallest |x|; NaN if there is one.
template <class T, bool largest>
struct NormExtreme {
  using In = T;
  using Out = typename RealPart<T>::type;
  using State = double;
  WP_FN void start(State& s) { s = largest ? 0 : std::numeric_limits<double>::infinity(); }
  WP_FN void push(State& s, In v) { join(s, magnitude(v)); }
  WP_FN void join(State& s, const State& t) {
    const bool takes = largest ? t > s : t < s;
    s = takes || t != t ? t : s;
  }
  WP_FN Out finish(const State& s, std::int64_t, double) { return static_cast<Out>(s); }
};
template <class T>
using NormMax = NormExtreme<T, true>;
template <class T>
using NormMin = NormExtreme<T, false>;

// How many elements are not zero; NaN counts.
template <class T>
struct Norm0 {
  using In = T;
  using Out = typename RealPart<T>::type;
  using State = double;
  WP_FN void start(State& s) { s = 0; }
  WP_FN void push(State& s, In v) { s += v == T(0) ? 0 : 1; }
  WP_FN void join(State& s, const State& t) { s += t; }
  WP_FN Out finish(const State& s, std::int64_t, double) { return static_cast<Out>(s); }
};

// √Σ|x|² where squares overflow or vanish: Σ(|x|·2^−e)² with 2^e above every element seen.
template <class T>
struct ScaledNorm2 {
  using In = T;
  using Out = typename RealPart<T>::type;
  struct State {
    double sum;
    int e;
  };
  WP_FN void start(State& s) { s = {0, -1100}; }
  WP_FN void push(State& s, In v) {
    const double size = magnitude(v);
    if (size == 0) return;
    int e = 0;
    if (!std::isfinite(size)) {
      s.sum = size;
      return;
    }
    std::frexp(size, &e);
    const double part = std::ldexp(size, -e);
    join(s, {part * part, e});
  }
  WP_FN void join(State& s, const State& t) {
    if (t.e > s.e)
      s = {t.sum + std::ldexp(s.sum, std::max(2 * (s.e - t.e), -1100)), t.e};
    else
      s.sum += std::ldexp(t.sum, std::max(2 * (t.e - s.e), -1100));
  }
  WP_FN Out finish(const State& s, std::int64_t, double) {
    return static_cast<Out>(std::ldexp(std::sqrt(s.sum), s.e));
  }
};

// (Σ|x|^p)^(1/p) of n elements for p ≠ 0, as m·(Σ(|x|/m)^p)^(1/p) with m the element that weighs most (the largest
// for p > 0, the smallest for p < 0): nothing overflows or vanishes on the way. Summed in blocks, pairwise.
template <class T>
typename RealPart<T>::type norm_p(const T* x, std::int64_t n, double p);

}  // namespace wp::kernels
