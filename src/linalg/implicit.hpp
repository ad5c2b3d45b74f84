// Solutions found by iterations, differentiated by what they solve.
#pragma once
#include <cstdint>
#include <functional>

#include "wellposed/tensor.hpp"

namespace wp::linalg {

// x again, where r(x) = b − A x = 0: a cotangent g of x is the cotangent solve_adjoint(g) = A⁻ᴴ g of r, and so of all
// that r is computed from, at this x. `residual` computes r, and finds what it is computed from by itself.
enum class Solver : std::uint8_t { cg, gmres, lsmr };
Tensor implicit_solution(const Tensor& x, std::function<Tensor(const Tensor& x)> residual,
                         std::function<Tensor(const Tensor& g)> solve_adjoint, Solver solver, const Place& place);

}  // namespace wp::linalg
