// Running sums and products of one line: y[i] = x[0] ∘ … ∘ x[i].
#pragma once
#include "kernels/product.hpp"

namespace wp::kernels {

// s + c is the sum; c collects what the additions round off (Neumaier 1974; the error of a + b as by Knuth's TwoSum).
// An infinite or NaN sum is s alone.
struct Compensated {
  double s = 0, c = 0;
  void add(double v) {
    const double t = s + v, back = t - s;
    c += (s - (t - back)) + (v - back);
    s = t;
  }
  double value() const { return std::isfinite(s) ? s + c : s; }
};

template <class T>
void running_sum(const T* x, std::int64_t n, T* y) {
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t s = 0;
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(s += static_cast<std::uint64_t>(x[i]));
  } else if constexpr (std::is_same_v<T, double>) {
    Compensated s;
    for (std::int64_t i = 0; i < n; ++i) {
      s.add(x[i]);
      y[i] = s.value();
    }
  } else if constexpr (std::is_same_v<T, complex128>) {
    Compensated re, im;
    for (std::int64_t i = 0; i < n; ++i) {
      re.add(x[i].real());
      im.add(x[i].imag());
      y[i] = {re.value(), im.value()};
    }
  } else {
    Wide<T> s(0);
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(s += static_cast<Wide<T>>(x[i]));
  }
}

template <class T>
void running_product(const T* x, std::int64_t n, T* y) {
  if constexpr (std::is_integral_v<T>) {
    std::uint64_t s = 1;
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(s *= static_cast<std::uint64_t>(x[i]));
  } else {
    using F = FloatProduct<T>;
    typename F::State s{typename F::A(1), 0};
    for (std::int64_t i = 0; i < n; ++i) {
      const auto p = s.m * static_cast<typename F::A>(x[i]);
      const double size = F::size(p);
      if (s.e == 0 && size >= 0x1p-500 && size <= 0x1p500) {
        s.m = p;
        y[i] = static_cast<T>(p);
      } else {
        F::push(s, x[i]);
        y[i] = F::finish(s, i, 0);
      }
    }
  }
}

}  // namespace wp::kernels
