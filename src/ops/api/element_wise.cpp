// Generated from the op table by tools/generate.py; edit the room, not this file.
#include "ops/dispatch.hpp"
#include "wellposed/ops/element_wise.hpp"

namespace wp {

extern const Op op_abs;
extern const Op op_acos;
extern const Op op_acosh;
extern const Op op_add;
extern const Op op_asin;
extern const Op op_asinh;
extern const Op op_atan;
extern const Op op_atan2;
extern const Op op_atanh;
extern const Op op_bitwise_and;
extern const Op op_bitwise_invert;
extern const Op op_bitwise_left_shift;
extern const Op op_bitwise_or;
extern const Op op_bitwise_right_shift;
extern const Op op_bitwise_xor;
extern const Op op_ceil;
extern const Op op_clip;
extern const Op op_conj;
extern const Op op_copysign;
extern const Op op_cos;
extern const Op op_cosh;
extern const Op op_divide;
extern const Op op_equal;
extern const Op op_exp;
extern const Op op_expm1;
extern const Op op_floor;
extern const Op op_floor_divide;
extern const Op op_greater;
extern const Op op_greater_equal;
extern const Op op_hypot;
extern const Op op_imag;
extern const Op op_isfinite;
extern const Op op_isinf;
extern const Op op_isnan;
extern const Op op_less;
extern const Op op_less_equal;
extern const Op op_log;
extern const Op op_log10;
extern const Op op_log1p;
extern const Op op_log2;
extern const Op op_logaddexp;
extern const Op op_logical_and;
extern const Op op_logical_not;
extern const Op op_logical_or;
extern const Op op_logical_xor;
extern const Op op_maximum;
extern const Op op_minimum;
extern const Op op_multiply;
extern const Op op_negative;
extern const Op op_nextafter;
extern const Op op_not_equal;
extern const Op op_positive;
extern const Op op_pow;
extern const Op op_real;
extern const Op op_reciprocal;
extern const Op op_remainder;
extern const Op op_round;
extern const Op op_sign;
extern const Op op_signbit;
extern const Op op_sin;
extern const Op op_sinh;
extern const Op op_sqrt;
extern const Op op_square;
extern const Op op_subtract;
extern const Op op_tan;
extern const Op op_tanh;
extern const Op op_trunc;

Tensor abs(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_abs, Inputs(in), Attrs(), Place(where));
}

Tensor acos(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_acos, Inputs(in), Attrs(), Place(where));
}

Tensor acosh(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_acosh, Inputs(in), Attrs(), Place(where));
}

Tensor add(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_add, Inputs(in), Attrs(), Place(where));
}

Tensor asin(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_asin, Inputs(in), Attrs(), Place(where));
}

Tensor asinh(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_asinh, Inputs(in), Attrs(), Place(where));
}

Tensor atan(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_atan, Inputs(in), Attrs(), Place(where));
}

Tensor atan2(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_atan2, Inputs(in), Attrs(), Place(where));
}

Tensor atanh(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_atanh, Inputs(in), Attrs(), Place(where));
}

Tensor bitwise_and(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_and, Inputs(in), Attrs(), Place(where));
}

Tensor bitwise_invert(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_bitwise_invert, Inputs(in), Attrs(), Place(where));
}

Tensor bitwise_left_shift(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_left_shift, Inputs(in), Attrs(), Place(where));
}

Tensor bitwise_or(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_or, Inputs(in), Attrs(), Place(where));
}

Tensor bitwise_right_shift(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_right_shift, Inputs(in), Attrs(), Place(where));
}

Tensor bitwise_xor(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_xor, Inputs(in), Attrs(), Place(where));
}

Tensor ceil(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_ceil, Inputs(in), Attrs(), Place(where));
}

Tensor clip(const In& x, const In& min, const In& max, std::source_location where) {
  const Tensor* const in[] = {&x.tensor(), &min.tensor(), &max.tensor()};
  return call1(op_clip, Inputs(in), Attrs(), Place(where));
}

Tensor conj(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_conj, Inputs(in), Attrs(), Place(where));
}

Tensor copysign(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_copysign, Inputs(in), Attrs(), Place(where));
}

Tensor cos(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_cos, Inputs(in), Attrs(), Place(where));
}

Tensor cosh(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_cosh, Inputs(in), Attrs(), Place(where));
}

Tensor divide(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_divide, Inputs(in), Attrs(), Place(where));
}

Tensor equal(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_equal, Inputs(in), Attrs(), Place(where));
}

Tensor exp(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_exp, Inputs(in), Attrs(), Place(where));
}

Tensor expm1(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_expm1, Inputs(in), Attrs(), Place(where));
}

Tensor floor(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_floor, Inputs(in), Attrs(), Place(where));
}

Tensor floor_divide(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_floor_divide, Inputs(in), Attrs(), Place(where));
}

Tensor greater(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_greater, Inputs(in), Attrs(), Place(where));
}

Tensor greater_equal(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_greater_equal, Inputs(in), Attrs(), Place(where));
}

Tensor hypot(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_hypot, Inputs(in), Attrs(), Place(where));
}

Tensor imag(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_imag, Inputs(in), Attrs(), Place(where));
}

Tensor isfinite(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_isfinite, Inputs(in), Attrs(), Place(where));
}

Tensor isinf(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_isinf, Inputs(in), Attrs(), Place(where));
}

Tensor isnan(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_isnan, Inputs(in), Attrs(), Place(where));
}

Tensor less(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_less, Inputs(in), Attrs(), Place(where));
}

Tensor less_equal(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_less_equal, Inputs(in), Attrs(), Place(where));
}

