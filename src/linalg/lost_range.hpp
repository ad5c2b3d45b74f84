// What factors lose where their numbers are below the range of their dtype, or lie too far apart for it.
#pragma once
#include <complex>
#include <type_traits>
#include <vector>

#include "kernels/gemm.hpp"
#include "linalg/verdict.hpp"
#include "wellposed/dtype.hpp"

namespace wp::linalg {

// A type that products of two or three numbers of T stay inside of.
template <class T>
using Wide =
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_same_v<T, double>, long double,
                                          std::conditional_t<std::is_same_v<T, complex64>, std::complex<double>,
                                                             std::complex<long double>>>>;

// v in the dtype of a result, as Wide.
template <class T>
Wide<T> as_held(T v, DType dtype);

// e with the sizes of R = f32 or f64, as `dtype` has it, from which on all digits are held: those of numbers of
// 2^kernels::kRoom of the largest, and of denormal numbers.
int room_of(DType dtype);
int least_exponent_with_digits(DType dtype);

// The largest element of A − B C, all row-major, beside what is left there by rounding in any case: |B||C|; off the
// diagonal also the largest element of its row of A, or of its column, whichever is less. A is m × n, B m × k.
template <class W>
double lost_in_product(std::int64_t m, std::int64_t n, std::int64_t k, const std::vector<W>& a,
                       const std::vector<W>& b, const std::vector<W>& c);

// WP-LIN-007 if `lost` of what factors are beside leaves fewer digits than a good answer has; `of`: "L U".
void tell_lost(double lost, DType dtype, std::string_view of, Verdict& v);

}  // namespace wp::linalg
