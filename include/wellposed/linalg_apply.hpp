// Functions of matrices through a function of their eigenvalues or singular values.
#pragma once
#include <functional>
#include <source_location>

#include "wellposed/tensor.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

// From values [..., k] to as many.
using ValueFunction = std::function<Tensor(const Tensor& values)>;

// V diag(f(λ)) Vᴴ of each symmetric or Hermitian matrix x = V diag(λ) Vᴴ, [..., n, n]; symmetric or Hermitian where f
// is real. Raises as eigh does, and if f changes the shape.
//
//   wp::Tensor root = wp::linalg::eigh_apply(x, [](const wp::Tensor& w) { return wp::sqrt(w); });
Tensor eigh_apply(const In& x, const ValueFunction& f, std::source_location where = std::source_location::current());

// U diag(f(σ)) Vᴴ of each matrix x = U diag(σ) Vᴴ, [..., m, n]. Raises as svd does, and if f changes the shape.
Tensor svd_apply(const In& x, const ValueFunction& f, std::source_location where = std::source_location::current());

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
