// Random numbers. The functions of wp::random (wellposed/ops/random.hpp) are pure: a key and a counter say which
// draws are meant, and the same ones give the same bits on every machine, for any number of threads. A Generator
// keeps the two, and moves the counter past what each call used:
//
//   wp::random::Generator g(42);
//   wp::Tensor w = g.normal({128, 64}, {.std = 0.02});
//
// There is no generator behind the scenes: what a program draws depends on the generators it makes, and on nothing
// else.
#pragma once
#include <cstdint>
#include <source_location>
#include <vector>

#include "wellposed/ops/random.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace random {

// All that a Generator is. Save it with a model; a generator set to it goes on with the same draws.
struct State {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;  // the next block of 128 bits
  friend bool operator==(const State&, const State&) = default;
};

// Draws with counters that never meet. Copies draw the same numbers; use split for others. Not for use by several
// threads at once: give each its own, by split.
class Generator {
 public:
  using Where = std::source_location;

  // The key is the seed: seeds 0, 1, 2, … give independent sequences of 2^64 blocks each.
  explicit Generator(std::uint64_t seed) noexcept : state_{seed, 0} {}
  explicit Generator(const State& state) noexcept : state_(state) {}
  const State& state() const noexcept { return state_; }
  void set_state(const State& state) noexcept { state_ = state; }

  // n generators with random keys. This one goes on after them: two calls give different ones. (Keys have 64 bits:
  // two of n are equal with probability n² / 2^65.)
  std::vector<Generator> split(std::int64_t n, Where where = Where::current()) {
    const Tensor keys = integers({n}, 0, ~std::uint64_t{0}, {.dtype = u64, .endpoint = true}, where);
    std::vector<Generator> out;
    for (const std::uint64_t key : keys.to_vector<std::uint64_t>()) out.emplace_back(key);
    return out;
  }

  // Each is the function of the same name with this key and counter. A call that throws leaves the counter alone.
  Tensor uniform(const Ints& shape, const UniformOptions& options = {}, Where where = Where::current()) {
    return used(random::uniform(shape, key(), counter(), options, where), by_size(options.dtype));
  }
  Tensor normal(const Ints& shape, const NormalOptions& options = {}, Where where = Where::current()) {
    return used(random::normal(shape, key(), counter(), options, where), by_size(options.dtype));
  }
  Tensor exponential(const Ints& shape, const ExponentialOptions& options = {}, Where where = Where::current()) {
    return used(random::exponential(shape, key(), counter(), options, where), by_size(options.dtype));
  }
  Tensor truncated_normal(const Ints& shape, const TruncatedNormalOptions& options = {},
                          Where where = Where::current()) {
    return used(random::truncated_normal(shape, key(), counter(), options, where), 1);
  }
  Tensor gamma(const Ints& shape, double concentration, const GammaOptions& options = {},
               Where where = Where::current()) {
    return used(random::gamma(shape, concentration, key(), counter(), options, where), 1);
  }
  Tensor beta(const Ints& shape, double a, double b, const BetaOptions& options = {},
              Where where = Where::current()) {
    return used(random::beta(shape, a, b, key(), counter(), options, where), 1);
  }
  Tensor poisson(const Ints& shape, double rate, const PoissonOptions& options = {}, Where where = Where::current()) {
    return used(random::poisson(shape, rate, key(), counter(), options, where), 1);
  }
  Tensor bernoulli(const Ints& shape, double p, Where where = Where::current()) {
    return used(random::bernoulli(shape, p, key(), counter(), where), 2);
  }
  Tensor integers(const Ints& shape, const Scalar& low, const Scalar& high, const IntegersOptions& options = {},
                  Where where = Where::current()) {
    return used(random::integers(shape, low, high, key(), counter(), options, where), 2);
  }
  Tensor permutation(std::int64_t n, Where where = Where::current()) {
    return used(random::permutation(n, key(), counter(), where), 2);
  }
  Tensor permuted(const In& x, const PermutedOptions& options = {}, Where where = Where::current()) {
    Tensor y = random::permuted(x, key(), counter(), options, where);
    advance(y.shape(options.axis), 2);
    return y;
  }
  Tensor categorical(const In& logits, const CategoricalOptions& options = {}, Where where = Where::current()) {
    return used(random::categorical(logits, key(), counter(), options, where), 2);
  }

 private:
  std::int64_t key() const noexcept { return static_cast<std::int64_t>(state_.key); }
  std::int64_t counter() const noexcept { return static_cast<std::int64_t>(state_.counter); }
  // How many elements share a block of four words: f64 takes two each, smaller types one.
  static std::int64_t by_size(DType d) noexcept { return d == f64 ? 2 : 4; }
  void advance(std::int64_t elements, std::int64_t per_block) noexcept {
    state_.counter += static_cast<std::uint64_t>((elements + per_block - 1) / per_block);
  }
  Tensor used(Tensor drawn, std::int64_t per_block) noexcept {
    advance(drawn.size(), per_block);
    return drawn;
  }

  State state_;
};

}  // namespace random
}  // namespace gnu::visibility("default")]]wp
