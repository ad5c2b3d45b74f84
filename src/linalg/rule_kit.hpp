// Further words of the rules of decompositions.
#pragma once
#include "linalg/rules.hpp"

namespace wp::linalg {

Tensor skew(const Tensor& z);  // (z − zᴴ)/2
// s as a row […, 1, k], and as a column […, k, 1].
Tensor row(const Tensor& s);
Tensor column(const Tensor& s);
// a − b; undefined tensors are zero.
Tensor minus(const Tensor& a, const Tensor& b);
// The first k columns, and the others: undefined if there are none.
Tensor leading(const Tensor& x, std::int64_t k);
Tensor trailing(const Tensor& x, std::int64_t k);
// The largest |element| of each matrix, […, 1, 1], and of all.
Tensor size_of(const Tensor& x);
double largest(const Tensor& x);

}  // namespace wp::linalg
