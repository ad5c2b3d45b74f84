// Solutions found by iterations, differentiated by what they solve.
#pragma once
#include <functional>

#include "wellposed/tensor.hpp"

namespace wp::linalg {

// x again, where x solves r(x, parameters) = 0 and r, computed at this x held fixed, is recorded: dx = solve(dr), and
// a cotangent g of x is the cotangent solve_adjoint(g) of r.
Tensor implicit_solution(const Tensor& x, const Tensor& r, std::function<Tensor(const Tensor&)> solve,
                         std::function<Tensor(const Tensor&)> solve_adjoint, const Place& place);

}  // namespace wp::linalg
