// Numbers of about 106 bits: unevaluated sums of two doubles (Dekker 1971; Joldes, Muller & Popescu 2017). Ten times
// as fast as __float128, with the range of double: what is computed with them is brought near 1 before.
#pragma once
#include <cmath>

namespace double_doubles {

class DoubleDouble {
 public:
  constexpr DoubleDouble(double v = 0) : high_(v) {}  // NOLINT: as a double goes anywhere
  double high() const { return high_; }
  double low() const { return low_; }
  explicit operator double() const { return high_; }

  // |error| ≤ 3 · 2⁻¹⁰⁶ of the sum (algorithm 6).
  friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble s = sum(a.high_, b.high_), t = sum(a.low_, b.low_), v = fast_sum(s.high_, s.low_ + t.high_);
    return fast_sum(v.high_, t.low_ + v.low_);
  }
  friend DoubleDouble operator-(const DoubleDouble& a) { return {-a.high_, -a.low_}; }
  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }
  // |error| ≤ 5 · 2⁻¹⁰⁶ of the product (algorithm 11).
  friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    const double p = a.high_ * b.high_, e = std::fma(a.high_, b.high_, -p);
    return fast_sum(p, e + std::fma(a.high_, b.low_, a.low_ * b.high_));
  }
  // |error| ≤ 10 · 2⁻¹⁰⁶ of the quotient (algorithm 17).
  friend DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
    const double q = a.high_ / b.high_;
    const DoubleDouble rest = a - b * DoubleDouble(q);
    return fast_sum(q, rest.high_ / b.high_);
  }
  DoubleDouble& operator+=(const DoubleDouble& b) { return *this = *this + b; }
  DoubleDouble& operator-=(const DoubleDouble& b) { return *this = *this - b; }
  DoubleDouble& operator*=(const DoubleDouble& b) { return *this = *this * b; }
  DoubleDouble& operator/=(const DoubleDouble& b) { return *this = *this / b; }
  friend bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
    return a.high_ < b.high_ || (a.high_ == b.high_ && a.low_ < b.low_);
  }
  friend bool operator>(const DoubleDouble& a, const DoubleDouble& b) { return b < a; }
  friend DoubleDouble abs(const DoubleDouble& a) { return a.high_ < 0 ? -a : a; }
  // One step of Newton's from the root in double.
  friend DoubleDouble sqrt(const DoubleDouble& a) {
    if (!(a.high_ > 0)) return {};
    const double r = std::sqrt(a.high_);
    const DoubleDouble rest = a - DoubleDouble(r) * DoubleDouble(r);
    return fast_sum(r, rest.high_ / (2 * r));
  }
  friend DoubleDouble ldexp(const DoubleDouble& a, int power) {
    return {std::ldexp(a.high_, power), std::ldexp(a.low_, power)};
  }

 private:
  constexpr DoubleDouble(double high, double low) : high_(high), low_(low) {}
  static DoubleDouble sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
  }
  static DoubleDouble fast_sum(double a, double b) {  // |a| ≥ |b|
    const double s = a + b;
    return {s, b - (s - a)};
  }
  double high_, low_ = 0;
};

}  // namespace double_doubles
