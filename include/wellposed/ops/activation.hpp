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

// max(x, 0), element by element. NaN stays NaN.
Tensor relu(const In& x, std::source_location where = std::source_location::current());

// 1/(1 + e^(-x)), element by element, accurate in both tails. Integers give f64.
Tensor sigmoid(const In& x, std::source_location where = std::source_location::current());

// x/(1 + e^(-x)) (swish), element by element, accurate in both tails. Integers give f64.
Tensor silu(const In& x, std::source_location where = std::source_location::current());

// log(1 + e^x), element by element, accurate in both tails. Integers give f64.
Tensor softplus(const In& x, std::source_location where = std::source_location::current());

}  // namespace wp
