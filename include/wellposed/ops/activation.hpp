// Generated from the op table by tools/generate.py; edit the room, not this file.
// Activation functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

struct GeluOptions {
  std::string_view approximate = "none";  // tanh: x/2 (1 + tanh(√(2/π)(x + 0.044715 x³))).
};
// x Φ(x) with Φ the normal distribution function, element by element, accurate in both tails. Integers give f64.
Tensor gelu(const In& x, const GeluOptions& options = {}, std::source_location where = std::source_location::current());

struct LogSoftmaxOptions {
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
};
// x - log(sum(exp(x))) along an axis: the logarithm of softmax, exact to the last digits also where softmax is
// nearly 0 or 1. A line of -inf gives NaN. Domain: a finite largest element in each line (a line of -inf has no
// softmax).
Tensor log_softmax(const In& x, const LogSoftmaxOptions& options = {}, std::source_location where = std::source_location::current());

// max(x, 0), element by element. NaN stays NaN.
Tensor relu(const In& x, std::source_location where = std::source_location::current());

// 1/(1 + e^(-x)), element by element, accurate in both tails. Integers give f64.
Tensor sigmoid(const In& x, std::source_location where = std::source_location::current());

// x/(1 + e^(-x)) (swish), element by element, accurate in both tails. Integers give f64.
Tensor silu(const In& x, std::source_location where = std::source_location::current());

struct SoftmaxOptions {
  std::int64_t axis = -1;  // The axis; negative ones count from the end.
};
// exp(x) / sum(exp(x)) along an axis, without overflow. A line of -inf gives NaN. Domain: a finite largest element
// in each line (a line of -inf has no softmax).
Tensor softmax(const In& x, const SoftmaxOptions& options = {}, std::source_location where = std::source_location::current());

// log(1 + e^x), element by element, accurate in both tails. Integers give f64.
Tensor softplus(const In& x, std::source_location where = std::source_location::current());

}  // namespace wp
