// Fills memory with draws. Element i depends on the stream and i only: never on threads or on how the work is cut.
#pragma once
#include <cstdint>

#include "simd/draw.hpp"
#include "wellposed/dtype.hpp"

namespace wp::kernels {

struct Stream {
  std::uint64_t key, number;  // number: of the first block
};

// How many elements share a block: draws take a word per 4 bytes of the type they are computed in.
constexpr int per_block(simd::Draw which) noexcept {
  using enum simd::Draw;
  return which == uniform53 || which == normal64 || which == exponential64 || which == bernoulli ? 2 : 4;
}

// n elements of `dtype`, which the loop gives or is rounded to (f16, bf16).
void draw(Stream s, simd::Draw which, const double* p, DType dtype, void* out, std::int64_t n);

// n elements, a block each: add + multiply · draw / divide, computed in double and rounded to `dtype`.
struct Finish {
  double multiply = 1, divide = 1, add = 0;
};
void sample(Stream s, simd::Sampler which, const double* p, Finish finish, DType dtype, void* out, std::int64_t n);

// Beta(a, b) = X / (X + Y) for Gamma variates X (lanes 0, 1, …) and Y (lanes 2^32, …), as 1 / (1 + exp(log Y − log
// X)).
struct GammaPlan {
  double p[3];  // d, c, 1 / concentration
  bool boosted;
};
GammaPlan gamma_plan(double concentration);
void sample_beta(Stream s, double a, double b, DType dtype, void* out, std::int64_t n);

// Integers `low + k`, 0 ≤ k < range; range 0 stands for 2^64. Two per block. Lemire (2019): the upper half of
// word × range, redrawn (next lane) when the lower half is below 2^64 mod range.
void draw_integers(Stream s, std::uint64_t low, std::uint64_t range, DType dtype, void* out, std::int64_t n);

// Poisson draws, a block each. Rates below 10 invert the distribution by a table, others reject.
void sample_poisson(Stream s, double rate, DType dtype, void* out, std::int64_t n);

// 0 … n − 1 in random order: position i swaps with an integer ≤ i, the draw of element i, for i = n − 1 … 1
// (Fisher & Yates).
void draw_permutation(Stream s, std::int64_t* out, std::int64_t n);

}  // namespace wp::kernels
