// Functions of Hermitian matrices act on (A + Aᴴ)/2, or on the triangle that uplo names.
#pragma once
#include <optional>
#include <string>

#include "dist/matrix.hpp"

namespace wp::dist {

struct HermitianPart {
  Matrix matrix;         // exactly Hermitian
  double asymmetry = 0;  // max |A − Aᴴ|/2 relative to the largest element; 0 when a triangle is named
};
HermitianPart hermitian_part(const Matrix& a, const std::optional<std::string>& uplo);

}  // namespace wp::dist
