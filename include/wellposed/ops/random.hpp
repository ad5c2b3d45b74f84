// Generated from the op table by tools/generate.py; edit the room, not this file.
// Random functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

namespace random {
// True with probability p, which is met to within 2^-65. shape: The shape of the result. p: The probability of true,
// from 0 to 1. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a
// 128-bit block.
Tensor bernoulli(const Ints& shape, double p, std::int64_t key, std::int64_t counter, std::source_location where = std::source_location::current());

struct BetaOptions {
  DType dtype = DType::f64;  // The dtype of the result.
};
// Numbers from the beta distribution on 0 <= x <= 1, whose density is proportional to x^(a - 1) (1 - x)^(b - 1);
// mean a / (a + b). shape: The shape of the result. a: The exponent of x, plus 1; greater than 0. b: The exponent of
// 1 - x, plus 1; greater than 0. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the
// number of a 128-bit block.
Tensor beta(const Ints& shape, double a, double b, std::int64_t key, std::int64_t counter, const BetaOptions& options = {}, std::source_location where = std::source_location::current());

struct CategoricalOptions {
  std::optional<std::int64_t> draws = std::nullopt;  // Draws per row, which become the last axis; none: one.
};
// Class numbers k along the last axis of logits, each drawn with probability softmax(logits)[k]. Probabilities are
// met to within 2^-52 times the number of classes. logits: Log-probabilities, up to a constant per row; -inf: never
// drawn. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a 128-bit
// block.
Tensor categorical(const In& logits, std::int64_t key, std::int64_t counter, const CategoricalOptions& options = {}, std::source_location where = std::source_location::current());

struct ExponentialOptions {
  double rate = 1.0;  // 1 / mean, greater than 0.
  DType dtype = DType::f64;  // The dtype of the result.
};
// Numbers from the exponential distribution with density rate exp(-rate x), x >= 0: -log(u) / rate. shape: The shape
// of the result. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a
// 128-bit block.
Tensor exponential(const Ints& shape, std::int64_t key, std::int64_t counter, const ExponentialOptions& options = {}, std::source_location where = std::source_location::current());

struct GammaOptions {
  double rate = 1.0;  // 1 / scale, greater than 0.
  DType dtype = DType::f64;  // The dtype of the result.
};
// Numbers from the gamma distribution, whose density is proportional to x^(concentration - 1) exp(-rate x); mean
// concentration / rate (Marsaglia and Tsang 2000). Draws too small for the dtype are 0. shape: The shape of the
// result. concentration: The shape parameter, greater than 0. key: Which sequence of random numbers: 64 bits.
// counter: Where in it to begin: the number of a 128-bit block.
Tensor gamma(const Ints& shape, double concentration, std::int64_t key, std::int64_t counter, const GammaOptions& options = {}, std::source_location where = std::source_location::current());

struct IntegersOptions {
  DType dtype = DType::i64;  // The dtype of the result.
  bool endpoint = false;  // high itself is a result too.
};
// Integers low <= k < high, all with the same probability, exactly: words that would favour some are drawn again
// (Lemire 2019). shape: The shape of the result. low: The least result, an integer. high: One more than the greatest
// result. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a 128-bit
// block.
Tensor integers(const Ints& shape, const Scalar& low, const Scalar& high, std::int64_t key, std::int64_t counter, const IntegersOptions& options = {}, std::source_location where = std::source_location::current());

struct NormalOptions {
  double mean = 0.0;  // The mean.
  double std = 1.0;  // The standard deviation, at least 0.
  DType dtype = DType::f64;  // The dtype of the result.
};
// Numbers from the normal distribution: mean + std z, where pairs of z are sqrt(-2 log u) (cos 2 pi v, sin 2 pi v)
// (Box and Muller). Tails reach 6.7 standard deviations in f32, 9.4 in f64. shape: The shape of the result. key:
// Which sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a 128-bit block.
Tensor normal(const Ints& shape, std::int64_t key, std::int64_t counter, const NormalOptions& options = {}, std::source_location where = std::source_location::current());

// The integers 0 to n - 1 in random order; every order has the same probability. n: How many. key: Which sequence of
// random numbers: 64 bits. counter: Where in it to begin: the number of a 128-bit block.
Tensor permutation(std::int64_t n, std::int64_t key, std::int64_t counter, std::source_location where = std::source_location::current());

struct PermutedOptions {
  std::int64_t axis = 0;  // The axis whose slices are put in random order.
};
// x with its slices along an axis in random order. Slices stay whole: the result is take(x, permutation(n), axis),
// with n the length of the axis and the same key and counter. key: Which sequence of random numbers: 64 bits.
// counter: Where in it to begin: the number of a 128-bit block.
Tensor permuted(const In& x, std::int64_t key, std::int64_t counter, const PermutedOptions& options = {}, std::source_location where = std::source_location::current());

struct PoissonOptions {
  DType dtype = DType::i64;  // The dtype of the result.
};
// Counts from the Poisson distribution: k with probability exp(-rate) rate^k / k!. shape: The shape of the result.
// rate: The mean, from 0 to 1e15. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the
// number of a 128-bit block.
Tensor poisson(const Ints& shape, double rate, std::int64_t key, std::int64_t counter, const PoissonOptions& options = {}, std::source_location where = std::source_location::current());

struct TruncatedNormalOptions {
  double mean = 0.0;  // The mean before truncation.
  double std = 1.0;  // The standard deviation before truncation, at least 0.
  double low = -2.0;  // The lower bound, in standard deviations from the mean.
  double high = 2.0;  // The upper bound, in standard deviations from the mean.
  DType dtype = DType::f64;  // The dtype of the result.
};
// Numbers from the normal distribution, given that they lie between mean + std low and mean + std high. Exact for
// every interval, however far in the tail. shape: The shape of the result. key: Which sequence of random numbers: 64
// bits. counter: Where in it to begin: the number of a 128-bit block.
Tensor truncated_normal(const Ints& shape, std::int64_t key, std::int64_t counter, const TruncatedNormalOptions& options = {}, std::source_location where = std::source_location::current());

struct UniformOptions {
  double low = 0.0;  // The least result.
  double high = 1.0;  // What all results are less than.
  DType dtype = DType::f64;  // The dtype of the result.
};
// Numbers that are uniformly distributed over low <= x < high. With u = k / 2^p, where k is a random integer of p
// bits (f64: 53, f32: 24, f16: 11, bf16: 8), the result is low + (high - low) u, and never high. shape: The shape of
// the result. key: Which sequence of random numbers: 64 bits. counter: Where in it to begin: the number of a 128-bit
// block.
Tensor uniform(const Ints& shape, std::int64_t key, std::int64_t counter, const UniformOptions& options = {}, std::source_location where = std::source_location::current());
}  // namespace random

}  // namespace wp
