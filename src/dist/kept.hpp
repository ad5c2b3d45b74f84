// Factors that a derivative uses again.
#pragma once
#include <memory>

#include "dist/matrix.hpp"
#include "linalg/options.hpp"
#include "ops/op.hpp"

namespace wp::dist {

struct Kept {
  virtual ~Kept() = default;
  virtual Matrix solve(const Matrix& b, bool adjoint) = 0;  // A⁻¹B, A⁻ᴴB
  linalg::Assume assume = linalg::Assume::general;          // what was read of A
};
// The same as an op of A and B that differentiates: the factors are those of A.
Matrix solve_with(const std::shared_ptr<Kept>& kept, const Matrix& a, const Matrix& b, bool adjoint,
                  const Place& place);

}  // namespace wp::dist
