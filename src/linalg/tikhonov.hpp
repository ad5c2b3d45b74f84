// Minimisers of ‖A x − b‖² + λ‖x‖² from the singular values of A, and how good they are.
#pragma once
#include "kernels/gemm.hpp"
#include "linalg/spectral.hpp"
#include "linalg/verdict.hpp"

namespace wp::linalg {

// X (n × k) from B (m × k). Returns the error of X relative to its largest element, of the worst column.
template <class T>
double tikhonov_solution(std::int64_t m, std::int64_t n, std::int64_t k, kernels::View<T> a, const Spectral<T>& svd,
                         double ridge, kernels::View<T> b, kernels::MutableView<T> x);

// The verdict by that error. An answer is given however few its digits; a matrix that is singular stays that.
template <class T>
void conclude_ridge(Verdict& v, double error, double min_digits = -1);

}  // namespace wp::linalg
