// Generated from the op table by tools/generate.py; edit the room, not this file.
// Element-wise functions.
#pragma once
#include <optional>
#include <string_view>

#include "wellposed/ints.hpp"
#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {

// |x|, element by element; of complex numbers the modulus, real. The least signed integer wraps around.
Tensor abs(const In& x, std::source_location where = std::source_location::current());

// The angle in [0, π] whose cosine is x, element by element. Integers give f64. Domain: -1 <= x <= 1.
Tensor acos(const In& x, std::source_location where = std::source_location::current());

// The inverse hyperbolic cosine of x, element by element. Integers give f64. Domain: x >= 1.
Tensor acosh(const In& x, std::source_location where = std::source_location::current());

// The sum x1 + x2, element by element. Integers wrap around.
Tensor add(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The angle in [-π/2, π/2] whose sine is x, element by element. Integers give f64. Domain: -1 <= x <= 1.
Tensor asin(const In& x, std::source_location where = std::source_location::current());

// The inverse hyperbolic sine of x, element by element. Integers give f64.
Tensor asinh(const In& x, std::source_location where = std::source_location::current());

// The angle in [-π/2, π/2] whose tangent is x, element by element. Integers give f64.
Tensor atan(const In& x, std::source_location where = std::source_location::current());

// The angle in [-π, π] of the point (x2, x1), element by element: the argument of x2 + i x1. Integers give f64.
Tensor atan2(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The inverse hyperbolic tangent of x, element by element. Integers give f64. Domain: -1 < x < 1.
Tensor atanh(const In& x, std::source_location where = std::source_location::current());

// x1 & x2 bit by bit, element by element.
Tensor bitwise_and(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Every bit of x inverted, element by element; of bools the opposite.
Tensor bitwise_invert(const In& x, std::source_location where = std::source_location::current());

// x1 shifted left by x2 bits, element by element: bits that leave are lost. Negative x2 is refused. x2: Bits to
// shift by, at least 0.
Tensor bitwise_left_shift(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// x1 | x2 bit by bit, element by element.
Tensor bitwise_or(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// x1 shifted right by x2 bits, element by element: floor_divide(x1, 2^x2), negative numbers keep their sign.
// Negative x2 is refused. x2: Bits to shift by, at least 0.
Tensor bitwise_right_shift(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// x1 ^ x2 bit by bit, element by element.
Tensor bitwise_xor(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The least whole number not below x, element by element, in x's dtype.
Tensor ceil(const In& x, std::source_location where = std::source_location::current());

// x held between min and max, element by element, in x's dtype: minimum(maximum(x, min), max). NaN in x or a bound
// gives NaN. min: None: no lower bound. max: None: no upper bound.
Tensor clip(const In& x, const In& min = std::nullopt, const In& max = std::nullopt, std::source_location where = std::source_location::current());

// The complex conjugate of x, element by element; real numbers as they are.
Tensor conj(const In& x, std::source_location where = std::source_location::current());

// The magnitude of x1 with the sign of x2, element by element; the sign of zeros and NaN counts. Integers give f64.
Tensor copysign(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The cosine of x in radians, element by element, right for every finite x. Integers give f64.
Tensor cos(const In& x, std::source_location where = std::source_location::current());

// The hyperbolic cosine of x, element by element. Integers give f64.
Tensor cosh(const In& x, std::source_location where = std::source_location::current());

// The quotient x1 / x2, element by element. Integers give f64. Domain: x2 != 0.
Tensor divide(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x1 is equal to x2, element by element. NaN is equal to nothing, -0 to +0.
Tensor equal(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The exponential of x, element by element. Integers give f64.
Tensor exp(const In& x, std::source_location where = std::source_location::current());

// e^x - 1, element by element, accurate for x near 0 too. Integers give f64.
Tensor expm1(const In& x, std::source_location where = std::source_location::current());

// The largest whole number not above x, element by element, in x's dtype.
Tensor floor(const In& x, std::source_location where = std::source_location::current());

// The largest integer not above x1 / x2, element by element, in the dtype of the operands. Integers are refused when
// x2 is 0; the least integer by -1 wraps around. Infinities as floor(x1 / x2). Domain: x2 != 0.
Tensor floor_divide(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x1 > x2, element by element; false with NaN.
Tensor greater(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x1 >= x2, element by element; false with NaN.
Tensor greater_equal(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// sqrt(x1² + x2²) without overflow or underflow of the squares, element by element. Integers give f64.
Tensor hypot(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The imaginary part of x, element by element; 0 for real numbers.
Tensor imag(const In& x, std::source_location where = std::source_location::current());

// Whether x is neither Inf nor NaN, element by element.
Tensor isfinite(const In& x, std::source_location where = std::source_location::current());

// Whether x, or a part of a complex x, is an infinity, element by element.
Tensor isinf(const In& x, std::source_location where = std::source_location::current());

// Whether x, or a part of a complex x, is NaN, element by element.
Tensor isnan(const In& x, std::source_location where = std::source_location::current());

// Whether x1 < x2, element by element; false with NaN.
Tensor less(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x1 <= x2, element by element; false with NaN.
Tensor less_equal(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The natural logarithm of x, element by element. Integers give f64. Domain: x > 0.
Tensor log(const In& x, std::source_location where = std::source_location::current());

// The logarithm of x to base 10, element by element. Integers give f64. Domain: x > 0.
Tensor log10(const In& x, std::source_location where = std::source_location::current());

// log(1 + x), element by element, accurate for x near 0 too. Integers give f64. Domain: x > -1.
Tensor log1p(const In& x, std::source_location where = std::source_location::current());

// The logarithm of x to base 2, element by element. Integers give f64. Domain: x > 0.
Tensor log2(const In& x, std::source_location where = std::source_location::current());

// log(e^x1 + e^x2), element by element, without overflow. Integers give f64.
Tensor logaddexp(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x1 and x2 are both true, element by element.
Tensor logical_and(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x is false, element by element.
Tensor logical_not(const In& x, std::source_location where = std::source_location::current());

// Whether x1 or x2 or both are true, element by element.
Tensor logical_or(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether just one of x1 and x2 is true, element by element.
Tensor logical_xor(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The larger of x1 and x2, element by element; NaN if either is. +0 is larger than -0.
Tensor maximum(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The smaller of x1 and x2, element by element; NaN if either is. -0 is smaller than +0.
Tensor minimum(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The product x1 * x2, element by element. Integers wrap around.
Tensor multiply(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// -x, element by element. Integers wrap around.
Tensor negative(const In& x, std::source_location where = std::source_location::current());

// The number next to x1 in the direction of x2, in their common dtype, element by element. Integers give f64.
Tensor nextafter(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// Whether x1 differs from x2, element by element. NaN differs from all, itself included.
Tensor not_equal(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// +x: a copy of x.
Tensor positive(const In& x, std::source_location where = std::source_location::current());

// x1 to the power x2, element by element. Integers wrap around and refuse negative exponents. Exponents 1, 2, 0.5
// and -1 give the rounded exact value. Domain: x1 > 0, or x1 = 0 and x2 >= 0, or x1 < 0 and x2 a whole number.
Tensor pow(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The real part of x, element by element; real numbers as they are.
Tensor real(const In& x, std::source_location where = std::source_location::current());

// 1 / x, element by element. Integers give f64. Domain: x != 0.
Tensor reciprocal(const In& x, std::source_location where = std::source_location::current());

// What is left of x1 after floor_divide(x1, x2), element by element: it has the sign of x2, as in Python. Integers
// are refused when x2 is 0. Domain: x2 != 0.
Tensor remainder(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The whole number nearest to x, element by element, in x's dtype; halves go to the even one. Complex numbers are
// rounded in both parts.
Tensor round(const In& x, std::source_location where = std::source_location::current());

// -1, 0 or 1 by the sign of x, element by element; of complex numbers x / |x|, and 0 for 0.
Tensor sign(const In& x, std::source_location where = std::source_location::current());

// Whether the sign bit of x is set, element by element: true for -0 too.
Tensor signbit(const In& x, std::source_location where = std::source_location::current());

// The sine of x in radians, element by element, right for every finite x. Integers give f64.
Tensor sin(const In& x, std::source_location where = std::source_location::current());

// The hyperbolic sine of x, element by element. Integers give f64.
Tensor sinh(const In& x, std::source_location where = std::source_location::current());

// The square root of x, element by element; of complex numbers the one in the right half-plane. Integers give f64.
// Domain: x >= 0.
Tensor sqrt(const In& x, std::source_location where = std::source_location::current());

// x * x, element by element. Integers wrap around.
Tensor square(const In& x, std::source_location where = std::source_location::current());

// The difference x1 - x2, element by element. Integers wrap around.
Tensor subtract(const In& x1, const In& x2, std::source_location where = std::source_location::current());

// The tangent of x in radians, element by element, right for every finite x. Integers give f64.
Tensor tan(const In& x, std::source_location where = std::source_location::current());

// The hyperbolic tangent of x, element by element. Integers give f64.
Tensor tanh(const In& x, std::source_location where = std::source_location::current());

// x without its fraction, element by element, in x's dtype.
Tensor trunc(const In& x, std::source_location where = std::source_location::current());

Tensor operator+(const In& x1, const In& x2);
Tensor& operator+=(Tensor& x1, const In& x2);
Tensor operator&(const In& x1, const In& x2);
Tensor& operator&=(Tensor& x1, const In& x2);
Tensor operator~(const In& x);
Tensor operator<<(const In& x1, const In& x2);
Tensor operator|(const In& x1, const In& x2);
Tensor& operator|=(Tensor& x1, const In& x2);
Tensor operator>>(const In& x1, const In& x2);
Tensor operator^(const In& x1, const In& x2);
Tensor& operator^=(Tensor& x1, const In& x2);
Tensor operator/(const In& x1, const In& x2);
Tensor& operator/=(Tensor& x1, const In& x2);
Tensor operator==(const In& x1, const In& x2);
Tensor operator>(const In& x1, const In& x2);
Tensor operator>=(const In& x1, const In& x2);
Tensor operator<(const In& x1, const In& x2);
Tensor operator<=(const In& x1, const In& x2);
Tensor operator*(const In& x1, const In& x2);
Tensor& operator*=(Tensor& x1, const In& x2);
Tensor operator-(const In& x);
Tensor operator!=(const In& x1, const In& x2);
Tensor operator+(const In& x);
Tensor operator%(const In& x1, const In& x2);
Tensor& operator%=(Tensor& x1, const In& x2);
Tensor operator-(const In& x1, const In& x2);
Tensor& operator-=(Tensor& x1, const In& x2);

}  // namespace wp
