// Iterative refinement of any linear problem that has approximate inverses and residuals in twice the precision.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/numbers.hpp"
#include "linalg/judgement.hpp"

namespace wp::linalg {

// The type in which numbers of T are added and measured.
template <class T>
using Sum = std::conditional_t<kernels::RealOf<T>::parts == 2, std::complex<double>, double>;

// A X = B as S Y = 2^(rows − e) B with S = 2^rows A 2^columns, X = 2^(columns + e) Y and one exponent e per column
// that brings the right-hand side near 1: nothing overflows or vanishes on the way to an X in range. Scales may be
// empty: 0.
template <class T>
class Frame {
 public:
  Frame(std::int64_t n, std::int64_t columns, const std::vector<int>& row_scales,
        const std::vector<int>& column_scales)
      : n_(n), columns_(columns), row_scales_(row_scales), column_scales_(column_scales) {}

  // The exponent of one element of B beside its scale, and from the largest of a column the e of that column.
  static constexpr int kNothing = std::numeric_limits<int>::min();
  static int top(const T& v, const std::vector<int>& scales, std::int64_t i) {
    const double size = size_of_number(v);
    return size > 0 && std::isfinite(size) ? std::ilogb(size) + 1 + at(scales, i) : kNothing;
  }
  static int exponent(int largest, const std::vector<int>& scales) {
    constexpr int kFar = std::numeric_limits<typename kernels::RealOf<T>::type>::max_exponent / 4;
    return largest == kNothing || (scales.empty() && std::abs(largest) < kFar) ? 0 : largest;
  }
  static int at(const std::vector<int>& scales, std::int64_t i) {
    return scales.empty() ? 0 : scales[static_cast<std::size_t>(i)];
  }

  // B to the right-hand side of S Y.
  void enter(kernels::MutableView<T> b) {
    exponents_.assign(static_cast<std::size_t>(columns_), 0);
    for (std::int64_t c = 0; c < columns_; ++c) {
      int most = kNothing;
      for (std::int64_t i = 0; i < n_; ++i)
        most = std::max(most, top(b.data[i * b.rows + c * b.columns], row_scales_, i));
      exponents_[static_cast<std::size_t>(c)] = exponent(most, row_scales_);
    }
    if (idle()) return;
    each([&](std::int64_t i, std::int64_t c, int e) {
      T& v = b.data[i * b.rows + c * b.columns];
      v = times_power(v, at(row_scales_, i) - e);
    });
  }
  // Y to X.
  void leave(kernels::MutableView<T> y) const {
    if (idle()) return;
    each([&](std::int64_t i, std::int64_t c, int e) {
      T& v = y.data[i * y.rows + c * y.columns];
      v = times_power(v, at(column_scales_, i) + e);
    });
  }

 private:
  bool idle() const {
    return row_scales_.empty() && std::all_of(exponents_.begin(), exponents_.end(), [](int e) { return e == 0; });
  }
  template <class F>
  void each(F&& f) const {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t c = 0; c < columns_; ++c) f(i, c, exponents_[static_cast<std::size_t>(c)]);
  }

  std::int64_t n_, columns_;
  const std::vector<int>&row_scales_, &column_scales_;
  std::vector<int> exponents_;
};

struct Refined {
  double error = 1;           // relative to the largest element, of the worst column
  double backward_error = 0;  // of X, componentwise (Oettli & Prager 1964)
};

// The size of element i where elements count with factors 2^weights; empty: all alike.
class Weighed {
 public:
  explicit Weighed(const std::vector<int>& weights)
      : weights_(weights), heaviest_(weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end())) {}
  double operator()(double size, std::int64_t i) const {
    return weights_.empty() ? size : std::ldexp(size, weights_[static_cast<std::size_t>(i)] - heaviest_);
  }

 private:
  const std::vector<int>& weights_;
  int heaviest_;
};

// The largest element of a column; infinite, where there is a NaN.
struct Extents {
  double plain = 0, weighed = 0;
};
template <class T>
Extents extents(std::int64_t n, kernels::View<T> x, std::int64_t column, const Weighed& weighed) {
  Extents out;
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = x.data[i * x.rows + column * x.columns];
    const double size = v == v ? size_of_number(v) : std::numeric_limits<double>::infinity();
    out.plain = std::max(out.plain, size);
    out.weighed = std::max(out.weighed, weighed(size, i));
  }
  return out;
}

