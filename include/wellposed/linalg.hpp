// namespace linalg has all of linear algebra: products too, under the names they have in namespace wp.
#pragma once
#include "wellposed/ops/linear_algebra.hpp"
#include "wellposed/ops/manipulation.hpp"

namespace [[gnu::visibility("default")]] wp {
namespace linalg {

using wp::matmul;
using wp::matrix_transpose;
using wp::tensordot;
using wp::vecdot;

}  // namespace linalg
}  // namespace gnu::visibility("default")]]wp
