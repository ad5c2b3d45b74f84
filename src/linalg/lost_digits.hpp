// Gradients of answers that rest on an inverse, where the matrix is ill-conditioned.
#pragma once
#include <functional>

#include "ops/derivative.hpp"

namespace wp::linalg {

class Verdicts;

// Keeps the diagnosis of a call with an ill-conditioned member for the way back.
void keep_conditions(const Call& c);
// Says what the condition leaves of the gradient's digits (WP-GRD-012); nothing where it leaves half of them or more.
void find_lost_digits(const Backward& b);
void find_lost_digits(const Backward& b, const Verdicts& all);
// The same of the gradient g of y = f(A), ȳ its cotangent, where f is steep: measured, by that of matrices that
// differ from A in their last digits. A is as large as `part` to this power; `matrix`: A, asked for where it
// matters; `at`: the
// gradient at another A.
void find_unsteady(const Backward& b, const Tensor& part, int power, const std::function<Tensor()>& matrix,
                   const Tensor& y, const Tensor& y_bar, const Tensor& g,
                   const std::function<Tensor(const Tensor& a)>& at);
// By how much of its size g moves at most in three calls of otherwise(), which round something otherwise.
double most_moved(const Tensor& g, const std::function<Tensor(std::uint64_t seed)>& otherwise);
// Says that a gradient moves by `moved` of itself with what is rounding; nothing where four digits stand, two or
// three in f32.
void find_moved(const Backward& b, double moved, DType dtype, const char* with);

}  // namespace wp::linalg
