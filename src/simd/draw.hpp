// Loops that turn Philox words into draws, per instruction set. All give the same bits.
#pragma once
#include <cstdint>

#include "simd/philox.hpp"

namespace wp::simd {

// Draws that take a fixed share of a block: an element of 4 bytes one word, of 8 bytes two. `n` elements, even for
// normal; p as listed.
enum class Draw : std::uint8_t {
  uniform8,       // float with 8 random bits; p: low, width, the greatest result
  uniform11,      // float with 11
  uniform24,      // float with 24
  uniform53,      // double with 53
  normal32,       // float; p: mean, standard deviation
  normal64,       // double
  exponential32,  // float; p: rate
  exponential64,  // double
  bernoulli,      // bool from two words; p: the threshold, probability × 2^64
};
using DrawLoop = void (*)(const std::uint64_t* words, void* out, std::int64_t n, const double* p);
DrawLoop draw_loop(Draw which) noexcept;

// Draws that may be rejected and tried again: one block number per element, lanes for the attempts. Doubles.
enum class Sampler : std::uint8_t {
  gamma,               // p: d, c; shape parameter ≥ 1
  gamma_boosted,       // p: d, c, 1 / shape parameter; shape parameter < 1
  log_gamma,           // p: as gamma; the logarithm of (draw / d)
  log_gamma_boosted,   // p: as gamma_boosted
  normal_between,      // p: low, high; standard normal draws that lie there
  uniform_between,     // p: low, high, the square of the point nearest to 0
  exponential_beyond,  // p: low > 0, high, λ, λ − low
  poisson,             // p: see samplers.hpp
};
using SampleLoop = void (*)(std::uint64_t key, std::uint64_t number, std::uint64_t lane, double* out, std::int64_t n,
                            const double* p);
SampleLoop sample_loop(Sampler which) noexcept;

// out[i] = exp(x[i] − shift), summed from the left.
using CumulateLoop = void (*)(const double* x, double shift, double* out, std::int64_t n);
CumulateLoop cumulate_loop() noexcept;

}  // namespace wp::simd
