// Why a matrix is singular, in words.
#pragma once
#include <string>
#include <vector>

#include "kernels/gemm.hpp"

namespace wp::linalg {

// "row 1 ≈ 1.00001 × row 0": the first row that the rows before it give, in few terms. Labels stand for "row i" where
// given. Empty if no row depends on the others to within `tolerance` of its length.
// T: double, complex128. `kind`: "row", or "column" for a transposed view.
template <class T>
std::string nearly_dependent_rows(std::int64_t m, std::int64_t n, kernels::View<T> a, double tolerance,
                                  std::string_view kind, const std::vector<std::string>& labels);

// The same for what is exactly true (kernels/modular.hpp): "row 2 = 1/3 × row 0 + row 1". Empty if no row is exactly
// a combination of few others.
template <class T>
std::string exactly_dependent_rows(std::int64_t m, std::int64_t n, kernels::View<T> a, std::string_view kind,
                                   const std::vector<std::string>& labels);

// The shortest decimal text within 1e-12 of v: 1.00001, not 1.0000100000000001.
std::string brief(double v);
// Two digits: 2.7e-17.
std::string few_digits(double v);

}  // namespace wp::linalg