Tensor log(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_log, Inputs(in), Attrs(), Place(where));
}

Tensor log10(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_log10, Inputs(in), Attrs(), Place(where));
}

Tensor log1p(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_log1p, Inputs(in), Attrs(), Place(where));
}

Tensor log2(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_log2, Inputs(in), Attrs(), Place(where));
}

Tensor logaddexp(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_logaddexp, Inputs(in), Attrs(), Place(where));
}

Tensor logical_and(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_logical_and, Inputs(in), Attrs(), Place(where));
}

Tensor logical_not(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_logical_not, Inputs(in), Attrs(), Place(where));
}

Tensor logical_or(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_logical_or, Inputs(in), Attrs(), Place(where));
}

Tensor logical_xor(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_logical_xor, Inputs(in), Attrs(), Place(where));
}

Tensor maximum(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_maximum, Inputs(in), Attrs(), Place(where));
}

Tensor minimum(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_minimum, Inputs(in), Attrs(), Place(where));
}

Tensor multiply(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_multiply, Inputs(in), Attrs(), Place(where));
}

Tensor negative(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_negative, Inputs(in), Attrs(), Place(where));
}

Tensor nextafter(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_nextafter, Inputs(in), Attrs(), Place(where));
}

Tensor not_equal(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_not_equal, Inputs(in), Attrs(), Place(where));
}

Tensor positive(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_positive, Inputs(in), Attrs(), Place(where));
}

Tensor pow(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_pow, Inputs(in), Attrs(), Place(where));
}

Tensor real(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_real, Inputs(in), Attrs(), Place(where));
}

Tensor reciprocal(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_reciprocal, Inputs(in), Attrs(), Place(where));
}

Tensor remainder(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_remainder, Inputs(in), Attrs(), Place(where));
}

Tensor round(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_round, Inputs(in), Attrs(), Place(where));
}

Tensor sign(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_sign, Inputs(in), Attrs(), Place(where));
}

Tensor signbit(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_signbit, Inputs(in), Attrs(), Place(where));
}

Tensor sin(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_sin, Inputs(in), Attrs(), Place(where));
}

Tensor sinh(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_sinh, Inputs(in), Attrs(), Place(where));
}

Tensor sqrt(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_sqrt, Inputs(in), Attrs(), Place(where));
}

Tensor square(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_square, Inputs(in), Attrs(), Place(where));
}

Tensor subtract(const In& x1, const In& x2, std::source_location where) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_subtract, Inputs(in), Attrs(), Place(where));
}

Tensor tan(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_tan, Inputs(in), Attrs(), Place(where));
}

Tensor tanh(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_tanh, Inputs(in), Attrs(), Place(where));
}

Tensor trunc(const In& x, std::source_location where) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_trunc, Inputs(in), Attrs(), Place(where));
}

Tensor operator+(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_add, Inputs(in), Attrs(), x1.place());
}
Tensor& operator+=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_add, Inputs(in), Attrs(), x2.place());
}
Tensor operator&(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_and, Inputs(in), Attrs(), x1.place());
}
Tensor& operator&=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_bitwise_and, Inputs(in), Attrs(), x2.place());
}
Tensor operator~(const In& x) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_bitwise_invert, Inputs(in), Attrs(), x.place());
}
Tensor operator<<(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_left_shift, Inputs(in), Attrs(), x1.place());
}
Tensor operator|(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_or, Inputs(in), Attrs(), x1.place());
}
Tensor& operator|=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_bitwise_or, Inputs(in), Attrs(), x2.place());
}
Tensor operator>>(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_right_shift, Inputs(in), Attrs(), x1.place());
}
Tensor operator^(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_bitwise_xor, Inputs(in), Attrs(), x1.place());
}
Tensor& operator^=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_bitwise_xor, Inputs(in), Attrs(), x2.place());
}
Tensor operator/(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_divide, Inputs(in), Attrs(), x1.place());
}
Tensor& operator/=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_divide, Inputs(in), Attrs(), x2.place());
}
Tensor operator==(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_equal, Inputs(in), Attrs(), x1.place());
}
Tensor operator>(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_greater, Inputs(in), Attrs(), x1.place());
}
Tensor operator>=(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_greater_equal, Inputs(in), Attrs(), x1.place());
}
Tensor operator<(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_less, Inputs(in), Attrs(), x1.place());
}
Tensor operator<=(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_less_equal, Inputs(in), Attrs(), x1.place());
}
Tensor operator*(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_multiply, Inputs(in), Attrs(), x1.place());
}
Tensor& operator*=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_multiply, Inputs(in), Attrs(), x2.place());
}
Tensor operator-(const In& x) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_negative, Inputs(in), Attrs(), x.place());
}
Tensor operator!=(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_not_equal, Inputs(in), Attrs(), x1.place());
}
Tensor operator+(const In& x) {
  const Tensor* const in[] = {&x.tensor()};
  return call1(op_positive, Inputs(in), Attrs(), x.place());
}
Tensor operator%(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_remainder, Inputs(in), Attrs(), x1.place());
}
Tensor& operator%=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_remainder, Inputs(in), Attrs(), x2.place());
}
Tensor operator-(const In& x1, const In& x2) {
  const Tensor* const in[] = {&x1.tensor(), &x2.tensor()};
  return call1(op_subtract, Inputs(in), Attrs(), x1.place());
}
Tensor& operator-=(Tensor& x1, const In& x2) {
  const Tensor* const in[] = {&x1, &x2.tensor()};
  return x1 = call1(op_subtract, Inputs(in), Attrs(), x2.place());
}
}  // namespace wp
