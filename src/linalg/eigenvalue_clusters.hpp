// Errors of eigenvalues that lie so near to each other that their single condition numbers say nothing.
#pragma once
#include <complex>
#include <cstdint>
#include <vector>

namespace wp::linalg {

// A (n × n, column-major) is known up to `unit`·‖A‖; errors[i] bounds the error of values[i]. Errors above `most` are
// replaced by what the cluster of their eigenvalues allows, if that is less: zero may be a multiple eigenvalue with
// as many vectors, which no perturbation moves far.
void bound_clusters(std::int64_t n, std::vector<std::complex<double>> a, double unit, double most,
                    const std::vector<std::complex<double>>& values, std::vector<double>& errors);

}  // namespace wp::linalg
