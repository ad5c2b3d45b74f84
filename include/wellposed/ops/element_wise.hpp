// Generated from the op table by tools/generate.py; edit the room, not this file.
// Element-wise functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// The sum x1 + x2, element by element. Integers wrap around.
Tensor add(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The natural logarithm of x, element by element. Integers give f64. Domain: x > 0.
Tensor log(const In& x, std::source_location where = std::source_location::current());

Tensor operator+(const In& x1, const In& x2);
Tensor& operator+=(Tensor& x1, const In& x2);

}  // namespace wp
