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
// Whether A = Aᴴ, by sums that both triangles must agree in; nothing is transposed, one pass. Collective, as all
// here.
template <class T>
bool is_hermitian(const Matrix& a);
// The lower triangle with zeros above, in the same pass; undefined where an element is not finite, or A is not
// Hermitian. whole = false: the other triangle is not read.
Matrix lower_triangle(const Matrix& a, bool whole);
HermitianPart hermitian_part(const Matrix& a, const std::optional<std::string>& uplo);

}  // namespace wp::dist
