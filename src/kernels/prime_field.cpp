#include "kernels/prime_field.hpp"

#include <algorithm>

namespace wp::kernels {
namespace {

// Miller–Rabin with the first twelve primes decides for all n < 3.3·10²⁴ (Sorenson, Webster 2015). n ≡ 3 mod 4, so
// n − 1 is twice an odd number, and one power tells.
bool is_prime(Word n) {
  constexpr Word bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  for (const Word b : bases)
    if (n % b == 0) return false;
  const auto times = [n](Word a, Word b) { return static_cast<Word>(TwoWords{a} * b % n); };
  for (const Word b : bases) {
    Word result = 1, a = b;
    for (Word e = (n - 1) / 2; e; e >>= 1, a = times(a, a))
      if (e & 1) result = times(result, a);
    if (result != 1 && result != n - 1) return false;
  }
  return true;
}

}  // namespace

Word Primes::next() {
  for (;;) {
    // SplitMix64 (Steele, Lea, Flood 2014).
    Word z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    const Word candidate = ((z ^ (z >> 31)) >> 4) | Word{1} << 60 | 3;
    if (!is_prime(candidate) || std::find(used_.begin(), used_.end(), candidate) != used_.end()) continue;
    used_.push_back(candidate);
    return candidate;
  }
}

}  // namespace wp::kernels
