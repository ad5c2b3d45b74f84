// Least squares of full rank with the lines of the matrix brought to one size.
#pragma once
#include <optional>

#include "linalg/augmented.hpp"
#include "linalg/members.hpp"

namespace wp::linalg {

// The same as least_squares() of the matrix that `again` has balanced and that has full rank: X = C Y with Y that
// minimises |(R A C) Y − R B|. None: its lines were alike, or that does not help.
template <class T>
std::optional<Minimised> balanced_least_squares(std::int64_t m, std::int64_t n, std::int64_t k,
                                                const Balanced<T>& again, Cutoff cutoff, kernels::View<T> b,
                                                kernels::MutableView<T> x);

// Whether the cutoff lies where singular values from tridiagonal forms are rounding, and lines are so far apart that
// those below may be exact ones: then the rank rests on values of high relative accuracy.
template <class T>
bool rank_needs_accuracy(std::int64_t m, std::int64_t n, kernels::View<T> a, Cutoff cutoff);

}  // namespace wp::linalg