// How much worse than in X an error is that all elements of X share, when they count with weights: the worst column.
// `shares`: what the heaviest element with an error has of the largest weight, of each column; empty: all.
template <class T>
double amplification(std::int64_t n, std::int64_t columns, kernels::View<T> x, const std::vector<int>& weights,
                     const std::vector<double>& shares = {}) {
  double worst = 1;
  for (std::int64_t c = 0; c < columns && !weights.empty(); ++c) {
    const Extents e = extents<T>(n, x, c, Weighed(weights));
    const double share = shares.empty() ? 1 : shares[static_cast<std::size_t>(c)];
    if (e.plain > 0) worst = std::max(worst, e.weighed > 0 ? share * e.plain / e.weighed : HUGE_VAL);
  }
  return worst;
}
// Whether what underflows on the way to X, at most the least number in each step, cannot be seen in it.
template <class T>
bool above_underflow(std::int64_t n, double rcond, double amplification) {
  constexpr double least = std::numeric_limits<typename kernels::RealOf<T>::type>::denorm_min();
  return amplification <= 1 || amplification * (static_cast<double>(n) * least) <= kGoodEnough * rcond;
}

// X += A⁻¹(B − A X) (Wilkinson 1963; Demmel et al. 2006), X n × columns. A column whose correction is at most half
// the last one (the first: at most half of X) goes on; the error left is what the next one would be.
// `weights`: exponents of the factors with which elements count in the error; empty: all alike. `shares`: as above.
// residual(r, sizes): R = B − A X row-major, and |B| + |A||X| unless sizes is null. apply(R): R ← A⁻¹ R, with an
// error of `apply_error` at least, relative to its largest element: how much a first correction shrinks tells little
// of that where X happens to be exact but for elements that are small beside the others and yet weigh most.
template <class T, class Residual, class Apply>
Refined refine(std::int64_t n, std::int64_t columns, kernels::MutableView<T> x, const std::vector<int>& weights,
               const std::vector<double>& shares, double apply_error, Residual&& residual, Apply&& apply) {
  using Real = typename kernels::RealOf<T>::type;
  constexpr double u = std::numeric_limits<Real>::epsilon() / 2;
  constexpr int kRounds = 12;
  const auto k = static_cast<std::size_t>(columns);
  kernels::Buffer<T> r(std::max<std::int64_t>(n * columns, 1));
  kernels::Buffer<Real> sizes(std::max<std::int64_t>(n * columns, 1));
  std::vector<double> last(k, 1), error(k, 1), rate(k, 1);
  std::vector<char> going(k, 1);
  const Weighed weighed(weights);
  const auto share = [&](std::size_t c) { return shares.empty() ? 1 : shares[c]; };
  const auto quotient = [](double a, double b) { return b > 0 ? a / b : a > 0 ? 1.0 : 0.0; };
  Refined out;
  for (int round = 0; round < kRounds && std::count(going.begin(), going.end(), 1) > 0; ++round) {
    residual(r.data(), nullptr);
    apply(kernels::MutableView<T>{r.data(), columns, 1});
    for (std::size_t c = 0; c < k; ++c) {
      if (!going[c]) continue;
      const auto column = static_cast<std::int64_t>(c);
      const Extents d = extents<T>(n, {r.data(), columns, 1}, column, weighed);
      if (round == 0) rate[c] = quotient(d.plain, extents<T>(n, x, column, weighed).plain);
      const double shrinks = round == 0 ? rate[c] : quotient(d.weighed, last[c]);
      if (!(shrinks <= 0.5)) {
        going[c] = 0;
        if (round == 0) error[c] = 1;
        if (round > 0 && !weights.empty())  // the correction is as large as the error
          error[c] = std::max(4 * quotient(d.weighed, extents<T>(n, x, column, weighed).weighed), u);
        continue;
      }
      for (std::int64_t i = 0; i < n; ++i) x.data[i * x.rows + column * x.columns] += r.data()[i * columns + column];
      const double left = round > 0         ? 2 * shrinks * d.weighed
                          : weights.empty() ? 2 * shrinks * d.plain  // at first any element may have it
                                            : 2 * std::max(shrinks, apply_error) * share(c) * d.plain;
      error[c] = std::max(quotient(left, extents<T>(n, x, column, weighed).weighed), u);
      last[c] = d.weighed;
      going[c] = error[c] > 2 * u ? 1 : 0;
    }
  }
  residual(r.data(), sizes.data());
  for (std::int64_t e = 0; e < n * columns; ++e)
    if (const double size = static_cast<double>(sizes.data()[e]); size > 0)
      out.backward_error = std::max(out.backward_error, size_of_number(r.data()[e]) / size);
  // The last digit of the largest element comes back in every correction, and with its error in the others.
  for (std::size_t c = 0; c < k && !weights.empty(); ++c) {
    const Extents e = extents<T>(n, x, static_cast<std::int64_t>(c), weighed);
    error[c] = std::max(error[c], 4 * u * std::max(rate[c], u) * quotient(share(c) * e.plain, e.weighed));
  }
  out.error = k ? std::min(1.0, *std::max_element(error.begin(), error.end())) : u;
  return out;
}

}  // namespace wp::linalg
