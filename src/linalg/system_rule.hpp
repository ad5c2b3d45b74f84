// The derivative of solve and inv: each member by the method that ran for it.
#pragma once
#include "ops/derivative.hpp"

namespace wp::linalg {

struct SystemCotangents {
  Tensor matrix, right;
};
// `right`: the right-hand side; undefined: an inverse.
SystemCotangents system_cotangents(const Backward& b, const Tensor& right);

// K = [1 A; Aᴴ −λ] maps (b − A x, x) to (b, 0) where x minimises ‖A x − b‖² + λ‖x‖²: its inverse gives the cotangents
// without squaring the condition. x = F b, g its cotangent: of A −p xᴴ − r qᴴ, of b p, with K (p, q) = (0, g).
SystemCotangents ridge_cotangents(const Tensor& a, const Tensor& b, const Tensor& x, const Tensor& g,
                                  const Tensor& ridge);
// x = F b, F the pseudo-inverse with the singular values that are kept.
SystemCotangents kept_cotangents(const Tensor& a, const Tensor& b, const Tensor& g, const Tensor& inverse,
                                 const Tensor& kept);

}  // namespace wp::linalg
