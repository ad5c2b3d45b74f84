// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/random.hpp"

namespace wp {

extern const Op op_random_bernoulli;
extern const Op op_random_beta;
extern const Op op_random_categorical;
extern const Op op_random_exponential;
extern const Op op_random_gamma;
extern const Op op_random_integers;
extern const Op op_random_normal;
extern const Op op_random_permutation;
extern const Op op_random_permuted;
extern const Op op_random_poisson;
extern const Op op_random_truncated_normal;
extern const Op op_random_uniform;

namespace random {
Tensor bernoulli(const Ints& shape, double p, std::int64_t key, std::int64_t counter, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(p), Attr(key), Attr(counter)};
  return call1(op_random_bernoulli, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor beta(const Ints& shape, double a, double b, std::int64_t key, std::int64_t counter, const BetaOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(a), Attr(b), Attr(key), Attr(counter), Attr(options.dtype)};
  return call1(op_random_beta, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor categorical(const In& logits, std::int64_t key, std::int64_t counter, const CategoricalOptions& options, std::source_location where) {
  const Tensor* const in[] = {&logits.tensor()};
  const Attr attrs[] = {Attr(key), Attr(counter), Attr(options.draws)};
  return call1(op_random_categorical, Inputs(in), attrs, Place(where));
}

Tensor exponential(const Ints& shape, std::int64_t key, std::int64_t counter, const ExponentialOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(key), Attr(counter), Attr(options.rate), Attr(options.dtype)};
  return call1(op_random_exponential, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor gamma(const Ints& shape, double concentration, std::int64_t key, std::int64_t counter, const GammaOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(concentration), Attr(key), Attr(counter), Attr(options.rate), Attr(options.dtype)};
  return call1(op_random_gamma, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor integers(const Ints& shape, const Scalar& low, const Scalar& high, std::int64_t key, std::int64_t counter, const IntegersOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(low), Attr(high), Attr(key), Attr(counter), Attr(options.dtype), Attr(options.endpoint)};
  return call1(op_random_integers, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor normal(const Ints& shape, std::int64_t key, std::int64_t counter, const NormalOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(key), Attr(counter), Attr(options.mean), Attr(options.std), Attr(options.dtype)};
  return call1(op_random_normal, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor permutation(std::int64_t n, std::int64_t key, std::int64_t counter, std::source_location where) {
  const Attr attrs[] = {Attr(n), Attr(key), Attr(counter)};
  return call1(op_random_permutation, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor permuted(const In& x, std::int64_t key, std::int64_t counter, const PermutedOptions& options, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  const Attr attrs[] = {Attr(key), Attr(counter), Attr(options.axis)};
  return call1(op_random_permuted, Inputs(in), attrs, Place(where));
}

Tensor poisson(const Ints& shape, double rate, std::int64_t key, std::int64_t counter, const PoissonOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(rate), Attr(key), Attr(counter), Attr(options.dtype)};
  return call1(op_random_poisson, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor truncated_normal(const Ints& shape, std::int64_t key, std::int64_t counter, const TruncatedNormalOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(key), Attr(counter), Attr(options.mean), Attr(options.std), Attr(options.low), Attr(options.high), Attr(options.dtype)};
  return call1(op_random_truncated_normal, Inputs(nullptr, 0), attrs, Place(where));
}

Tensor uniform(const Ints& shape, std::int64_t key, std::int64_t counter, const UniformOptions& options, std::source_location where) {
  const Attr attrs[] = {Attr(shape), Attr(key), Attr(counter), Attr(options.low), Attr(options.high), Attr(options.dtype)};
  return call1(op_random_uniform, Inputs(nullptr, 0), attrs, Place(where));
}
}  // namespace random

}  // namespace wp
