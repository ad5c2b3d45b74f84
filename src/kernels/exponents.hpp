// Scaling by powers of two from the largest exponents of rows and columns alone, wherever the elements are.
#pragma once
#include <functional>
#include <limits>
#include <vector>

#include "kernels/condition.hpp"

namespace wp::kernels {

inline constexpr int kNoExponent = std::numeric_limits<int>::min() / 4;  // that of 0

// e with a size in [2^(e−1), 2^e); kNoExponent of 0.
int exponent_of_size(double size);

// The same for the largest element of every row and of every column.
struct Exponents {
  std::vector<int> rows, columns;
};
// Of 2^row · A · 2^column. T: float, double, complex64, complex128.
template <class T>
Exponents largest_exponents(std::int64_t m, std::int64_t n, View<T> a, const std::vector<int>& row,
                            const std::vector<int>& column);
// Those of the largest element and of the least part that is not 0; kNoExponent where all are.
struct Reach {
  int most = kNoExponent, least = kNoExponent;
};
template <class T>
Reach reach(std::int64_t m, std::int64_t n, View<T> a);
// How far below the largest element, brought near 1, others keep all of their digits, also where the last digit of a
// product with them counts. R: float, double.
template <class R>
inline constexpr int kRoom = std::numeric_limits<R>::min_exponent + std::numeric_limits<R>::digits + 8;
// Where so small ones are lost beside the largest, 2^e · A has its largest element as far up to 2^ceiling as they
// need; else in [1/2, 1). 0 for A = 0. `power`: of how small a power of the range others are made.
template <class T>
int placing_exponent(std::int64_t m, std::int64_t n, View<T> a, int ceiling, int power = 1);

using ExponentsAfter = std::function<Exponents(const std::vector<int>& rows, const std::vector<int>& columns)>;

// equilibrate() and equilibrate_symmetric() from the exponents of A, and those after scaling, which are asked for. T
// says what is near overflow.
template <class T>
Equilibration equilibrate(Exponents top, const ExponentsAfter& after);
template <class T>
Equilibration equilibrate_symmetric(std::vector<int> top, const ExponentsAfter& after);

}  // namespace wp::kernels
