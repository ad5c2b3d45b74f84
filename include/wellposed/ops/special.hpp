// Generated from the op table by tools/generate.py; edit the room, not this file.
// Special functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// The real cube root of x, element by element. Integers give f64.
Tensor cbrt(const In& x, std::source_location where = std::source_location::current());

// Γ'(x)/Γ(x), the derivative of log|Γ(x)|, element by element. Integers give f64. Domain: x other than 0, -1, -2, ….
Tensor digamma(const In& x, std::source_location where = std::source_location::current());

// The error function 2/√π ∫ e^(-t²) dt from 0 to x, element by element. Integers give f64.
Tensor erf(const In& x, std::source_location where = std::source_location::current());

// 1 - erf(x), element by element, accurate for large x too. Integers give f64.
Tensor erfc(const In& x, std::source_location where = std::source_location::current());

// 2^x, element by element. Integers give f64.
Tensor exp2(const In& x, std::source_location where = std::source_location::current());

// log|Γ(x)|, element by element. Integers give f64. Domain: x other than 0, -1, -2, ….
Tensor lgamma(const In& x, std::source_location where = std::source_location::current());

// The n-th derivative of digamma at x, element by element; n = 1 is trigamma. Integers give f64. n: A whole number
// from 1 to 1000. Domain: n = 1, 2, …, 1000 and x other than 0, -1, -2, ….
Tensor polygamma(const In& n, const In& x, std::source_location where = std::source_location::current());

}  // namespace wp
