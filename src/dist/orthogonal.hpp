// Orthonormal columns from reflectors, and more of them.
#pragma once
#include <vector>

#include "dist/matrix.hpp"

namespace wp::dist {

// The first m × n elements of a, in a matrix of their own; the same matrix, if it has no more and `taken`.
template <class T>
Matrix corner(const Matrix& a, std::int64_t m, std::int64_t n, bool taken = false);
// The first `columns` columns of Q, from the reflectors that p?geqrf left in f.
template <class T>
Matrix columns_of_q(const Matrix& f, const std::vector<T>& tau, std::int64_t columns, bool taken = false);
// U and as many orthonormal columns more as it has rows. T: the type of U.
template <class T>
Matrix completed(const Matrix& u);

}  // namespace wp::dist
