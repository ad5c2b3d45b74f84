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
using ExponentsAfter = std::function<Exponents(const std::vector<int>& rows, const std::vector<int>& columns)>;

// equilibrate() and equilibrate_symmetric() from the exponents of A, and those after scaling, which are asked for. T
// says what is near overflow.
template <class T>
Equilibration equilibrate(Exponents top, const ExponentsAfter& after);
template <class T>
Equilibration equilibrate_symmetric(std::vector<int> top, const ExponentsAfter& after);

}  // namespace wp::kernels
