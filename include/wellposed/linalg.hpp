// namespace linalg has all of linear algebra: products too, under the names they have in namespace wp.
#pragma once
#include <concepts>

#include "wellposed/ops/linear_algebra.hpp"
#include "wellposed/ops/manipulation.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

using wp::matmul;
using wp::matrix_transpose;
using wp::tensordot;
using wp::vecdot;

// A v = w B v: eigh_generalized under the name that it has elsewhere.
template <std::convertible_to<const Tensor&> B>
EighGeneralizedResult eigh(const In& a, const B& b, const EighGeneralizedOptions& options = {},
                           std::source_location where = std::source_location::current()) {
  return eigh_generalized(a, static_cast<const Tensor&>(b), options, where);
}
namespace diagnosed {
template <std::convertible_to<const Tensor&> B>
Diagnosed<EighGeneralizedResult> eigh(const In& a, const B& b, const EighGeneralizedOptions& options = {},
                                      std::source_location where = std::source_location::current()) {
  return diagnosed::eigh_generalized(a, static_cast<const Tensor&>(b), options, where);
}
}  // namespace diagnosed

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
