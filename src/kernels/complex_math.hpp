// Elementary functions of complex numbers, with the branch cuts and signed zeros of C99 Annex G. Computed in c128;
// c64 results are rounded from it. Measured errors: docs/accuracy.md.
#pragma once
#include "simd/loop.hpp"

namespace wp::kernels {

complex128 complex_exp(complex128 z);
complex128 complex_expm1(complex128 z);
complex128 complex_log(complex128 z);
complex128 complex_log1p(complex128 z);
complex128 complex_log2(complex128 z);
complex128 complex_log10(complex128 z);
complex128 complex_sin(complex128 z);
complex128 complex_cos(complex128 z);
complex128 complex_tan(complex128 z);
complex128 complex_asin(complex128 z);
complex128 complex_acos(complex128 z);
complex128 complex_atan(complex128 z);
complex128 complex_sinh(complex128 z);
complex128 complex_cosh(complex128 z);
complex128 complex_tanh(complex128 z);
complex128 complex_asinh(complex128 z);
complex128 complex_acosh(complex128 z);
complex128 complex_atanh(complex128 z);

template <complex128 (*f)(complex128)>
struct InComplex128 {
  template <class T>
  WP_FN T apply(T z) {
    return static_cast<T>(f(complex128(z)));
  }
};
// The c64 and c128 rows of a function.
template <complex128 (*f)(complex128)>
constexpr simd::Loops complex_loops() {
  return simd::loops1<InComplex128<f>>(simd::Complexes{});
}

}  // namespace wp::kernels
