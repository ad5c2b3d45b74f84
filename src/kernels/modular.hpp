// What is exactly true of a matrix of floats: every float is an integer times a power of two, so elimination modulo a
// prime p ≠ 2 is exact. A minor that is not 0 modulo p is not 0; one that is 0 modulo random 61-bit primes is 0 but
// for a chance of about n·2⁻⁴⁰ per prime at the widest spread of exponents. Primes are chosen by the bits of the
// matrix (for rank and singularity among 64): the same matrix gives the same answer. O(n³) integer work. T: float,
// double, complex64, complex128.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/gemm.hpp"

namespace wp::kernels {

// Whether the determinant is not 0 modulo one prime: true is a proof. False for NaN and Inf.
template <class T>
bool proved_nonsingular(std::int64_t n, View<T> a);
// Whether the determinant is 0 modulo three primes: false is a proof. False for NaN and Inf.
template <class T>
bool exactly_singular(std::int64_t n, View<T> a);
// The largest rank modulo three primes, which the rank is not below; −1 with NaN or Inf. Full rank is a proof (and
// takes one prime only).
template <class T>
std::int64_t exact_rank(std::int64_t m, std::int64_t n, View<T> a);

// numerator / denominator · 2^exponent; numerator and denominator odd and coprime, or 0/1.
struct Ratio {
  std::int64_t numerator = 0, denominator = 1;
  int exponent = 0;
  double value() const;  // correctly rounded where both numbers have at most 53 bits and the value is normal
};
// row `row` = Σ factor · row `term.row`, exactly; no terms: the row is 0.
struct Dependency {
  struct Term {
    std::int64_t row;
    Ratio re, im;
  };
  std::int64_t row;
  std::vector<Term> terms;
};
// A dependency between rows, proved (the identity holds modulo so many primes that no other integer fits); of the
// first ones the one with the fewest terms. None if the rows are independent, or no factors of about 60 bits are
// found. For columns give the transposed view.
template <class T>
std::optional<Dependency> exact_dependency(std::int64_t m, std::int64_t n, View<T> a);

}  // namespace wp::kernels
