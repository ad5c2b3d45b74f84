// Arithmetic modulo a prime p in (2⁶⁰, 2⁶¹) with p ≡ 3 (mod 4), on x·2⁶⁴ mod p (Montgomery 1985), and in GF(p²) =
// GF(p)[i]: −1 is no square modulo such p, so x² + 1 is irreducible.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

namespace wp::kernels {

using Word = std::uint64_t;
using TwoWords = unsigned __int128;

class Modulus {
 public:
  explicit Modulus(Word p) : p_(p), inverse_(p) {
    for (int k = 0; k < 5; ++k) inverse_ *= 2 - p * inverse_;  // Newton: p·p ≡ 1 mod 8, then twice the bits each time
  }
  Word prime() const { return p_; }
  // t·2⁻⁶⁴ for t < p·2⁶⁴: sums of up to eight products may be reduced at once, as 8p < 2⁶⁴.
  [[gnu::always_inline]] Word reduced(TwoWords t) const {
    const Word m = static_cast<Word>(t) * inverse_;
    const Word high = static_cast<Word>(t >> 64), cut = static_cast<Word>((TwoWords{m} * p_) >> 64);
    return high < cut ? high - cut + p_ : high - cut;
  }
  [[gnu::always_inline]] Word product(Word a, Word b) const { return reduced(TwoWords{a} * b); }
  [[gnu::always_inline]] Word sum(Word a, Word b) const { return a + b < p_ ? a + b : a + b - p_; }
  [[gnu::always_inline]] Word difference(Word a, Word b) const { return a < b ? a - b + p_ : a - b; }
  [[gnu::always_inline]] Word negative(Word a) const { return a ? p_ - a : 0; }

 private:
  Word p_, inverse_;  // of p mod 2⁶⁴
};

class PrimeField : public Modulus {
 public:
  explicit PrimeField(Word p) : Modulus(p), one_(static_cast<Word>((TwoWords{1} << 64) % p)) {
    square_ = static_cast<Word>(TwoWords{one_} * one_ % p);
    const Word step = of_integer(Word{1} << 60), back = inverse(step);
    powers_[kSteps] = one_;
    for (int k = 1; k <= kSteps; ++k) {
      powers_[kSteps + k] = product(powers_[kSteps + k - 1], step);
      powers_[kSteps - k] = product(powers_[kSteps - k + 1], back);
    }
  }
  Word power(Word a, Word exponent) const {
    Word result = one_;
    for (; exponent; exponent >>= 1, a = product(a, a))
      if (exponent & 1) result = product(result, a);
    return result;
  }
  Word inverse(Word a) const { return power(a, prime() - 2); }
  Word of_integer(Word v) const { return product(v % prime(), square_); }
  Word to_integer(Word a) const { return reduced(a); }
  // 2^e
  Word power_of_two(int e) const {
    const int k = e >= 0 ? e / 60 : -((59 - e) / 60);
    return product(product(Word{1} << (e - 60 * k), square_), powers_[kSteps + k]);
  }
  // v·2^e for finite v: |v| = m·2^f with an integer m < 2⁵³.
  Word of(double v, int e = 0) const {
    const Word bits = std::bit_cast<Word>(v), mantissa = bits & 0xfffffffffffff;
    const int exponent = static_cast<int>(bits >> 52) & 0x7ff;
    if (exponent == 0 && mantissa == 0) return 0;
    const Word m = exponent ? mantissa | Word{1} << 52 : mantissa;
    const Word x = product(product(m, square_), power_of_two((exponent ? exponent : 1) - 1075 + e));
    return bits >> 63 ? negative(x) : x;
  }

 private:
  static constexpr int kSteps = 128;  // exponents up to ±60·128
  Word one_, square_;                 // 2⁶⁴, 2¹²⁸ mod p
  Word powers_[2 * kSteps + 1];       // 2^(60·(k − kSteps))
};

// re + im·i
struct Gaussian {
  Word re = 0, im = 0;
  bool zero() const { return re == 0 && im == 0; }
};
inline Gaussian product(const PrimeField& f, Gaussian a, Gaussian b) {
  return {f.difference(f.product(a.re, b.re), f.product(a.im, b.im)),
          f.sum(f.product(a.re, b.im), f.product(a.im, b.re))};
}
inline Gaussian difference(const PrimeField& f, Gaussian a, Gaussian b) {
  return {f.difference(a.re, b.re), f.difference(a.im, b.im)};
}
inline Gaussian inverse(const PrimeField& f, Gaussian a) {
  const Word norm = f.inverse(f.sum(f.product(a.re, a.re), f.product(a.im, a.im)));
  return {f.product(a.re, norm), f.negative(f.product(a.im, norm))};
}

// Different random primes of that kind; the same seed gives the same ones.
class Primes {
 public:
  explicit Primes(Word seed) : state_(seed) {}
  Word next();

 private:
  Word state_;
  std::vector<Word> used_;
};

}  // namespace wp::kernels
